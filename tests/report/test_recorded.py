"""Pages show the series and the power of cells; side files that are gone are a remark there, and no crash."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from bench_plugin.domain.outcome import Outcome, Status
from bench_plugin.report.blocks import Heading, Paragraph, Table
from bench_plugin.report.entries import entry
from bench_plugin.report.pages.registry import read_pages
from bench_plugin.report.recorded import recorded_blocks
from bench_plugin.results.rows import cell_row
from bench_plugin.results.series import keep
from bench_plugin.results.writer import ResultsWriter

AXES = {"check": "another", "model": "m", "target": "local"}
SERIES: dict[str, Any] = {
    "compute": {"file": "series/x.npy", "samples": 5},
    "memory.rss": {
        "unit": "B", "place": "process tree", "samples": 2, "mean": 3 * 2**20, "sd": 1.5, "median": 3 * 2**20,
        "min": 2**20, "max": 5 * 2**20,
    },
    "frequency.cpu0": {"unit": "MHz", "samples": 1, "mean": 2400.0, "sd": None},
    "temperature.hwmon2.temp1": {"unit": "degC", "samples": 0, "ended": {"at": 1.25, "why": "temp1_input: gone"}},
}  # fmt: skip
POWER = {
    "power.board": {
        "place": "VDD_IN", "full": {"mean": 8.0, "min": 7.5, "max": 9.0}, "absent": {"base": "it was not taken"},
        "energy_per_inference": {"with_idle": 0.08, "above_idle": 1.0},
    },
    "power.rapl": {"absent": {"idle": "no right", "full": "no load"}, "energy_per_inference": {"with_idle": -2.5}},
    "power.usb": {},
}  # fmt: skip


def row(numbers: dict[str, Any]) -> dict[str, Any]:
    outcome = Outcome(Status.SUPPORTED, numbers=numbers)
    return cell_row(AXES, outcome, key="k", nodeid="n", expected=None, repro=[], result="passed", settings={}, host="h")


def texts(table: Table) -> list[list[str]]:
    return [[cell.text for cell in line] for line in table.rows]


def test_series_have_a_line_each_in_units_for_a_reader_and_say_where_they_end() -> None:
    heading, opening, table = recorded_blocks([entry(row({"series": SERIES}))], lambda one: "m")
    assert heading == Heading("Series over time") and isinstance(opening, Paragraph) and isinstance(table, Table)
    assert str(opening.text).startswith("Series of the machine") and table.heads[:4] == (
        "cell", "series", "sensor", "unit",
    )  # fmt: skip
    assert table.keys == 2 and texts(table) == [
        ["m", "memory.rss", "process tree", "MiB", "3", "1.431e-06", "3", "1", "5", "2", ""],
        ["m", "frequency.cpu0", "", "MHz", "2400", "", "", "", "", "1", ""],
        ["m", "temperature.hwmon2.temp1", "", "°C", "", "", "", "", "", "0", "ended at 1.2 s: temp1_input: gone"],
    ]  # fmt: skip


def test_power_has_a_line_per_meter_and_says_what_is_absent_and_why() -> None:
    heading, opening, table = recorded_blocks([entry(row({"power": POWER}))], lambda one: "m")
    assert heading == Heading("Power") and isinstance(opening, Paragraph) and isinstance(table, Table)
    assert str(opening.text).startswith("Power as mean") and table.heads[:2] == ("cell", "meter") and table.keys == 2
    assert texts(table) == [
        ["m", "power.board (VDD_IN)", "", "", "8 (7.5 to 9)", "80 mJ", "1 J", "base: it was not taken"],
        ["m", "power.rapl", "", "", "", "-2.5 J", "", "idle: no right; full: no load"],
        ["m", "power.usb", "", "", "", "", "", ""],
    ]


def test_series_and_power_of_a_run_stand_below_each_other() -> None:
    blocks = recorded_blocks([entry(row({"series": SERIES, "power": POWER}))], lambda one: "m")
    assert [block.text for block in blocks if isinstance(block, Heading)] == ["Series over time", "Power"]
    assert len(blocks) == 6


def test_cells_that_recorded_nothing_have_no_tables() -> None:
    assert recorded_blocks([entry(row({})), entry(row({"series": {"compute": {"samples": 3}}}))], lambda one: "m") == []


def test_a_side_file_that_is_gone_is_a_remark_on_the_page(tmp_path: Path) -> None:
    kept = keep(tmp_path, {"memory.rss": np.array([1.0, 2.0])})
    results = tmp_path / "results.jsonl"
    writer = ResultsWriter(results, resume=False)
    writer.begin(
        "run", [{"schema": 1, "kind": "header", "run": "run"}, {"schema": 1, "kind": "plan", "count": 1, "total": 1}]
    )
    writer.append(row({"series": kept}))
    writer.close()
    assert not any("series" in remark for remark in read_pages(results)[0].remarks)
    (tmp_path / kept["memory.rss"]["file"]).write_bytes(b"cut")
    (page,) = read_pages(results)
    (remark,) = [remark for remark in page.remarks if "series" in remark]
    assert remark.startswith("1 of 1 series cannot be read; the first: ") and "is damaged: its 3 bytes" in remark
