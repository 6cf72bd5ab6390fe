"""How long does every single layer of a model take, and stacks of layers, and is each of them right alone?

``--bench-batches`` and ``--bench-threads`` sweep: each combination is a cell (docs/layers.md).
"""

import pytest


@pytest.mark.bench(check="layers")
def test_layers(bench_cell):
    """Every distinct layer, stack and block computes what its file says, and the row has their times."""
    bench_cell.verify()
