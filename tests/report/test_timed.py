"""Figures of timed cells from their rows: sweeps in tables, speed-ups, costs, and the accuracy of the same artefact."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from bench_plugin.report import timed
from bench_plugin.report.entries import Entry, entry
from bench_plugin.report.grids.compiled import build_grid
from bench_plugin.report.pages.registry import build_pages
from bench_plugin.report.pages.timing_tables import Tables
from bench_plugin.results.artefact import digest_of
from tests.report.made import cell as made
from tests.report.made import header, plan

FILES = {"model.bin": {"bytes": 1500, "sha256": "b" * 64}, "model.xml": {"bytes": 500, "sha256": "a" * 64}}
ARTEFACTS = {"model.onnx": {"bytes": 7, "nodes": 3}, **FILES}  # of the ONNX file a row has no hash
DIGEST = digest_of({name: str(one["sha256"]) for name, one in FILES.items()})


def cell(compiler: str, median: float, rate: float, *, status: str = "supported", **more: Any) -> dict[str, Any]:
    """A timing row; ``more`` are axes, but for ``numbers`` and ``artefacts``."""
    timing = {
        "compute": {"median": median}, "throughput": {"per_second": rate}, "artefact": DIGEST, "compile_seconds": 2.5,
    }  # fmt: skip
    numbers = {"timing": timing, **more.pop("numbers", {})}
    artefacts = more.pop("artefacts", ARTEFACTS)
    axes = {"check": "timing", "model": "net", "framework": "pytorch", "compiler": compiler, "precision": "fp32",
            "target": "local", **more}  # fmt: skip
    return made(axes, status, numbers=numbers, artefacts=artefacts)


def quality(digest: str, **more: Any) -> dict[str, Any]:
    axes = {"check": "quality", "model": "net", "framework": "pytorch", "compiler": "tool", "precision": "fp32",
            "target": "local", **more}  # fmt: skip
    artefacts = {"model.bin": {**FILES["model.bin"], "sha256": digest}, "model.xml": FILES["model.xml"]}
    return made(axes, numbers={"accuracy": 0.75}, artefacts=artefacts)


def entries(*rows: dict[str, Any]) -> list[Entry]:
    return [entry(one) for one in rows]


def test_a_speed_up_is_against_native_at_the_same_point_of_the_sweep() -> None:
    found = entries(
        cell("tool", 0.002, 450.0), cell("tool", 0.008, 900.0, batch=8), cell("tool", 0.003, 1200.0, streams=4),
        cell("native", 0.010, 95.0), cell("native", 0.016, 480.0, batch=8), cell("native", 0.030, 100.0, streams=4),
        cell("tool", 0.001, 900.0, precision="w8a8"), cell("native", 0.005, 190.0, precision="bf16"),
        cell("tool", 0.002, 450.0, threads=2), cell("tool", 0.001, 900.0, status="mismatch", framework="mxnet"),
    )  # fmt: skip
    ups = [timed.speed_up(one, found) for one in found]
    assert ups[:3] == [pytest.approx(5.0), pytest.approx(2.0), pytest.approx(12.0)], "streams by their throughput"
    assert ups[3:6] == [None, None, None], "native is not compared with itself"
    assert ups[6:8] == [pytest.approx(10.0), pytest.approx(2.0)], "every precision is compared with fp32"
    assert ups[8:] == [None, None], "no native cell of two threads, and none of a wrong result"


def test_streams_are_compared_by_throughput_from_two_on_and_values_left_out_are_the_usual_ones() -> None:
    found = entries(
        cell("tool", 0.003, 600.0, streams=2), cell("native", 0.004, 100.0, streams=2),
        cell("tool", 0.002, 450.0, batch=1, threads=0, streams=1), cell("native", 0.010, 95.0),
        cell("tool", 0.002, 450.0, model="other"), cell("native", 0.010, 95.0, model="other", streams=1),
    )  # fmt: skip
    assert [timed.speed_up(found[one], found) for one in (0, 2, 4)] == [pytest.approx(one) for one in (6.0, 5.0, 5.0)]
    precision = {key: value for key, value in found[3].cell.items() if key != "precision"}
    [plain] = entries(made(precision, numbers=found[3].numbers))
    assert timed.is_base(plain) and timed.speed_up(found[2], [plain]) == pytest.approx(5.0), "no precision is fp32"


@pytest.mark.parametrize("streams", [{}, {"streams": 2}])
@pytest.mark.parametrize(("mine", "its"), [(0.0, 5.0), (5.0, 0.0)])
def test_there_is_no_speed_up_where_one_of_both_was_not_timed(mine: float, its: float, streams: dict[str, int]) -> None:
    found = entries(cell("tool", mine, mine, **streams), cell("native", its, its, **streams))
    assert timed.speed_up(found[0], found) is None


def test_an_emulated_board_has_no_latency_and_no_throughput() -> None:
    row = cell("tool", 0.002, 450.0)
    row["numbers"]["timing"] |= {"percentiles": {"p50": 0.0019}}
    row["numbers"]["timing"]["compute"] |= {"launch_medians": [0.0021, 0.002]}
    [real, emulated] = entries(row, row | {"placement": {"timing": "emulated"}})
    figures = (timed.latency, timed.p50, timed.of_launches, timed.throughput)
    assert [take(real) for take in figures] == [0.002, 0.0019, [0.0021, 0.002], 450.0]
    assert [take(emulated) for take in figures] == [None, None, (), None]


def test_a_cell_is_swept_by_its_batch_streams_and_mode_and_not_by_threads_or_what_is_kept() -> None:
    swept = ({"batch": 8}, {"streams": 2}, {"mode": "warm"})
    assert all(timed.is_swept(one) for one in entries(*(cell("tool", 1.0, 1.0, **axes) for axes in swept)))
    assert not any(timed.is_swept(one) for one in entries(*(cell("tool", 1.0, 1.0, **axes) for axes in (
        {}, {"threads": 2}, {"kept": 0.5},
    ))))  # fmt: skip


def test_the_peak_of_memory_is_also_that_of_the_stage_and_energy_without_a_batch_is_of_one_sample() -> None:
    power = {"power.a": {"energy_per_inference": {"with_idle": 0.08}}}
    row = cell("tool", 0.001, 1.0, numbers={"power": power, "series": {"memory.rss": {"max": 2.0**20}}})
    [one] = entries(row | {"peaks": {"time": 3 * 2**20, "run": 9 * 2**20}})
    assert timed.peak_memory(one) == 3 * 2**20 and timed.energy(one) == timed.Energy(0.08, "power.a")


def test_a_sweep_has_columns_for_what_has_several_values_and_its_lines_stay_together() -> None:
    found = entries(
        cell("slow", 0.004, 250.0), cell("slow", 0.020, 6400.0, batch=128), cell("slow", 0.006, 1300.0, batch=8),
        cell("fast", 0.001, 900.0), cell("fast", 0.003, 2600.0, batch=8), cell("fast", 0.030, 4000.0, batch=128),
    )  # fmt: skip
    table = Tables(found, {}).times()
    assert table.heads[:3] == ("compiler", "precision", "batch") and table.keys == 3
    shown = [tuple(one.text for one in line) for line in table.rows]
    assert [(line[0].partition(" ")[0], line[2]) for line in shown] == [
        ("fast", "1"), ("fast", "8"), ("fast", "128"), ("slow", "1"), ("slow", "8"), ("slow", "128"),
    ]  # fmt: skip
    ratio, rate = table.heads.index("ratio to the best"), table.heads.index("throughput, closed loop")
    assert [line[ratio] for line in shown] == ["1.00", "1.00", "1.50", "4.00", "2.00", "1.00"], "of the same batch"
    assert shown[1][rate] == "2.6e+03/s"
    assert "speed-up against native" not in table.heads, "native was not timed"
    assert Tables(found, {}).shown().heads[3:] == ("status", "p50", "throughput, closed loop", "ratio to the best")


def test_one_value_for_all_cells_is_said_once_and_has_no_column() -> None:
    found = entries(cell("a", 0.001, 1.0, batch=8, streams=2), cell("b", 0.001, 1.0, batch=8, streams=2))
    tables = Tables(found, {})
    assert tables.in_all == "batch 8, 2 streams" and tables.times().keys == 2
    assert Tables(entries(cell("a", 0.001, 1.0)), {}).in_all == ""


def test_what_a_deployment_costs_comes_from_its_row() -> None:
    series = {"memory.rss": {"unit": "B", "max": 3 * 2.0**20, "median": 2 * 2.0**20, "samples": 9}}
    power = {"power.a": {"absent": {}}, "power.b": {"energy_per_inference": {"with_idle": 0.08, "above_idle": 0.01}}}
    task = {"metric": "accuracy", "accuracy": 0.9875, "artefact": DIGEST}
    [one] = entries(cell("tool", 0.001, 1.0, batch=8, numbers={"series": series, "power": power, "task": task}))
    assert (timed.peak_memory(one), timed.memory(one)) == (3 * 2**20, 2 * 2**20)
    assert (timed.artefact_bytes(one), timed.compile_seconds(one)) == (2000, 2.5), "all files, and not the ONNX file"
    assert timed.energy(one) == timed.Energy(0.01, "power.b"), "of one sample of a batch of eight"
    costs = Tables([one], {}).costs()
    assert [text.text for text in costs.rows[0]][2:] == ["3.0", "2.0", "2.0", "2.5 s", "0.01 J (power.b)", "98.75%"]
    assert timed.artefact_bytes(entries(cell("native", 0.001, 1.0, artefacts={}))[0]) is None
    on_gpu = {"gpu0.memory": {"unit": "B", "max": 5 * 2.0**20, "samples": 1}, "gpu0.memory.clock": {"max": 9.0}}
    costs = Tables(entries(cell("tool", 0.001, 1.0, numbers={"series": on_gpu})), {}).costs()
    assert (costs.heads[-1], costs.rows[0][-1].text) == ("GPU memory, MiB", "5.0")


def test_accuracy_stands_beside_a_time_only_of_the_same_artefact() -> None:
    [time, same, other] = entries(cell("tool", 0.001, 1.0), quality("b" * 64), quality("c" * 64))
    assert timed.task_of(time, [same]) == timed.Task(0.75)
    wrong = timed.task_of(time, [other])
    assert wrong.accuracy is None and f"artefact {DIGEST[:12]} was timed, and the accuracy" in wrong.wrong
    judged = digest_of({"model.bin": "c" * 64, "model.xml": "a" * 64})[:12]
    assert wrong.wrong.endswith(f"was timed, and the accuracy of the quality row is that of {judged}")
    [own] = entries(cell("tool", 0.001, 1.0, numbers={"task": {"metric": "accuracy", "accuracy": 0.5}}))
    assert timed.task_of(own, [same]) == timed.Task(0.5), "its own accuracy is that of the artefact that was timed"
    assert timed.task_of(own, [other]) == timed.Task(0.5, wrong.wrong)
    none = replace(same, artefacts={})
    assert timed.task_of(time, [none]).wrong.endswith("is that of none")
    without_task, untimed = replace(same, numbers={}), replace(time, numbers={})
    assert timed.task_of(time, [without_task]) == timed.task_of(untimed, [same]) == timed.Task()
    [swept] = entries(cell("tool", 0.001, 1.0, batch=8))
    assert timed.task_of(swept, [same, other]) == timed.Task(), "no quality row is of a batch"


def test_the_page_says_it_as_an_error_where_an_accuracy_is_of_another_artefact() -> None:
    rows = [header(), plan(2, 2), cell("tool", 0.001, 1.0), quality("c" * 64)]
    [page] = [one for one in build_pages(rows, ()) if one.name == "timing"]
    assert any(text.startswith("error: net from pytorch in tool, fp32: artefact") for text in page.remarks)


def test_the_grid_of_compiled_models_has_times_of_plain_cells_alone() -> None:
    plain, batch = cell("tool", 0.001, 900.0), cell("tool", 0.009, 7000.0, batch=8)
    verdict = made({**plain["cell"], "check": "equivalence"}, numbers={"E": 1e-7})
    for rows in ([verdict, plain, batch], [verdict, batch, plain]):
        [one] = build_grid(rows).times.values()
        assert timed.latency(one) == 0.001
