"""The page of one deployment: everything that was recorded over time, its statistics, and figures of its task."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bench_plugin.compare.quality import classification
from bench_plugin.report.entries import Entry
from bench_plugin.report.pictures import svg
from bench_plugin.report.pictures.deployment import PICTURES, deployment, specifications
from bench_plugin.report.pictures.traces import decimated, gaps, traces
from bench_plugin.results.series import described, keep
from tests.report.pictures.drawing import marks, texts
from tests.report.pictures.made import axes, entries, power, quality, timing

Array = np.ndarray[Any, Any]
COMPUTE = np.array([0.002, 0.004, 0.003, 0.003])
TIMES = np.array([0.0, 1.0, 2.0, 3.0])


def recorded(folder: Path, **more: Array) -> Entry:
    """A timed deployment with side files: CPU, RAM, GPU, GPU memory and the samples of compute."""
    series = {
        "cpu": np.array([50.0, 100.0, 150.0, 100.0]), "memory.rss": np.array([1.0, 2.0, 3.0, 4.0]) * 2**20,
        "gpu0.use": np.array([10.0, 20.0, 30.0, 40.0]), "gpu0.memory": np.array([2.0, 2.0, 2.0, 2.0]) * 2**20, **more,
    }  # fmt: skip
    units = {
        "cpu": "%",
        "memory.rss": "B",
        "gpu0.use": "%",
        "gpu0.memory": "B",
        "power.board": "W",
        "clock.core0": "Hz",
    }
    arrays = {
        name: values for one, values in series.items() for name, values in ((one, values), (f"{one}.time", TIMES))
    }
    kept = keep(folder, {"compute": COMPUTE, **arrays})
    about = {name: {"unit": units[name], "place": "somewhere"} for name in series}
    (one,) = entries(
        timing(
            axes(), 0.003, 333.0, numbers={"series": described(kept, about), **power(2.0, 2.5, 6.0)},
            versions={"apache-tvm": "0.27"}, repro=["test.py::test_timing[a b]", "--bench-models=digits"],
        )
    )  # fmt: skip
    one.numbers["timing"] |= {"first_inference": 0.01, "percentiles": {"p90": 0.004}}
    one.numbers["timing"]["compute"]["launch_samples"] = [2, 2]
    return one


def test_every_series_has_mean_standard_deviation_and_median(tmp_path: Path) -> None:
    one = recorded(tmp_path)
    found = deployment(one, traces(tmp_path / "results.jsonl", one))
    shown = {figure.title: (figure.unit, figure.mean, figure.sd, figure.median) for figure in found.figures}
    assert shown == {
        "inference time, compute": ("ms", 3.0, pytest.approx(0.8165), 3.0),
        "CPU of the process tree": ("%", 100.0, pytest.approx(40.825), 100.0),
        "RAM, resident": ("MiB", 2.5, pytest.approx(1.291), 2.5),
        "GPU 0": ("%", 25.0, pytest.approx(12.91), 25.0), "GPU memory 0": ("MiB", 2.0, 0.0, 2.0),
    }  # fmt: skip
    assert found.command == "pytest 'test.py::test_timing[a b]' --bench-models=digits"
    assert dict(found.versions) == {"apache-tvm": "0.27"}
    assert ("first inference", "10 ms") in found.facts and ("p90", "4 ms") in found.facts
    assert ("throughput, closed loop", "333 inputs/s") in found.facts
    json.dumps(found.data(), allow_nan=False)


def test_what_has_no_gpu_says_so_and_cores_are_in_the_table_only(tmp_path: Path) -> None:
    kept = keep(tmp_path, {"cpu.core0": np.array([1.0, 2.0]), "cpu.core0.time": np.array([0.0, 1.0])})
    (one,) = entries(timing(axes(), numbers={"series": described(kept, {"cpu.core0": {"unit": "%"}})}))
    found = deployment(one, traces(tmp_path / "results.jsonl", one))
    assert [figure.title for figure in found.figures] == ["cpu.core0", "GPU", "GPU memory"]
    assert "no GPU was seen" in found.figures[1].remark and "over-time" not in found.rows


def test_series_are_drawn_with_their_statistics_above(tmp_path: Path) -> None:
    one = recorded(tmp_path, **{"power.board": np.array([5.0, 6.0, 7.0, 6.0]), "clock.core0": np.ones(4) * 1e9})
    rows = deployment(one, traces(tmp_path / "results.jsonl", one)).rows
    drawn = svg.drawn(specification("over-time"), rows["over-time"])
    assert marks(drawn)["line"] == 5  # five series, one line each; the clock is in the table only
    assert "CPU of the process tree, %: mean 100, sd 40.82, median 100" in texts(drawn)
    times = rows["inference-time"][0]
    assert (times["values"], times["launches"]) == ([2.0, 4.0, 3.0, 3.0], ["1", "1", "2", "2"])
    assert marks(svg.drawn(specification("inference-time"), rows["inference-time"]))["line"] == 2  # one for each launch


def test_a_side_file_that_is_gone_is_said_beside_the_figures_of_the_row(tmp_path: Path) -> None:
    one = recorded(tmp_path)
    one.numbers["series"]["cpu"] |= {"mean": 99.0, "sd": 1.0, "median": 98.0}
    (tmp_path / one.numbers["series"]["cpu"]["file"]).unlink()
    found = deployment(one, traces(tmp_path / "results.jsonl", one))
    cpu = next(figure for figure in found.figures if figure.title.startswith("CPU"))
    assert (cpu.mean, cpu.sd, cpu.median) == (99.0, 1.0, 98.0) and "is missing" in cpu.remark
    assert [record["series"] for record in found.rows["over-time"]] == ["memory.rss", "gpu0.memory", "gpu0.use"]


def test_a_long_series_keeps_its_extremes_and_its_statistics(tmp_path: Path) -> None:
    values = np.random.default_rng(0).normal(100.0, 5.0, 20_000)
    values[7_000], values[13_000] = 300.0, 1.0
    kept = keep(tmp_path, {"cpu": values, "cpu.time": np.arange(20_000) * 0.05})
    (one,) = entries(timing(axes(), numbers={"series": described(kept, {"cpu": {"unit": "%"}})}))
    trace = traces(tmp_path / "results.jsonl", one)["cpu"]
    assert len(trace.times) == len(trace.values) <= 500 and trace.samples == 20_000
    assert {300.0, 1.0} <= set(trace.values) and list(trace.times) == sorted(trace.times)
    assert (trace.mean, trace.sd) == (pytest.approx(values.mean()), pytest.approx(values.std(ddof=1)))
    assert trace.median == pytest.approx(np.median(values))


def test_nothing_is_drawn_between_launches(tmp_path: Path) -> None:
    when = np.concatenate([np.arange(10) * 0.1, 60 + np.arange(10) * 0.1])
    kept = keep(tmp_path, {"cpu": np.ones(20), "cpu.time": when})
    (one,) = entries(timing(axes(), numbers={"series": described(kept, {"cpu": {"unit": "%"}})}))
    trace = traces(tmp_path / "results.jsonl", one)["cpu"]
    assert trace.values[10] is None and trace.times[10] == pytest.approx(30.45) and len(trace.values) == 21
    assert gaps(np.zeros(1)) == [] and gaps(np.zeros(9)) == []


@pytest.mark.parametrize("count", [0, 1, 499, 500, 501, 1000, 1001, 12_345])
def test_decimation_keeps_the_extremes_and_never_more_than_it_may(count: int) -> None:
    values = (np.arange(count) * 7919.0) % 1009
    places = decimated(values, 500)
    assert len(places) == min(count, 500) and places == sorted(set(places))
    assert not count or (values[places].max(), values[places].min()) == (values.max(), values.min())


def test_an_emulated_deployment_has_no_times(tmp_path: Path) -> None:
    kept = keep(tmp_path, {"compute": COMPUTE})
    (one,) = entries(timing(axes(), numbers={"series": described(kept, {})}, placement={"timing": "emulated"}))
    found = deployment(one, traces(tmp_path / "results.jsonl", one))
    assert not found.facts and not found.rows and not [one for one in found.figures if one.unit == "ms"]


def classifier() -> Entry:
    """A model that puts four of six inputs into the right one of three classes."""
    labels, answers = np.array([0, 0, 0, 1, 1, 2]), np.array([0, 0, 1, 1, 2, 2])
    figures = classification(np.eye(3)[answers], labels, 3)
    (one,) = entries(quality(axes(), 0.0, numbers={**figures, "drop": {"top1": 0.0125}}))
    return one


def detector() -> Entry:
    """A detection model with a curve of one class, and one without points of another."""
    curves = {
        "cat": {"recall": [0.0, 0.5, 1.0], "precision": [1.0, 0.9, 0.4]},
        "dog": {"recall": [0.5], "precision": []},
    }
    means = {"overlap": [0.5, 0.75, 0.95], "mean": [0.8, 0.6, 0.1]}
    (one,) = entries(quality(axes("boxes"), 0.0, numbers={"recall_precision": curves, "average_precision": means}))
    return one


def test_a_classifier_has_its_figures_its_classes_and_its_confusion_matrix() -> None:
    found = deployment(classifier())
    assert found.facts == (
        ("accuracy (top-1)", "66.67%"), ("top-5", "100.00%"), ("mean precision", "66.67%"),
        ("mean sensitivity", "72.22%"), ("G-mean", "69.34%"), ("accuracy lost", "+1.25%"),
    )  # fmt: skip
    assert [record["count"] for record in found.rows["confusion"]] == [[2, 1, 0], [0, 1, 1], [0, 0, 1]]
    assert found.rows["confusion"][0]["share"] == [pytest.approx(2 / 3, abs=1e-4), pytest.approx(1 / 3, abs=1e-4), 0.0]


def test_a_matrix_of_too_many_classes_or_without_a_square_is_not_drawn() -> None:
    for matrix in ([[1] * 51] * 51, [[1, 2], [3]], [], "text", [["x"]]):
        assert "confusion" not in deployment(*entries(quality(axes(), 0.5, numbers={"confusion": matrix}))).rows


def test_a_detection_model_has_its_curves_where_its_row_holds_them() -> None:
    rows = deployment(detector()).rows
    assert [record["class"] for record in rows["recall-precision"]] == ["cat"]
    assert rows["thresholds"][1] == {"overlap": 0.75, "mean": 0.6}


def test_the_pictures_of_a_classifier_and_of_a_detector_are_drawn() -> None:
    rows = deployment(classifier()).rows
    drawn = svg.drawn(specification("confusion"), rows["confusion"])
    assert marks(drawn)["rect"] == marks(drawn)["text"] == 5  # fields with an input
    assert marks(svg.drawn(specification("classes"), rows["classes"]))["symbol"] == 6  # 3 classes, two figures
    rows = deployment(detector()).rows
    assert marks(svg.drawn(specification("recall-precision"), rows["recall-precision"]))["line"] == 1
    assert marks(svg.drawn(specification("thresholds"), rows["thresholds"]))["symbol"] == 3


def test_power_is_said_for_every_phase() -> None:
    meters = power(2.0, 2.5, 6.0)
    for figure in ("base", "idle", "full"):
        meters["power"]["power.board"][figure] |= {"min": 1.0, "max": 7.0}
    meters["power"]["power.board"]["energy_per_inference"] = {"with_idle": 0.012, "above_idle": 0.002}
    (one,) = entries(timing(axes(), numbers=meters))
    said = dict(deployment(one).facts)
    assert said["power, full load: power.board (socket)"] == "6 W (1 to 7)"
    assert said["energy per inference, above idle: power.board (socket)"] == "2 mJ"


def test_specifications_are_once_for_all_deployments_and_describe_themselves() -> None:
    for module, one in zip(PICTURES, specifications(), strict=True):
        assert one["name"] == module.NAME and one["question"].endswith("?")
        assert len(one["specification"]["description"]) > 60 and one["specification"]["data"] == {"name": "rows"}


def specification(name: str) -> dict[str, Any]:
    found: dict[str, Any] = next(one["specification"] for one in specifications() if one["name"] == name)
    return found
