"""A timed run in the agent is recorded: series beside the outputs, windows of power where there is a meter, repeats."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import numpy as np

from bench_plugin.agent.arrays import from_numpy, to_numpy
from bench_plugin.agent.contract import Place, TimeCall
from bench_plugin.agent.toolkit import samples

X = np.arange(12, dtype=np.float32).reshape(6, 2)
SHORT = {"batched": True, "blocks": 2, "block_seconds": 0.2, "block_samples": 2, "seconds": 0.4, "warmup_seconds": 0.1}


def timed(run: Any, **fields: Any) -> Any:
    call = TimeCall(**{**SHORT, **fields}).at(Place("", {}, {"in:x": from_numpy(X)}, lambda stage: None))
    call.prepare()
    return samples.answered(call, run, list(call.inputs.values()))


def double(xs: list[Any]) -> list[Any]:
    return [xs[0] * 2]


def test_the_reply_has_series_of_sensors_beside_the_times() -> None:
    reply = timed(double)
    said = reply.meta["timing"]["telemetry"]
    assert said["series"]["memory.rss"]["samples"] == len(to_numpy(reply.arrays["series:memory.rss"])) > 0
    assert "series:compute" in reply.arrays and said["phases"] == [] and said["machine"]["cores"]


def test_a_meter_gives_windows_with_inferences_and_without(tmp_path: Path) -> None:
    meter = tmp_path / "power1_input"
    meter.write_text("5250000\n")
    reply = timed(double, meter=str(meter), power_seconds=0.3)
    said = reply.meta["timing"]["telemetry"]
    base, full, idle = said["phases"]
    assert [phase["name"] for phase in said["phases"]] == ["base", "full", "idle"]
    assert base["begin"] >= 0 and base["end"] - base["begin"] >= 0.3 and full["begin"] >= base["end"]
    assert full["inferences"] > 0 and 0 < full["busy"] <= full["end"] - full["begin"] and idle["begin"] >= full["end"]
    assert said["series"]["power.board"]["unit"] == "W"
    times = to_numpy(reply.arrays["series:power.board.time"])
    assert set(to_numpy(reply.arrays["series:power.board"])) == {5.25} and (np.diff(times) > 0).all()
    for phase in said["phases"]:
        assert ((times >= phase["begin"]) & (times <= phase["end"])).any(), phase["name"]


def test_without_a_meter_no_time_is_spent_on_windows() -> None:
    assert timed(double, meter="/nowhere/power1_input", power_seconds=60.0).meta["timing"]["telemetry"]["phases"] == []


def test_outputs_of_timed_inferences_are_made_again_and_compared() -> None:
    assert timed(double).meta["timing"]["repeats"]["identical"] is True
    calls = itertools.count()
    varying = timed(lambda xs: [xs[0] * 2 + next(calls)]).meta["timing"]["repeats"]
    assert varying["identical"] is False and varying["compared"] == varying["differ"] == len(X)


def test_without_sensors_there_are_times_and_outputs_alone() -> None:
    """A launch of many layers: the process that reads sensors would take longer than a layer is timed."""
    reply = timed(double, sensors=False)
    said = reply.meta["timing"]
    assert said["median"] > 0 and not {"telemetry", "repeats"} & set(said)
    assert [name for name in reply.arrays if name.startswith("series:")] == ["series:compute"]
    assert (to_numpy(reply.arrays["out0"]) == 2 * X).all()
