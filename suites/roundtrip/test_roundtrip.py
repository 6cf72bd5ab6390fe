"""Do models survive the way to ONNX, and the way back?"""

import pytest


@pytest.mark.bench(check="export")
def test_export(bench_cell):
    """The exported file computes what the framework computes."""
    bench_cell.verify()


@pytest.mark.bench(check="import")
def test_import(bench_cell):
    """The framework that imports the file computes what the file says."""
    bench_cell.verify()
