"""Folders and files that cannot be written: a usage error before the run, a line after it, and never a traceback."""

from __future__ import annotations

import pytest

from tests.project import Project


@pytest.fixture
def one(project: Project) -> Project:
    """A project with one model."""
    project.model("a")
    return project


@pytest.mark.parametrize("workers", [(), ("-n", "1")], ids=["alone", "with workers"])
def test_a_folder_of_reports_that_cannot_be_made(one: Project, workers: tuple[str, ...]) -> None:
    one.write("reports", "a file where the folder of the results would be")
    finished = one.run("-k", "export", *workers)
    said = f"bench: --bench-results: the folder {one.folder / 'reports'} cannot be made: File exists; name another"
    assert finished.code == 4 and said in finished.text, finished.text
    assert "INTERNALERROR" not in finished.text and "Traceback" not in finished.text


def test_a_folder_that_cannot_be_written(one: Project) -> None:
    finished = one.run("-k", "export", "--bench-results=/proc/rows.jsonl")  # also root may write nothing there
    assert finished.code == 4, finished.text
    assert "bench: the folder /proc cannot be written: " in finished.text
    assert "; name another place with --bench-results" in finished.text and "INTERNALERROR" not in finished.text


def test_a_folder_of_logs_that_cannot_be_made(one: Project) -> None:
    one.write("reports/logs", "a file where the folder of the logs would be")
    finished = one.run("-k", "export")
    assert finished.code == 4 and "reports/logs cannot be made: File exists" in finished.text, finished.text
    assert not finished.rows


def test_a_page_that_cannot_be_written_is_a_line(one: Project) -> None:
    (one.folder / "reports/onnx-support.md").mkdir(parents=True)
    finished = one.run("-k", "export")
    assert finished.code == 0 and finished.verdict("a") == ("supported", None, None), finished.text
    path = one.folder / "reports/onnx-support.md"
    [line] = [line for line in finished.text.splitlines() if "cannot be written" in line]
    assert line.startswith(f"bench: page onnx-support cannot be written: {path}: Is a directory; the rows are there:")
    assert "rows: reports/results.jsonl" in finished.text and "INTERNALERROR" not in finished.text


def test_a_command_that_cannot_write_names_the_file(one: Project) -> None:
    one.run("-k", "export")
    one.write("taken", "")
    done = one.bench("grid", "--output", "taken/pages")
    assert done.returncode == 3 and "Traceback" not in done.stderr
    assert done.stderr.strip() == "bench grid: taken/pages: Not a directory"


def test_rows_that_no_page_can_be_made_from_leave_the_exit_code(one: Project) -> None:
    """A row that another program appended."""
    one.write(
        "conftest.py",
        "import json\nimport pytest\n\n\n@pytest.hookimpl(tryfirst=True)\ndef pytest_sessionfinish(session):\n"
        "    with open('reports/results.jsonl', 'a') as file:\n"
        "        file.write(json.dumps({'schema': 1, 'kind': 'cell', 'cell': {'check': 'export'}}) + '\\n')\n",
    )
    finished = one.run("-k", "export")
    assert finished.code == 0 and "INTERNALERROR" not in finished.text, finished.text
    assert "bench: the grids and pages cannot be made: KeyError" in finished.text
