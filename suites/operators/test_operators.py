"""Does every ONNX operator compute what its specification says?"""

import pytest


@pytest.mark.bench(check="operator")
def test_operator(bench_cell):
    """One of ONNX's own tests, by the rule of its operator."""
    bench_cell.verify()
