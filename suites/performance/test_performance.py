"""How long does an inference take on this machine, and is what was timed right?

``--bench-batches``, ``--bench-threads``, ``--bench-streams`` and ``--bench-modes`` sweep: each combination is a cell
(docs/timing.md, "Sweeps").
"""

import pytest


@pytest.mark.bench(check="timing")
def test_timing(bench_cell):
    """The time of the artefact over fresh launches, and the verdict on outputs of the timed inferences."""
    bench_cell.verify()
