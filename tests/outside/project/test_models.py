"""What a user checks of models of their own: export, import, and one compiler."""

import pytest


@pytest.mark.bench(check="export")
def test_export(bench_cell):
    bench_cell.verify()


@pytest.mark.bench(check="import")
def test_import(bench_cell):
    bench_cell.verify()


@pytest.mark.bench(check="equivalence", precisions=["fp32"])
def test_equivalence(bench_cell):
    bench_cell.verify()
