"""Whatever goes wrong gets its stage and symptom, the other cells go on, and the exit code is right."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.project import Finished, make_project

FAULTS = {
    "segfault": ("export:segfault", "ERROR", "export", "crash"),
    "killed": ("reference:kill", "ERROR", "reference", "crash"),
    "hangs": ("export:sleep", "ERROR", "export", "timeout"),
    "eats": ("export:allocate", "ERROR", "export", "out-of-memory"),
    "raises": ("export:exception", "ERROR", "export", "exception"),
    "refuses": ("export:unsupported", "unsupported", "export", "unsupported"),
    "declares": ("export:declared", "unsupported", "export", "unsupported"),
    "invalid": ("export:invalid", "ERROR", "export", "invalid-model"),
    "noisy": ("export:noise", "supported", None, None),
    "garbage": ("export:garbage", "ERROR", "export", "harness"),
    "text": ("export:file-text", "ERROR", "check", "invalid-model"),
    "cut": ("export:file-truncated", "ERROR", "check", "invalid-model"),
    "cycle": ("export:file-cycle", "ERROR", "check", "invalid-model"),
    "wrong": ("export:wrong-weights", "mismatch", "compare", "mismatch"),
    "fine": ("", "supported", None, None),
}
IMPORTS = {
    "import_crash": ("import:segfault", "ERROR", "import", "crash"),
    "run_hangs": ("run:sleep", "ERROR", "run", "timeout"),
    "run_wrong": ("run:wrong", "mismatch", "compare", "mismatch"),
    "run_nan": ("run:nan", "mismatch", "compare", "mismatch"),
    "run_shape": ("run:shape", "mismatch", "compare", "mismatch"),
    "run_dtype": ("run:dtype", "mismatch", "compare", "mismatch"),
    "run_missing": ("run:missing", "mismatch", "compare", "mismatch"),
    "run_mean": ("run:mean", "mismatch", "compare", "mismatch"),
    "run_rolled": ("run:rolled", "mismatch", "compare", "mismatch"),
}


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory, tools_python: Path) -> Finished:
    """One run of every fault, all of them beside a model that is fine."""
    project = make_project(tmp_path_factory.mktemp("faults"), tools_python)
    for name, (fault, *_) in {**FAULTS, **IMPORTS}.items():
        # To fill the memory may take more than three seconds; the faults that hang wait for four times their limit.
        project.model(name, fault, seconds=60 if name == "eats" else 3)
    return project.run()


@pytest.mark.parametrize("name", FAULTS)
def test_export_faults(finished: Finished, name: str) -> None:
    assert finished.verdict(name) == FAULTS[name][1:]


@pytest.mark.parametrize("name", IMPORTS)
def test_import_faults(finished: Finished, name: str) -> None:
    assert finished.verdict(name, "export") == ("supported", None, None)
    assert finished.verdict(name, "import") == IMPORTS[name][1:]


def test_every_cell_has_a_row_and_the_run_fails(finished: Finished) -> None:
    assert finished.code == 1
    assert len(finished.cells("export")) == len(finished.cells("import")) == len(FAULTS) + len(IMPORTS)
    assert finished.verdict("fine", "import") == ("supported", None, None)


def test_an_import_without_a_file_is_unverified(finished: Finished) -> None:
    row = finished.cells("import")["segfault"]
    assert row["status"] == "unverified"
    assert row["reason"].startswith("export failed: crash at export")


def test_the_short_summary_says_what_happened(finished: Finished) -> None:
    assert "- ERROR at export: crash: " in finished.text
    assert "- mismatch at compare: out0: E " in finished.text


def test_a_megabyte_of_message_becomes_a_line(finished: Finished) -> None:
    row = finished.cells("export")["raises"]
    assert row["reason"].splitlines()[0] == "ValueError: this is the first line"
    assert len(row["detail"]) < 200_000


def test_the_failure_fits_a_screen_and_ends_in_the_command(finished: Finished) -> None:
    row = finished.cells("export")["wrong"]
    block = re.split(r"\n_{3,} ", finished.text.split("test_export[wrong-fake")[1])[0]
    assert len(block.splitlines()) < 30
    assert f"bench repro {row['key']}" in block
    assert "tolerance" in block
