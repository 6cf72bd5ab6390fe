"""The row of a cell whose process is killed while it computes it."""

from __future__ import annotations

import multiprocessing
import os
from pathlib import Path

from bench_plugin.results.begun import BegunCells


def _noted(results: Path, *nodeids: str) -> None:
    for nodeid in nodeids:
        BegunCells(results).begin({"nodeid": nodeid})


def test_the_last_cell_that_a_process_began_is_found_once(tmp_path: Path) -> None:
    results = tmp_path / "results.jsonl"
    context = multiprocessing.get_context("spawn")
    for nodeids in (("one", "two"), ("three",)):
        process = context.Process(target=_noted, args=(results, *nodeids))
        process.start()
        process.join(60)
    noted = BegunCells(results)
    assert noted.take("one") is None, "it had its verdict before the process began the next"
    assert noted.take("two") == {"nodeid": "two"}
    assert noted.take("two") is None
    assert noted.take("three") == {"nodeid": "three"}


def test_a_node_id_relative_to_another_folder_is_the_same(tmp_path: Path) -> None:
    noted = BegunCells(tmp_path / "results.jsonl")
    noted.begin({"nodeid": "suite/test_a.py::test_x[a]"})
    assert noted.take("a.py::test_x[a]") is None
    assert noted.take("test_a.py::test_x[a]") is not None
    noted.begin({"nodeid": "test_a.py::test_x[a]"})
    assert noted.take("suite/test_a.py::test_x[a]") is not None


def test_a_note_that_was_cut_names_no_cell(tmp_path: Path) -> None:
    (tmp_path / ".results.jsonl.7.begun").write_text('{"nodeid": "on')
    assert BegunCells(tmp_path / "results.jsonl").take("one") is None


def test_notes_end_with_their_process_and_with_the_next_run(tmp_path: Path) -> None:
    noted = BegunCells(tmp_path / "results.jsonl")
    other = BegunCells(tmp_path / "other.jsonl")
    for one in (noted, other):
        one.begin({"nodeid": "a"})
    noted.end()
    assert [path.name for path in tmp_path.iterdir()] == [f".other.jsonl.{os.getpid()}.begun"]
    noted.begin({"nodeid": "b"})
    noted.forget()
    assert noted.take("b") is None and other.take("a") == {"nodeid": "a"}
