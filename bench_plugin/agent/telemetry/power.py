"""Power in watts: meters of hwmon and IIO, current and voltage of INA chips, and the energy counters of RAPL.

The place of a meter is as its driver names it: a rail, the package of the processor, or the whole platform (``psys``).
"""

from __future__ import annotations

import os
from typing import Dict, List, Mapping, NamedTuple, Optional

from bench_plugin.agent.telemetry.reader import Channel, Gauge, Gauges, answers, number, numbered, said, taken

PERIOD = 0.05  # seconds
COUNTER = "energy_uj"  # the name of the file of an energy counter
RAPL_HZ = 1000.0  # the processor updates the counters about once in a millisecond


def meters(root: str, path: str = "") -> Gauges:
    """``power.hwmon0.power1`` ..., and ``power.board`` for the meter at ``path`` that the board's description names.

    The files of hwmon are in microwatts, those of IIO in milliwatts; the file at ``path`` is one of these. An energy
    counter there is for :class:`Rapl`.
    """
    gauges = {**_hwmon(root), **_iio(root)}
    if path and os.path.basename(path) != COUNTER:
        file = os.path.join(root, path.lstrip("/"))
        factor = 1e-3 if os.path.basename(path).startswith("in_power") else 1e-6
        gauges = {name: gauge for name, gauge in gauges.items() if gauge.path != file}
        gauges["power.board"] = Gauge(_channel(file, os.path.dirname(file), "power1", "board"), file, factor)
    return Gauges(gauges, PERIOD)


def _hwmon(root: str) -> Dict[str, Gauge]:
    found = {}
    for index, chip in numbered(os.path.join(root, "sys/class/hwmon"), "hwmon"):
        for kind in ("_average", "_input"):  # the value of the moment counts where a meter has both
            for meter, path in numbered(chip, "power", kind):
                label = said(os.path.join(chip, "power%d_label" % meter))
                channel = _channel(path, chip, "power%d" % meter, label)
                found["power.hwmon%d.power%d" % (index, meter)] = Gauge(channel, path, 1e-6)
    return found


def _iio(root: str) -> Dict[str, Gauge]:
    found = {}
    for index, device in numbered(os.path.join(root, "sys/bus/iio/devices"), "iio:device"):
        for meter, path in numbered(device, "in_power", "_input"):
            rail = said(os.path.join(device, "rail_name_%d" % meter))
            found["power.iio%d.power%d" % (index, meter)] = Gauge(_channel(path, device, "", rail), path, 1e-3)
    return found


def _channel(path: str, chip: str, meter: str, label: str) -> Channel:
    """The description of a meter, with the rate and accuracy that the driver tells (Linux: Documentation/hwmon)."""
    place = " ".join(word for word in (said(os.path.join(chip, "name")), label) if word)
    interval = said(os.path.join(chip, "update_interval")) or said(os.path.join(chip, meter + "_average_interval"))
    hz = 1000.0 / float(interval) if interval.isdigit() and int(interval) else None
    return Channel("W", path, place, hz, said(os.path.join(chip, meter + "_accuracy")))


class _Rail(NamedTuple):
    """A rail whose chip gives voltage (mV) and current (mA), but no power."""

    volts: str
    amperes: str


class Rails:
    """Power of rails as the product of voltage and current: chips such as the INA3221 of a Jetson."""

    period = PERIOD

    def __init__(self, root: str) -> None:
        self.ended: Dict[str, str] = {}
        self._rails: Dict[str, _Rail] = {}
        self.channels: Mapping[str, Channel] = self._found(root)

    def read(self, now: float) -> Dict[str, float]:
        """``power.hwmon0.curr1`` ... in watts."""
        found = {}
        for name, rail in self._rails.items():
            if name not in self.ended:
                value = taken(self.ended, [name], lambda rail=rail: number(rail.volts) * number(rail.amperes))  # type: ignore[misc]
                if value is not None:
                    found[name] = value * 1e-6
        return found

    def _found(self, root: str) -> Dict[str, Channel]:
        channels = {}
        for index, chip in numbered(os.path.join(root, "sys/class/hwmon"), "hwmon"):
            if numbered(chip, "power", "_input"):
                continue  # the chip multiplies itself
            for rail, amperes in numbered(chip, "curr", "_input"):
                volts = os.path.join(chip, "in%d_input" % rail)
                if answers(volts) and answers(amperes):
                    name = "power.hwmon%d.curr%d" % (index, rail)
                    self._rails[name] = _Rail(volts, amperes)
                    label = said(os.path.join(chip, "in%d_label" % rail))
                    channels[name] = _channel(amperes, chip, "curr%d" % rail, label)
        return channels


class _Counter(NamedTuple):
    """An energy counter of RAPL: the file in microjoules, and the value at which it begins again at 0."""

    path: str
    most: float


class Rapl:
    """Power from the energy counters of the processor (powercap), which wrap around.

    The counter at ``path``, if it is one, is ``power.board``.
    """

    period = PERIOD

    def __init__(self, root: str, now: float, path: str = "") -> None:
        self.ended: Dict[str, str] = {}
        self._counters: Dict[str, _Counter] = {}
        self._before: Dict[str, float] = {}
        self._when = {}  # type: Dict[str, float]
        channels = {}
        own = os.path.join(root, os.path.dirname(path).lstrip("/")) if os.path.basename(path) == COUNTER else ""
        folders = _zones(os.path.join(root, "sys/class/powercap"))
        for folder in [*folders, own] if own and own not in folders else folders:
            file = os.path.join(folder, COUNTER)
            value = taken({}, [], lambda file=file: number(file))  # type: ignore[misc]
            if value is not None:  # only root may read them on most systems
                name = "power.board" if folder == own else "power.%s" % os.path.basename(folder).replace(":", ".")
                most = said(os.path.join(folder, "max_energy_range_uj"))
                self._counters[name] = _Counter(file, float(most) if most.isdigit() else 0.0)
                self._before[name], self._when[name] = value, now
                accuracy = "a counter of the processor; its error is not stated"
                channels[name] = Channel("W", file, said(os.path.join(folder, "name")), RAPL_HZ, accuracy)
        self.channels: Mapping[str, Channel] = channels

    def read(self, now: float) -> Dict[str, float]:
        """``power.intel-rapl.0`` ...: the mean power since the last reading, in watts."""
        found = {}
        for name, counter in self._counters.items():
            if name in self.ended or now <= self._when[name]:
                continue
            value = taken(self.ended, [name], lambda path=counter.path: number(path))  # type: ignore[misc]
            if value is None:
                continue
            used = spent(self._before[name], value, counter.most)
            if used is not None:
                found[name] = used * 1e-6 / (now - self._when[name])
            self._before[name], self._when[name] = value, now
        return found


def spent(before: float, after: float, most: float) -> Optional[float]:
    """The difference of two readings of a counter that begins again at 0 behind ``most``.

    None where it went backwards and ``most`` is not known (0).

    >>> spent(90.0, 10.0, 100.0)
    20.0
    """
    if after >= before:
        return after - before
    return after - before + most if most >= before else None


def _zones(folder: str) -> List[str]:
    """The zones of RAPL, such as ``intel-rapl:0``, and those below them, such as ``intel-rapl:0:1``."""
    try:
        entries = sorted(os.listdir(folder))
    except OSError:
        return []
    return [os.path.join(folder, entry) for entry in entries if entry.startswith("intel-rapl:")]
