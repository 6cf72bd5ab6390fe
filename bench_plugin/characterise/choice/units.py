"""Quantities as people write them (10ms, 64MB, 30/s, 1%) and as messages show them: every unit in one place."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from bench_plugin.domain.errors import UsageError

WRITTEN = re.compile(r"(?P<number>[+-]?\d*\.?\d*(?:[eE][+-]?\d+)?)\s*(?P<unit>\S*)")


@dataclass(frozen=True)
class Unit:
    """A kind of quantity: ``scales`` has the size of every unit in the base unit, the one that is computed with.

    ``shown`` are the units that messages use, the largest first. A number without a unit is taken where "" is one of
    the units. ``most`` is the largest value that makes sense, and ``meant`` says of a wrong unit what may be meant.
    """

    what: str
    scales: Mapping[str, float]
    shown: tuple[str, ...]
    example: str
    most: float = math.inf
    meant: Mapping[str, str] = field(default_factory=dict)

    def parse(self, text: str) -> float:
        """The quantity in the base unit.

        Raises UsageError for a text that is no number with a unit, and for a number that is negative or too large.

        >>> SECONDS.parse("10ms"), BYTES.parse("64MB"), BYTES.parse("64 MiB"), SHARE.parse("1%")
        (0.01, 64000000.0, 67108864.0, 0.01)
        """
        match = WRITTEN.fullmatch(text.strip())
        number = _number(match["number"]) if match else None
        if match is None or number is None:
            raise UsageError(f"{text!r} is not {self.what}; write it as in {self.example}")
        unit = match["unit"]
        if unit not in self.scales:
            raise UsageError(f"{text!r}: {self._wrong(unit)}")
        value = number * self.scales[unit]
        if value < 0 or value > self.most:
            most = "" if math.isinf(self.most) else f" and at most {self.show(self.most)}"
            raise UsageError(f"{text!r}: {self.what} is not negative{most}; write it as in {self.example}")
        return value

    def show(self, value: float) -> str:
        """The quantity with four digits, in the largest unit that leaves at least one before the point.

        >>> SECONDS.show(0.0104), BYTES.show(64e6), SHARE.show(0.0123), DOLLARS.show(1500)
        ('10.4 ms', '64 MB', '1.23 %', '1500 USD')
        """
        unit = next((one for one in self.shown if abs(value) >= self.scales[one]), self.shown[-1])
        return f"{value / self.scales[unit]:.4g} {unit}".replace(" /s", "/s")

    def _wrong(self, unit: str) -> str:
        known = ", ".join(one for one in self.scales if one)
        if not unit:
            return f"the unit is missing; write one of {known} behind the number, as in {self.example}"
        hint = self.meant.get(unit, "")
        return f"{unit} is no unit of {self.what}; {hint or f'write one of {known}, as in {self.example}'}"


def _number(text: str) -> float | None:
    """A finite number; None for what is none."""
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def _meant() -> dict[str, str]:
    """What a person may mean by a unit of bytes that is none, such as M, mb and Mb."""
    found: dict[str, str] = {}
    for prefix, decimal, binary in (("k", 10**3, 2**10), ("M", 10**6, 2**20), ("G", 10**9, 2**30)):
        right = f"write {prefix}B ({decimal:,} bytes) or {prefix.upper()}iB ({binary:,} bytes)"
        for letter in (prefix.lower(), prefix.upper()):
            found |= {letter: right, f"{letter}b": f"b stands for bits; {right}", f"{letter}B": right}
    return found


SECONDS = Unit(
    "a time", {"s": 1.0, "ms": 1e-3, "us": 1e-6, "µs": 1e-6, "ns": 1e-9, "min": 60.0}, ("s", "ms", "us", "ns"), "10ms"
)
BYTES = Unit(
    "a size in bytes",
    {"B": 1.0, "kB": 1e3, "KB": 1e3, "MB": 1e6, "GB": 1e9, "KiB": 2.0**10, "MiB": 2.0**20, "GiB": 2.0**30},
    ("GB", "MB", "kB", "B"), "64MB or 64MiB", meant=_meant(),
)  # fmt: skip
RATE = Unit("a rate", {"/s": 1.0, "": 1.0, "k/s": 1e3, "M/s": 1e6}, ("M/s", "k/s", "/s"), "30/s")
SHARE = Unit("a share of 1", {"": 1.0, "%": 0.01}, ("%",), "0.01 or 1%", most=1.0)
WATTS = Unit("a power", {"W": 1.0, "mW": 1e-3, "kW": 1e3}, ("W", "mW"), "5W")
JOULES = Unit("an energy", {"J": 1.0, "mJ": 1e-3, "uJ": 1e-6, "µJ": 1e-6}, ("J", "mJ", "uJ"), "5mJ")
DOLLARS = Unit("a price in US dollars", {"USD": 1.0, "": 1.0}, ("USD",), "150USD")
