"""What each picture across deployments shows: its records against figures counted by hand."""

from __future__ import annotations

from typing import Any

import pytest

from bench_plugin.report.pictures import svg
from bench_plugin.report.pictures.accuracy import frontier
from bench_plugin.report.pictures.across import (
    accuracy_latency,
    accuracy_throughput,
    errors,
    funnel,
    latency_parts,
    power,
    relative,
    repetitions,
    settings,
    sweeps,
    throughput,
)
from bench_plugin.report.pictures.registry import PICTURES
from bench_plugin.report.pictures.results import Results
from tests.report.pictures.drawing import marks
from tests.report.pictures.made import axes, cell, equivalence, quality, results, timing
from tests.report.pictures.made import power as watts

EMULATED = {"placement": {"timing": "emulated"}}


def test_a_field_of_the_heat_map_is_the_fastest_right_setting() -> None:
    rows = (
        timing(axes(), per_second=400.0), timing(axes(batch=8, streams=2), per_second=900.0),
        timing(axes(batch=16), per_second=5000.0, status="mismatch"),
    )  # fmt: skip
    (field,) = throughput.rows(results(*rows))
    assert (field["value"], field["label"], field["status"]) == (900.0, "900", "supported")
    assert (field["task"], field["line"], field["column"]) == ("classification", "tvm", "Digits · fp32")
    assert field["setting"] == "batch 8, 2 threads, 2 streams"


def test_a_wrong_result_has_a_sign_before_its_number_and_is_never_the_best() -> None:
    rows = (timing(axes(), per_second=500.0), timing(axes(compiler="ncnn"), per_second=2000.0, status="mismatch"))
    found = throughput.rows(results(*rows))
    assert [(one["line"], one["label"]) for one in found] == [("ncnn", "≠ 2k"), ("tvm", "500")]
    shown = {one["line"]: (one["value"], one["label"]) for one in relative.rows(results(*rows))}
    assert shown == {"ncnn": (400.0, "≠ 400"), "tvm": (100.0, "100")}


def test_every_column_is_relative_to_its_own_best() -> None:
    rows = (
        timing(axes(), per_second=500.0), timing(axes(compiler="ncnn"), per_second=125.0),
        timing(axes(model="mobile"), per_second=8.0), timing(axes(model="mobile", compiler="ncnn"), per_second=10.0),
        timing(axes(model="boxes"), per_second=10.0, status="mismatch"),
    )  # fmt: skip
    shown = {(one["column"], one["line"]): one["value"] for one in relative.rows(results(*rows))}
    assert shown == {
        ("Digits · fp32", "tvm"): 100.0, ("Digits · fp32", "ncnn"): 25.0, ("MobileNet · fp32", "tvm"): 80.0,
        ("MobileNet · fp32", "ncnn"): 100.0,
    }  # fmt: skip


def test_platforms_are_divided_by_target_mode_and_datatype_and_columns_by_task() -> None:
    rows = (
        timing(axes(target="jetson", mode="15W")), timing(axes(compiler="native")),
        timing(axes(precision="fp16"), placement={"effective": "fp32"}),
        timing(axes("boxes", precision="w8a8", graph="qdq")),
    )  # fmt: skip
    places = [(one["task"], one["line"], one["column"]) for one in throughput.rows(results(*rows))]
    assert places == [
        ("classification", "native (pytorch)", "Digits · fp32"),
        ("classification", "tvm on jetson · 15W", "Digits · fp32"),
        ("classification", "tvm · computed in fp32", "Digits · fp16"), ("detection", "tvm", "boxes · w8a8 qdq"),
    ]  # fmt: skip


def test_times_of_several_hosts_are_told_apart() -> None:
    rows = [timing(axes(), host="aaa"), timing(axes(), per_second=900.0, host="bbb")]
    assert [one["line"] for one in throughput.rows(results(*rows))] == ["tvm @ aaa", "tvm @ bbb"]
    assert [one["line"] for one in throughput.rows(results(rows[0]))] == ["tvm"]


def test_times_of_emulated_boards_are_in_no_picture() -> None:
    rows = (
        timing(axes(target="cortex-m3"), numbers=watts(1, 2, 3), **EMULATED),
        timing(axes(target="cortex-m3", batch=4), numbers=watts(1, 2, 3), **EMULATED),
        quality(axes(target="cortex-m3"), 0.9, **EMULATED),
    )
    assert [module.NAME for module in PICTURES if module.rows(results(*rows))] == ["funnel"]


def test_boxes_over_settings_need_more_than_one_setting_and_join_modes() -> None:
    assert settings.rows(results(timing(axes()), timing(axes(compiler="ncnn")))) == []
    assert settings.rows(results(timing(axes()), timing(axes() | {"framework": "mxnet"}))) == []
    rows = settings.rows(results(timing(axes(mode="15W")), timing(axes(mode="MAXN"), per_second=800.0)))
    assert [(one["line"], one["mode"], one["value"]) for one in rows] == [
        ("tvm · fp32", "15W", 400.0), ("tvm · fp32", "MAXN", 800.0),
    ]  # fmt: skip


def test_repetitions_are_in_percent_of_the_median_over_launches() -> None:
    rows = repetitions.rows(results(timing(axes(), launches=[0.009, 0.010, 0.012])))
    assert [(one["value"], one["launch"], one["latency_ms"]) for one in rows] == [
        ([-10.0, 0.0, 20.0], [1, 2, 3], [9.0, 10.0, 12.0]),
    ]  # fmt: skip
    assert repetitions.rows(results(timing(axes(), launches=[0.01]))) == []


def many_and_few() -> Results:
    """A line with more values than are shown one by one, and one with as many as are."""
    launches = [0.01, 0.011, 0.012, 0.013]
    many = [timing(axes(batch=batch), launches=launches) for batch in range(1, 12)]
    few = [timing(axes(compiler="ncnn", batch=batch), launches=launches) for batch in range(1, 11)]
    return results(*many, *few)


def test_values_of_a_line_with_very_many_are_in_its_box_and_not_shown_one_by_one() -> None:
    found = repetitions.rows(many_and_few())
    assert {(one["line"], one["points"]) for one in found} == {("tvm · fp32", False), ("ncnn · fp32", True)}


def test_a_line_with_very_many_values_is_drawn_as_a_box_without_them() -> None:
    drawn = marks(svg.drawn(repetitions.specification(), repetitions.rows(many_and_few())))
    assert drawn["symbol"] == 40 and drawn["rect"] == 4


def test_the_bar_of_latency_is_compute_and_what_system_adds() -> None:
    rows = latency_parts.rows(results(timing(axes(), 0.002, system=0.0025)))
    assert [(one["part"].split(":")[0], one["value"], one["end"], one["total"]) for one in rows] == [
        ("compute", 2.0, 2.5, "2.5 ms"), ("rest of system", 0.5, 2.5, "2.5 ms"),
    ]  # fmt: skip
    below = latency_parts.rows(results(timing(axes(), 0.002, system=0.0019, status="mismatch")))
    assert [(one["value"], one["total"]) for one in below] == [(2.0, "≠ 2 ms"), (0.0, "≠ 2 ms")]
    assert latency_parts.rows(results(timing(axes(), system=None))) == []


def test_the_bar_of_power_is_base_and_what_idle_and_full_add() -> None:
    rows = power.rows(results(timing(axes(), numbers=watts(2.0, 2.5, 6.0))))
    assert [(one["value"], one["end"], one["total"]) for one in rows] == [
        (2.0, 6.0, "6 W"),
        (0.5, 6.0, "6 W"),
        (3.5, 6.0, "6 W"),
    ]
    assert rows[0]["line"] == "tvm · fp32 · power.board" and rows[0]["place"] == "socket"
    unsure = watts(2.0, 2.5, 6.0)
    del unsure["power"]["power.board"]["idle"]
    assert power.rows(results(timing(axes(), numbers=unsure))) == []


def test_a_sweep_is_one_line_along_the_setting_that_varies() -> None:
    rows = [
        timing(axes(batch=batch, streams=streams), 0.001 * batch, 100.0 * batch * streams)
        for batch in (8, 1) for streams in (1, 4)
    ]  # fmt: skip
    found = sweeps.rows(results(*rows))
    assert [(one["line"], one["along"]) for one in found] == [
        ("tvm · fp32 · pytorch · s1", 1), ("tvm · fp32 · pytorch · s1", 8),
        ("tvm · fp32 · pytorch · s4", 1), ("tvm · fp32 · pytorch · s4", 8),
    ]  # fmt: skip
    assert [one["label"] for one in found][:2] == ["tvm s1 b1", "b8"]
    streams = [timing(axes(batch=4, streams=streams), 0.001, 100.0 * streams) for streams in (1, 2)]
    found = sweeps.rows(results(*streams))
    assert [(one["along"], one["label"]) for one in found] == [(1, "tvm s1"), (2, "s2")]
    assert len({one["line"] for one in found}) == 1
    (alone,) = sweeps.rows(results(timing(axes())))
    assert (alone["label"], alone["panel"]) == ("tvm", "Digits · fp32") and alone["latency_ms"] == 2.0


def deployments() -> list[Any]:
    """Accuracy and throughput: a is best in accuracy, c in speed, b is beaten by c; d is wrong."""
    table = {"a": (0.95, 100.0), "b": (0.90, 150.0), "c": (0.92, 200.0), "d": (0.99, 999.0)}
    rows = []
    for name, (accuracy, rate) in table.items():
        rows.append(quality(axes(compiler=name), accuracy))
        rows.append(timing(axes(compiler=name), 1 / rate, rate, status="mismatch" if name == "d" else "supported"))
    return rows


@pytest.mark.parametrize("module", [accuracy_throughput, accuracy_latency])
def test_the_frontier_are_the_deployments_that_no_other_beats(module: Any) -> None:
    found = module.rows(results(*deployments()))
    assert {one["platform"] for one in found if one["frontier"]} == {"a", "c"}
    assert {one["label"] for one in found} == {"a fp32", "c fp32", ""}
    assert {one["platform"]: one["outputs"] for one in found}["d"] == "wrong result"


def test_of_equally_accurate_deployments_only_the_fastest_is_on_the_frontier() -> None:
    points = [(100.0, 0.9), (200.0, 0.9), (200.0, 0.8), (50.0, 0.95)]
    assert frontier(points) == {(200.0, 0.9), (50.0, 0.95)}


def test_accuracy_says_whether_it_is_of_the_artefact_that_was_timed() -> None:
    def pair(compiler: str, timed: str, judged: str) -> list[Any]:
        files = [{"artefacts": {"model.so": {"sha256": digest}} if digest else {}} for digest in (timed, judged)]
        return [timing(axes(compiler=compiler), **files[0]), quality(axes(compiler=compiler), 0.9, **files[1])]

    rows = [*pair("same", "1", "1"), *pair("other", "1", "2"), *pair("unknown", "", "2")]
    rows += [
        timing(axes(compiler="own"), numbers={"task": {"accuracy": 0.8, "artefact": "1"}}),
        timing(axes(compiler="none")),
    ]
    found = {one["platform"]: (one["artefact"], one["accuracy"]) for one in accuracy_latency.rows(results(*rows))}
    assert found == {
        "same": ("same artefact", 0.9), "other": ("another compilation", 0.9), "unknown": ("not known", 0.9),
        "own": ("same artefact", 0.8),
    }  # fmt: skip


def test_errors_are_shown_over_their_tolerance_with_a_sign_for_every_status() -> None:
    rows = (
        equivalence(axes(), 2e-6, 1e-5), equivalence(axes(precision="fp16"), 3e-2, 1e-2, "mismatch"),
        equivalence(axes(precision="w8a8"), None, None), equivalence(axes(compiler="ncnn"), None, None, "unsupported"),
        equivalence(axes("mobile"), 0.0, 1e-5), equivalence(axes("mobile", opset=13), 5e-6, 1e-5),
        equivalence(axes("mobile", target="riscv64"), 1e-9, 1e-5),
    )  # fmt: skip
    found = [(one["compiler"], one["line"], one["column"], one["label"]) for one in errors.rows(results(*rows))]
    assert found == [
        ("ncnn", "Digits (pytorch)", "fp32", "–"), ("tvm", "Digits (pytorch)", "fp32", "0.2"),
        ("tvm", "Digits (pytorch)", "fp16", "≠ 3"), ("tvm", "Digits (pytorch)", "w8a8", "✓"),
        ("tvm", "MobileNet (pytorch)", "fp32", "0.5"), ("tvm", "MobileNet (pytorch)", "fp32 on riscv64", "1e-4"),
    ]  # fmt: skip


def test_no_error_at_all_has_a_place_on_the_logarithmic_scale() -> None:
    (one,) = errors.rows(results(equivalence(axes(), 0.0, 1e-5)))
    assert (one["value"], one["label"]) == (1e-6, "0")


def test_the_funnel_counts_what_got_through_every_stage() -> None:
    took = {"timings": {"build": 1.0, "compile": 1.0, "run": 1.0}}
    rows = (
        equivalence(axes("a"), 1e-6, 1e-5, **took), equivalence(axes("b"), 1e-6, 1e-5, **took),
        equivalence(axes("c"), 1.0, 1e-5, "mismatch", stage="compare", **took),
        equivalence(axes("d"), None, None, "ERROR", stage="compile"),
        equivalence(axes("e"), None, None, "unsupported", stage="compile"),
        equivalence(axes("f"), None, None, "unverified", unverified="blocked"),
        {"kind": "declared", "cell": {"check": "equivalence"}, "status": "Not provided", "reason": "no such model"},
        cell("export", axes("a"), timings={"export": 1.0}),
    )  # fmt: skip
    found = [(one["check"], one["stage"], one["count"], one["label"]) for one in funnel.rows(results(*rows))]
    assert found == [
        ("equivalence", "selected", 7, "7"), ("equivalence", "begun", 5, "5, lost 1 unverified, 1 Not provided"),
        ("equivalence", "build", 5, "5"), ("equivalence", "compile", 3, "3, lost 1 ERROR, 1 unsupported"),
        ("equivalence", "run", 3, "3"), ("equivalence", "compare", 2, "2, lost 1 mismatch"),
        ("equivalence", "supported", 2, "2"), ("export", "selected", 1, "1"), ("export", "export", 1, "1"),
        ("export", "supported", 1, "1"),
    ]  # fmt: skip
