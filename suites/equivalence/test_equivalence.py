"""Does a compiled model still compute the same function, at this precision, on this target?"""

import pytest


@pytest.mark.bench(check="equivalence")
def test_equivalence(bench_cell):
    """The artefact computes what the compiler was asked to compute."""
    bench_cell.verify()
