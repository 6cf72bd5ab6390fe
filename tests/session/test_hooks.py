"""Odd markers, parameters and fixtures around a cell: a row, a failed test or a usage error, and never a crash."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.project import Finished, Project, make_project

ODD = """
import threading

import pytest

@pytest.mark.parametrize("bench_cell", [1, [2], {}])
def test_own_parameter(bench_cell):
    assert not hasattr(bench_cell, "verify")

@pytest.mark.parametrize("bench_cell", ["x", ["y"]], indirect=True)
def test_own_parameter_of_our_fixture(bench_cell):
    pass

def test_without_a_marker(bench_cell):
    pass

@pytest.mark.bench("export", models=["twice"])
@pytest.mark.parametrize("other", [float("nan"), ["unhashable"]])
def test_twice(bench_cell, other):
    assert bench_cell.verify() is bench_cell.verify()

@pytest.mark.bench("export", models=["threads"])
def test_threads(bench_cell):
    found = []
    threads = [threading.Thread(target=lambda: found.append(bench_cell.verify())) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 8 and all(one is found[0] for one in found)

@pytest.mark.bench("export", models=["after"])
def test_after_a_failure(bench_cell):
    try:
        assert bench_cell.verify().status == "nothing"
    finally:
        bench_cell.verify()

@pytest.mark.bench("export", models=["never"])
def test_never(bench_cell):
    raise ValueError("before the cell")

@pytest.fixture
def verified(bench_cell):
    yield bench_cell.verify()
    bench_cell.verify()

@pytest.mark.bench("export", models=["fixture"])
def test_in_a_fixture(verified):
    assert verified.status == "supported"

@pytest.mark.bench("export", models=["exits"])
def test_that_exits(bench_cell):
    bench_cell.verify()
    raise SystemExit(3)
"""
MODELS = ("twice", "threads", "after", "never", "fixture", "exits")
NOT_MARKED = "Failed: fixture bench_cell needs a test marked @pytest.mark.bench(check='export') or another check"


@pytest.fixture(scope="module")
def odd(tmp_path_factory: pytest.TempPathFactory, tools_python: Path) -> Finished:
    """One run of all odd tests."""
    project = make_project(tmp_path_factory.mktemp("odd"), tools_python)
    for name in MODELS:
        project.model(name)
    project.write("test_models.py", ODD)
    return project.run("-rA")


def test_an_odd_test_stops_no_other(odd: Finished) -> None:
    assert odd.code == 1 and "INTERNALERROR" not in odd.text, odd.text
    assert {name: odd.verdict(name)[0] for name in odd.cells()} == dict.fromkeys(set(MODELS) - {"never"}, "supported")


def test_a_cell_has_one_row_however_often_it_is_verified(odd: Finished) -> None:
    nodes = [row["nodeid"] for row in odd.rows if row["kind"] == "cell"]
    assert len(nodes) == len(set(nodes)) == 6  # the test with another parameter has two


def test_the_failures_of_tests_are_theirs(odd: Finished) -> None:
    assert "ValueError: before the cell" in odd.text and "SystemExit: 3" in odd.text
    assert odd.text.count(NOT_MARKED) >= 3
    assert "3 failed, 7 passed, 3 errors" in odd.text, odd.text


WRONG = {
    "@pytest.mark.bench()": "marker bench: check is None; one of export, import",
    "@pytest.mark.bench(['export'])": "marker bench: check is ['export']; one of",
    "@pytest.mark.bench('export', check='import')": "marker bench: one check is wanted, found 'export', 'import'",
    "@pytest.mark.bench('export', colour='red')": "marker bench: unknown axis 'colour'",
    "@pytest.mark.bench('export', models=b'a')": "marker bench: models is b'a'; it takes one or a list of names",
    "@pytest.mark.bench('export', models=[['a']])": "marker bench: models is [['a']]; it takes one or a list of names",
    "@pytest.mark.bench('export', opsets=17.5)": "marker bench: opsets is 17.5; it takes one or a list of whole",
    "@pytest.mark.bench('export')\n@pytest.mark.tolerance(3)": "marker tolerance: 3 has no name",
    "@pytest.mark.bench('export')\n@pytest.mark.tolerance(k=[1])": "tolerance: k must be a positive number, found [1]",
    "@pytest.mark.bench('export')\n@pytest.mark.tolerance(z=1)": "marker tolerance: unknown name 'z'",
}


@pytest.mark.parametrize("marker", WRONG)
def test_a_wrong_marker_is_a_usage_error(project: Project, marker: str) -> None:
    project.model("a")
    project.write("test_models.py", f"import pytest\n\n{marker}\ndef test_x(bench_cell):\n    bench_cell.verify()\n")
    finished = project.run()
    assert finished.code == 4 and "ERROR: bench: " in finished.text, finished.text
    assert WRONG[marker] in finished.text and "Traceback" not in finished.text
    assert not finished.rows


@pytest.mark.parametrize("workers", [(), ("-n", "1")], ids=["alone", "with workers"])
def test_a_file_that_cannot_be_read_is_a_usage_error(project: Project, workers: tuple[str, ...]) -> None:
    """A file that is there, but whose first byte cannot be read, by root either."""
    finished = project.run("--bench-onnx=/proc/self/mem", *workers)
    assert finished.code == 4, finished.text
    assert "bench: --bench-onnx: /proc/self/mem cannot be read: Input/output error" in finished.text
