"""What the launches of a timed cell recorded, joined: series over the whole timing, power figures, and the machine.

Every launch is a pair, as an agent answers it (agent/telemetry/recording.py): what it says of its series, and arrays
``series:<name>`` and ``series:<name>.time``, float64 [n].
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from bench_plugin.compare.times.power import NoFigure, Window, figure, per_inference, steady_part

if TYPE_CHECKING:
    Series = np.ndarray[Any, np.dtype[np.float64]]
    Launch = tuple[Mapping[str, Any], Mapping[str, Series]]

PREFIX = "series:"
TIME = ".time"
PHASES = ("base", "idle", "full")
OF_SENSORS = ("unit", "source", "place", "hz", "accuracy")
THERMAL = "degC"
POWER = "W"


@dataclass(frozen=True)
class Recorded:
    """Joined series of all launches.

    arrays: values [n] by name, and their times [n] in seconds since the first launch began, under ``<name>.time``.
    about: what is known of each series, for ``numbers["series"]`` of a row.
    numbers: further keys of ``numbers``: ``power``, ``machine``, ``sampler``; those that nothing is known of are left
        out.
    """

    arrays: dict[str, Series]
    about: dict[str, dict[str, Any]]
    numbers: dict[str, Any]


def recorded(launches: Sequence[Launch]) -> Recorded:
    """The launches of a cell in the order of time; those that recorded nothing are left out."""
    known = [(said, arrays) for said, arrays in launches if said]
    if not known:
        return Recorded({}, {}, {})
    first = min(float(said.get("began", 0.0)) for said, _ in known)
    arrays: dict[str, Series] = {}
    about: dict[str, dict[str, Any]] = {}
    for name in dict.fromkeys(name for said, _ in known for name in said["series"]):
        times, values = _joined(name, known, first)
        sensors = [said["series"][name] for said, _ in known if name in said["series"]]
        about[name] = {**_sensor(sensors), **summary(values)}
        if len(values):
            arrays[name], arrays[name + TIME] = values, times
    numbers: dict[str, Any] = {"machine": _machine(known), "sampler": _samplers(known)}
    power = _power(known, about)
    if power:
        numbers["power"] = power
    return Recorded(arrays, about, numbers)


def summary(values: Series) -> dict[str, Any]:
    """``samples``, and of values [n], n > 0, ``mean``, ``sd`` (of the sample, n > 1), ``median``, ``min``, ``max``."""
    found: dict[str, Any] = {"samples": len(values)}
    if len(values):
        found |= {name: float(getattr(np, name)(values)) for name in ("mean", "median", "min", "max")}
    if len(values) > 1:
        found["sd"] = float(values.std(ddof=1))
    return found


def _joined(name: str, launches: Sequence[Launch], first: float) -> tuple[Series, Series]:
    times, values = [np.zeros(0)], [np.zeros(0)]
    for said, arrays in launches:
        if PREFIX + name in arrays:
            times.append(arrays[PREFIX + name + TIME] + (float(said.get("began", 0.0)) - first))
            values.append(arrays[PREFIX + name])
    return np.concatenate(times), np.concatenate(values)


def _sensor(said: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """What launches say of one sensor, and in how many of them it went away, with the first reason."""
    found = {key: said[0][key] for key in OF_SENSORS if key in said[0]}
    ended = [one["ended"] for one in said if "ended" in one]
    if ended:
        found["ended"] = {**ended[0], "launches": len(ended)}
    return found


def _machine(launches: Sequence[Launch]) -> dict[str, Any]:
    """The machine before the first launch, the clocks that any launch saw, and how often it throttled in all."""
    found = dict(launches[0][0].get("machine", {}))
    clocks = [said["machine"]["clock_seen_hz"] for said, _ in launches if "clock_seen_hz" in said.get("machine", {})]
    if clocks:
        found["clock_seen_hz"] = [min(low for low, _ in clocks), max(high for _, high in clocks)]
    throttled: dict[str, int] = {}
    for said, _ in launches:
        for name, count in said.get("throttled", {}).items():
            throttled[name] = throttled.get(name, 0) + count
    return {**found, "throttled": throttled} if throttled else found


def _samplers(launches: Sequence[Launch]) -> dict[str, Any]:
    """What sampling cost: the largest share of a core over the launches, late ticks, and why there are no series."""
    costs = [said.get("sampler", {}) for said, _ in launches]
    found: dict[str, Any] = {"hz": next((cost["hz"] for cost in costs if "hz" in cost), None)}
    found["late"] = sum(int(cost.get("late", 0)) for cost in costs)
    found["share"] = max((float(cost["share"]) for cost in costs if "share" in cost), default=None)
    failed = [str(cost["failed"]) for cost in costs if "failed" in cost]
    if failed:
        found["failed"] = {"launches": len(failed), "first": failed[0]}
    return {name: value for name, value in found.items() if value is not None}


def _power(launches: Sequence[Launch], about: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """The figures of every meter: of each phase from the first launch that gives one, else why none does."""
    meters = [name for name, one in about.items() if one.get("unit") == POWER]
    return {name: _of_meter(name, launches, about) for name in meters}


def _of_meter(name: str, launches: Sequence[Launch], about: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {key: about[name][key] for key in ("place", "hz", "accuracy") if key in about[name]}
    missing: dict[str, str] = {}
    for phase in PHASES:
        for said, arrays in launches:
            try:
                found[phase] = _of_phase(name, phase, said, arrays)
                missing.pop(phase, None)
                break
            except NoFigure as error:
                missing.setdefault(phase, str(error))
    idle = found["idle"]["mean"] if "idle" in found else None
    for said, arrays in launches:
        try:
            found["energy_per_inference"] = _energy(name, said, arrays, idle)
            missing.pop("energy_per_inference", None)
            break
        except NoFigure as error:
            missing.setdefault("energy_per_inference", str(error))
    return {**found, "absent": missing} if missing else found


def _of_phase(name: str, phase: str, said: Mapping[str, Any], arrays: Mapping[str, Series]) -> dict[str, float]:
    window, _ = _window(phase, said)
    times, watts = _series(name, arrays)
    temperatures = {
        one: _series(one, arrays) for one, about in said["series"].items()
        if about.get("unit") == THERMAL and PREFIX + one in arrays
    }  # fmt: skip
    figure(times, watts, window)  # says first what is wrong with the window itself
    return figure(times, watts, steady_part(temperatures, window))


def _energy(name: str, said: Mapping[str, Any], arrays: Mapping[str, Series], idle: float | None) -> dict[str, float]:
    window, phase = _window("full", said)
    if "inferences" not in phase:
        raise NoFigure("the inferences of the window were not counted")
    times, watts = _series(name, arrays)
    figure(times, watts, window)
    inferences, busy = int(phase["inferences"]), float(phase.get("busy", 0.0))
    return per_inference(times, watts, window, inferences=inferences, busy=busy, idle=idle)


def _window(name: str, said: Mapping[str, Any]) -> tuple[Window, Mapping[str, Any]]:
    for phase in said.get("phases", ()):
        if phase["name"] == name:
            return Window(float(phase["begin"]), float(phase["end"])), phase
    raise NoFigure("it was not taken")


def _series(name: str, arrays: Mapping[str, Series]) -> tuple[Series, Series]:
    if PREFIX + name not in arrays:
        raise NoFigure("the meter gave no reading")
    return arrays[PREFIX + name + TIME], arrays[PREFIX + name]
