"""What the page opens for a cell: what is kept of its row, its series, and the ends of logs of failures."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("jinja2", reason="comes with the extra report")
pytest.importorskip("orjson", reason="comes with the extra report")

from bench_plugin.report.interactive import evidence
from bench_plugin.report.interactive.page import Report, make_report
from bench_plugin.report.interactive.reading import read_source, with_previous
from bench_plugin.results.series import keep
from tests.report.interactive.scene import computed, failure, write_runs
from tests.report.made import Row

TIMED: Row = {"compute": {"median": 0.002}}


def report(folder: Path, rows: list[Row]) -> Report:
    return make_report([with_previous(read_source(write_runs(folder, rows)), None)])


def recorded(folder: Path, number: int, samples: int) -> Row:
    """A row with a series of a sensor over time, kept beside the results file."""
    kept = keep(folder, {"memory.rss": np.arange(samples) * 1.5, "when": np.arange(samples) * 0.5})
    about = {**kept["memory.rss"], "times": kept["when"]["file"], "unit": "B", "place": "process tree"}
    return computed(number, numbers={"E": 0.0, "timing": TIMED, "series": {"memory.rss": about}})


def only(folder: Path, row: Row, results: Path | None = None, **more: Any) -> Row:
    [item] = report(folder, [row]).items
    return evidence.detail(item, results, **more)


def test_what_is_empty_or_in_the_table_is_left_out_and_zero_is_not(tmp_path: Path) -> None:
    numbers = {"E": 0.0, "M": None, "layers": {}, "deterministic": False, "needed": 0.5}
    more = {"timings": {}, "peaks": {}, "versions": {}, "repro": [], "log": "", "reusable": True, "retries": 0}
    assert only(tmp_path, computed(20, numbers=numbers, **more)) == {
        "status": "supported", "result": "passed", "retries": 0,
        "numbers": {"E": 0.0, "deterministic": False, "needed": 0.5},
        "moved": {"word": "new", "before": "", "said": (), "versions": ()},
    }  # fmt: skip


def test_series_are_shown_without_the_names_of_their_files(tmp_path: Path) -> None:
    about = {"unit": "%", "samples": 3, "mean": 98.5, "file": "series/x.npy", "times": "series/y.npy"}
    found = only(tmp_path, computed(0, numbers={"series": {"cpu": about}}))
    assert found["numbers"]["series"] == {"cpu": {"unit": "%", "samples": 3, "mean": 98.5}}


@pytest.mark.parametrize("name", evidence.DEPLOYED)
def test_a_deployment_is_shown_where_one_of_its_numbers_is_there(tmp_path: Path, name: str) -> None:
    value: Any = {"timing": TIMED, "accuracy": 0.0, "map": 0.0}.get(name, {})
    assert "deployment" in only(tmp_path, computed(0, numbers={name: value}))
    assert "deployment" not in only(tmp_path, computed(0, numbers={name: None}))


def test_values_of_a_series_come_from_its_file_and_are_as_many_as_asked_for(tmp_path: Path) -> None:
    row = recorded(tmp_path, 0, 1000)

    def points(results: Path | None, **more: Any) -> int:
        [*drawn] = only(tmp_path, row, results, **more)["deployment"]["rows"].get("over-time", [])
        return sum(len(one["times"]) for one in drawn)

    results = tmp_path / "results.jsonl"
    assert (points(results, points=50), points(results), points(None)) == (50, 500, 0)


def test_cells_are_in_blocks_and_share_the_values_of_series(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [recorded(tmp_path, number, 1000) for number in range(3)] + [computed(number) for number in range(3, 503)]
    monkeypatch.setattr(evidence, "ALL_POINTS", 1000)
    made = report(tmp_path, rows)
    blocks = list(evidence.blocks(made.items, made.sources))
    assert [len(block) for block in blocks] == [500, 3]
    drawn = [one["deployment"]["rows"]["over-time"] for block in blocks for one in block if "deployment" in one]
    assert [len(one["times"]) for [one] in drawn] == [332] * 3, (
        "1000 points of three series, in pairs of least and largest"
    )
    monkeypatch.setattr(evidence, "ALL_POINTS", 60)
    [first, *_] = evidence.blocks(made.items, made.sources)
    drawn = [one["deployment"]["rows"]["over-time"] for one in first if "deployment" in one]
    assert [len(one["times"]) for [one] in drawn] == [evidence.FEWEST_POINTS] * 3


def test_without_a_folder_of_series_there_are_no_values_and_no_trouble(tmp_path: Path) -> None:
    row = recorded(tmp_path, 0, 10)
    made = report(tmp_path / "in/another", [row])
    [[found]] = evidence.blocks(made.items, made.sources)
    assert "over-time" not in found["deployment"]["rows"]


def test_the_ends_of_logs_of_failures_are_shown_where_they_are_at_hand(tmp_path: Path) -> None:
    rows = [
        failure(0, "ERROR", "run", "crash", "gone", log="logs/tvm-1.log"),
        failure(1, "ERROR", "run", "crash", "gone", log="logs/removed.log"), failure(2, "ERROR", "run", "crash", "no"),
        computed(3, log="logs/right.log"),
    ]  # fmt: skip
    made = report(tmp_path, rows)
    (tmp_path / "logs/right.log").write_text("a log of a cell that is supported")
    found = evidence.logs(made.items, made.sources)
    assert list(found) == ["logs/tvm-1.log"] and found["logs/tvm-1.log"].endswith("last words of TVM\n")
