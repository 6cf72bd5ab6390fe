"""What a deployment says of itself in words and figures, literally, and its form for JSON."""

from __future__ import annotations

from typing import Any

from bench_plugin.report.pictures.deployment import NO_GPU, Deployment, Figure, deployment
from tests.report.pictures.made import axes, entries, timing

Row = dict[str, Any]
TIMED: Row = {
    "first_inference": 0.01, "compute": {"median": 0.002, "mean": 0.0021}, "system": {"median": 0.003},
    "percentiles": {"p90": 0.0025, "p99": 0.0042}, "throughput": {"per_second": 412.345},
    "interval": {"low": 0.0019, "high": 0.0022, "kind": "over launches"},
}  # fmt: skip
JUDGED: Row = {
    "accuracy": 0.975, "reference_accuracy": 0.98, "top5": 0.999, "mean_precision": 0.971, "mean_sensitivity": 0.972,
    "g_mean": 0.973, "map": 0.451, "reference_map": 0.462, "map50": 0.653, "drop": {"top1": 0.005, "map": -0.011},
}  # fmt: skip
METER: Row = {
    "place": "VDD_IN", "base": {"mean": 1.5, "min": 1.25, "max": 1.75}, "idle": {"mean": 2.5, "min": 2.0},
    "full": {"mean": 7.5, "min": 6.5, "max": 9.0}, "energy_per_inference": {"with_idle": 0.0812, "above_idle": 0.0623},
}  # fmt: skip
SERIES: Row = {
    "latency.extra": {"unit": "x", "samples": 4, "mean": 1.5}, "memory.rss": {"unit": "B", "samples": 9, "mean": 2**20},
    "cpu": {"unit": "%", "samples": 8, "mean": 99.5, "sd": 0.25, "median": 99.0},
}  # fmt: skip


def of(numbers: Row, **more: Any) -> Deployment:
    (one,) = entries(timing(axes(), numbers=numbers, **more))
    return deployment(one)


def test_every_fact_has_its_words_and_its_unit() -> None:
    found = of({"timing": TIMED, **JUDGED, "power": {"power.board": METER, "power.usb": {"base": {"mean": 1.0}}}})
    assert found.facts == (
        ("first inference", "10 ms"), ("compute, median", "2 ms"), ("compute, mean", "2.1 ms"),
        ("system, median", "3 ms"), ("p90", "2.5 ms"), ("p99", "4.2 ms"),
        ("95 % interval", "1.9 ms to 2.2 ms, over launches"), ("throughput, closed loop", "412.3 inputs/s"),
        ("accuracy (top-1)", "97.50%"), ("accuracy of the framework's own model", "98.00%"), ("top-5", "99.90%"),
        ("mean precision", "97.10%"), ("mean sensitivity", "97.20%"), ("G-mean", "97.30%"),
        ("mean average precision, overlaps 0.5 to 0.95", "45.10%"),
        ("mean average precision of the framework's own model", "46.20%"),
        ("mean average precision at an overlap of 0.5", "65.30%"),
        ("accuracy lost", "+0.50%"), ("mean average precision lost", "-1.10%"),
        ("power, base: power.board (VDD_IN)", "1.5 W (1.25 to 1.75)"),
        ("power, full load: power.board (VDD_IN)", "7.5 W (6.5 to 9)"),
        ("energy per inference, idle included: power.board (VDD_IN)", "81.2 mJ"),
        ("energy per inference, above idle: power.board (VDD_IN)", "62.3 mJ"),
    )  # fmt: skip


def test_what_is_not_known_is_left_out() -> None:
    assert of({"timing": {"interval": {"low": 0.001, "high": 0.002}}}).facts == (("95 % interval", "1 ms to 2 ms"),)
    assert of({"timing": {"interval": {"low": 0.001}}}).facts == of({"timing": {"interval": {"high": 1.0}}}).facts == ()
    meter = {"idle": {"mean": 2.0, "min": 1.0, "max": 3.0}}
    assert of({"timing": {}, "power": {"meter": meter}}).facts == (
        ("power, idle, model loaded: meter", "2 W (1 to 3)"),
    )  # fmt: skip
    emulated = of({"timing": TIMED, "accuracy": 0.5}, placement={"timing": "emulated"})
    assert emulated.facts == (("accuracy (top-1)", "50.00%"),)


def test_series_without_values_are_in_the_order_of_their_row_and_a_missing_gpu_is_said() -> None:
    found = of({"timing": TIMED, "series": SERIES})
    assert found.figures == (
        Figure("latency.extra", "x", 1.5, None, None, 4),
        Figure("RAM, resident", "MiB", 1.0, None, None, 9),
        Figure("CPU of the process tree", "%", 99.5, 0.25, 99.0, 8),
        Figure("GPU", "", None, None, None, 0, NO_GPU), Figure("GPU memory", "", None, None, None, 0, NO_GPU),
    )  # fmt: skip
    with_gpu = of({"timing": TIMED, "series": {"gpu0.use": {"unit": "%", "samples": 1, "mean": 7.0}}})
    assert [one.title for one in with_gpu.figures] == ["GPU 0"]
    assert of({"timing": TIMED}).figures == ()


def test_its_form_for_json_has_all_of_it() -> None:
    found = of({"timing": {"first_inference": 0.01}, "series": {"gpu0.use": {"unit": "%", "samples": 1, "mean": 7.0}}},
               versions={"tvm": "0.27"}, repro=["x.py::test[a b]"])  # fmt: skip
    assert found.data() == {
        "command": "pytest 'x.py::test[a b]'", "versions": {"tvm": "0.27"}, "facts": [["first inference", "10 ms"]],
        "figures": [{"title": "GPU 0", "unit": "%", "mean": 7.0, "sd": None, "median": None, "samples": 1,
                     "remark": ""}],
        "rows": dict(found.rows),
    }  # fmt: skip
    assert of({"timing": {}}).command == ""
