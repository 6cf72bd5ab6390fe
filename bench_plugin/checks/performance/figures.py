"""What a row says of the times of a cell: three figures that are never mixed, intervals, and the error budget."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from bench_plugin.checks.performance.against.stored import stored_beside
from bench_plugin.checks.performance.launches import Launch, Launches
from bench_plugin.compare.times.timing import autocorrelation, drift, interval, percentiles, spread

if TYPE_CHECKING:
    Series = np.ndarray[Any, np.dtype[np.float64]]

CLOSED_LOOP = "closed loop"
COPIED = ("instructions",)  # what a board says and the host does not compute


def figures(
    taken: Launches, *, threads: int, seed: int, emulated: bool = False, batch: int = 1, streams: int = 1
) -> dict[str, Any]:
    """``numbers["timing"]`` of a row (docs/timing.md); a figure that was not measured is absent. Times in seconds.

    Times are of calls of ``batch`` samples each, of which ``streams`` are under way at once; throughput is in samples
    per second. Of an ``emulated`` board there are none: its seconds are those of the emulator.
    """
    launches = [one for one in taken.launches if one.done.failure is None and one.said]
    if not launches:
        return {}
    said = [one.said for one in launches]
    found: dict[str, Any] = {name: said[0][name] for name in COPIED if said[0].get(name) is not None}
    caps = [*dict.fromkeys(cap for one in said for cap in one.get("caps", ())), *taken.caps]
    found |= {"launches": len(launches), "caps": caps, "seed": seed, "inputs": said[0].get("inputs")}
    found["conditions"] = {
        "threads": threads, **({"load_before": taken.load._asdict()} if taken.load else {}),
        **(said[0].get("set") or {}),
    }  # fmt: skip
    medians = [float(one["median"]) for one in said if one.get("median")]
    if emulated or not medians:
        return found
    singles = np.concatenate([one.compute for one in launches])
    within = interval(medians, launches[0].compute)
    found["compute"] = _compute(said, medians, launches)
    found |= stored_beside(found["compute"], launches)
    found["interval"] = within.plain()
    found["percentiles"] = percentiles(singles)
    found["first_inference"] = float(np.median([one["first_inference"] for one in said]))
    rates = [float(one["per_second"]) for one in said if one.get("per_second")]
    if rates:
        found["throughput"] = {"per_second": batch * float(np.mean(rates)), "kind": CLOSED_LOOP, "clients": streams}
    host = {
        "system": [one.requests.system for one in launches],
        "handshake": [one.requests.handshake for one in launches],
    }
    found |= {name: one for name, arrays in host.items() if (one := _host(arrays))}
    if "system" in found:
        found["system"]["by"] = launches[0].requests.by
    found["error_budget"] = _budget(said, medians, within.half_width)
    return found


def series(taken: Launches) -> dict[str, Series]:
    """The samples of all launches, one behind the other, in seconds: ``compute``, ``system``, ``handshake`` [n]."""
    whole = {
        "compute": [one.compute for one in taken.launches],
        "system": [one.requests.system for one in taken.launches],
        "handshake": [one.requests.handshake for one in taken.launches],
    }  # fmt: skip
    joined = {name: np.concatenate(arrays) for name, arrays in whole.items()}
    return {name: values for name, values in joined.items() if len(values)}


def _compute(said: Sequence[Mapping[str, Any]], medians: list[float], launches: Sequence[Launch]) -> dict[str, Any]:
    """Device time of the runtime's own call."""
    singles = np.concatenate([one.compute for one in launches])
    return {
        "median": float(np.median(medians)), "mean": float(np.mean([one["mean"] for one in said])),
        "min": float(singles.min()), "max": float(singles.max()), "mad": spread(singles), "samples": len(singles),
        "launch_medians": medians, "launch_samples": [len(one.compute) for one in launches],
        "inner": said[0]["inner"], "smallest_block": min(min(one["block_samples"]) for one in said),
        "settled": all(one["settled"] for one in said),
        "warmup_blocks": [one["warmup_blocks"] for one in said],
        "autocorrelation": _mean([autocorrelation(one.compute) for one in launches]),
    }  # fmt: skip


def _host(launches: Sequence[Series]) -> dict[str, Any]:
    """The host's times [n] of each launch; empty where none were taken."""
    values = np.concatenate(launches)
    if not len(values):
        return {}
    return {
        "median": float(np.median([np.median(one) for one in launches if len(one)])),
        "mean": float(values.mean()), "min": float(values.min()), "max": float(values.max()), "mad": spread(values),
        "samples": len(values), "percentiles": percentiles(values),
    }  # fmt: skip


def _budget(said: Sequence[Mapping[str, Any]], medians: list[float], half_width: float) -> dict[str, Any]:
    """The parts of the uncertainty of the median, each as a share of it (docs/timing.md)."""
    centre = float(np.median(medians))
    cost = float(np.median([one["clock"]["cost"] for one in said]))
    drifts = [drift(one["block_medians"]) for one in said]
    bare = [one["bare_ratio"] for one in said if one.get("bare_ratio")]
    per_sample = max(int(said[0]["inner"]), 1)
    return {
        "clock_cost": cost, "clock_share": cost / per_sample / centre, "single_call_clock_share": cost / centre,
        "drift": _mean(drifts), "largest_drift": max((abs(one) for one in drifts if one is not None), default=None),
        "spread_over_launches": float(np.std(medians, ddof=1) / np.mean(medians)) if len(medians) > 1 else None,
        "half_width": half_width, "bare_loop_ratio": float(np.median(bare)) if bare else None,
    }  # fmt: skip


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return float(np.mean(known)) if known else None
