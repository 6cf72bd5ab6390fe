"""Does a compiler compute what ONNX says of graphs that nobody wrote?"""

import pytest


@pytest.mark.bench(check="property")
def test_property(bench_cell):
    """Drawn graphs of an operator, or of several, with edge values: no new way to fail among them."""
    bench_cell.verify()
