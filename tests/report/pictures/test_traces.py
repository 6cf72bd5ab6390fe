"""Series over time as traces: what is read from side files, what is left out, and where nothing was recorded."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bench_plugin.report.pictures.traces import Trace, gaps, traces
from bench_plugin.results.series import keep
from tests.report.pictures.made import axes, entries, timing

Row = dict[str, Any]


def trace(folder: Path, name: str, values: Any, times: Any = None, most: int = 500, **about: Any) -> Trace:
    """The trace of one series that was kept beside a results file."""
    kept: Row = keep(folder, {name: np.asarray(values), **({} if times is None else {"when": np.asarray(times)})})
    said = {**kept[name], **({} if times is None else {"times": kept["when"]["file"]}), **about}
    (one,) = entries(timing(axes(), numbers={"series": {name: said}}))
    return traces(folder / "results.jsonl", one, most)[name]


def test_values_are_in_the_unit_of_a_reader_and_their_statistics_are_of_all_of_them(tmp_path: Path) -> None:
    found = trace(tmp_path, "memory.rss", [2**20, 3 * 2**20, 8 * 2**20], [0.12345, 1.0, 2.0], unit="B", place="tree")
    assert (found.unit, found.place, found.samples) == ("MiB", "tree", 3)
    assert (found.times, found.values) == ((0.123, 1.0, 2.0), (1.0, 3.0, 8.0))
    assert (found.mean, found.median, found.sd) == (4.0, 3.0, pytest.approx(13**0.5))


def test_samples_without_times_are_numbered_from_one_and_have_no_gaps(tmp_path: Path) -> None:
    found = trace(tmp_path, "compute", [0.001, 0.002, 0.003, 0.004])
    assert found.times == (1.0, 2.0, 3.0, 4.0) and found.values == (1.0, 2.0, 3.0, 4.0)


def test_what_no_picture_shows_is_read_only_where_its_row_has_no_statistics(tmp_path: Path) -> None:
    known = trace(tmp_path, "cpu.3", [1.0, 2.0], [0.0, 1.0], unit="%", mean=77.0)
    assert known.values == () and known.mean == 77.0
    unknown = trace(tmp_path, "clock.3", [1.0, 2.0], [0.0, 1.0], unit="%", mean=None)
    assert unknown.values == (1.0, 2.0) and unknown.mean == 1.5
    without = trace(tmp_path, "cpu", [1.0], [0.0], unit="%", file="", mean=3.0)
    assert without.values == () and without.trouble == ""


def test_values_and_times_that_are_not_finite_are_left_out_as_pairs(tmp_path: Path) -> None:
    found = trace(tmp_path, "cpu", [1.0, np.nan, 3.0, 4.0, 5.0], [0.0, 1.0, np.inf, 3.0], unit="%")
    assert found.times == (0.0, 3.0) and found.values == (1.0, 4.0) and found.samples == 2
    assert trace(tmp_path, "cpu", [[1, 2], [3, 4]], [[0], [1], [2], [3]], unit="%").values == (1.0, 2.0, 3.0, 4.0)


def test_points_and_gaps_together_are_no_more_than_asked_for_and_in_the_order_of_time(tmp_path: Path) -> None:
    times = np.concatenate([np.arange(50) * 0.1, 100 + np.arange(50) * 0.1])
    found = trace(tmp_path, "cpu", np.arange(100.0), times, most=21, unit="%")
    assert len(found.times) == 21 and list(found.times) == sorted(found.times)
    assert found.values.count(None) == 1 and found.times[found.values.index(None)] == pytest.approx(52.45)
    assert {found.values[0], found.values[-1]} == {0.0, 99.0}


@pytest.mark.parametrize(
    ("times", "middles"),
    [
        ([0.0, 1.0], []), ([0.0, 1.0, 100.0], []), ([0.0, 0.0, 0.0, 50.0], []), ([0.0, 1.0, 2.0, 7.0], []),
        ([0.0, 1.0, 2.0, 7.5], [4.75]), ([0.0, 10.0, 20.0, 60.0], []), ([0.0, 0.1, 0.2, 3.0, 3.1], [1.6]),
        ([0.0, 1.0, 2.0, 12.0, 22.0, 32.0], []),
    ],
)  # fmt: skip
def test_a_gap_is_more_than_five_times_the_usual_step(times: list[float], middles: list[float]) -> None:
    assert gaps(np.array(times)) == pytest.approx(middles)
