"""What a timed cell measured, as the test of a user reads it: figures that say what they rest on where a test fails.

They come from ``numbers["timing"]`` and ``numbers["series"]`` of the cell's row (docs/results.md). A figure that was
not measured, or that the samples do not carry, raises an error that says what it would take.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench_plugin.compare.times.timing import PERCENTILES
from bench_plugin.domain.errors import BenchError, UsageError
from bench_plugin.session.deployed import Deployed

if TYPE_CHECKING:
    import numpy as np

    Samples = np.ndarray[Any, np.dtype[np.float64]]


class NotMeasured(BenchError):
    """A figure that this cell does not have, and what it would take."""


class EmulatedLatency(UsageError):
    """A latency was asked of an emulated board."""


class Seconds(float):
    """Seconds that say where they come from when an assertion prints them."""

    about: str

    def __new__(cls, value: float, about: str) -> Seconds:
        """``about`` is printed behind the value."""
        made = super().__new__(cls, value)
        made.about = about
        return made

    def __repr__(self) -> str:
        return f"{float(self):.4g} s ({self.about})"


@dataclass(frozen=True)
class Interval:
    """The 95 % interval of the median in seconds; ``kind`` says what was replicated: launches, or one run's blocks."""

    low: float
    high: float
    kind: str

    def __str__(self) -> str:
        return f"95 % interval of the median {self.low:.4g} to {self.high:.4g} s {self.kind}"


@dataclass(frozen=True, repr=False)
class Figures:
    """One of the three kinds of time: ``compute``, ``system`` or ``handshake``, all in seconds.

    ``said`` is what the row says of it, ``percentiles`` those that the samples carry.
    """

    name: str
    said: Mapping[str, Any]
    percentiles: Mapping[str, float]
    among: Mapping[str, Any] | None
    launches: int

    @property
    def n(self) -> int:
        """The number of samples of single calls."""
        return int(self.said["samples"])

    @property
    def mean(self) -> Seconds:
        """The mean."""
        return self._seconds("mean", self.said["mean"])

    @property
    def median(self) -> Seconds:
        """The median over the medians of the launches, around which the interval lies."""
        return self._seconds("median", self.said["median"])

    @property
    def minimum(self) -> Seconds:
        """The shortest sample."""
        return self._seconds("minimum", self.said["min"])

    @property
    def maximum(self) -> Seconds:
        """The longest sample."""
        return self._seconds("maximum", self.said["max"])

    @property
    def p50(self) -> Seconds:
        """The median of all samples of single calls."""
        return self._percentile("p50")

    @property
    def p90(self) -> Seconds:
        """The 90th percentile. Raises NotMeasured for less than 100 samples."""
        return self._percentile("p90")

    @property
    def p99(self) -> Seconds:
        """The 99th percentile. Raises NotMeasured for less than 1,000 samples."""
        return self._percentile("p99")

    @property
    def p999(self) -> Seconds:
        """The 99.9th percentile. Raises NotMeasured for less than 10,000 samples."""
        return self._percentile("p99.9")

    @property
    def interval(self) -> Interval:
        """The 95 % interval of the median. Raises NotMeasured for a figure without one, such as ``system``."""
        if self.among is None:
            raise NotMeasured(f"{self.name} has no interval: launches are the unit of replication of compute alone")
        return Interval(self.among["low"], self.among["high"], str(self.among["kind"]))

    def _percentile(self, name: str) -> Seconds:
        if name not in self.percentiles:
            least = PERCENTILES[name][1]
            raise NotMeasured(
                f"{self.name}: {name} needs {least:,} samples of single calls, there are {self.n:,}; a percentile that "
                "the samples do not carry is not estimated. --bench-profile full measures longer"
            )
        return self._seconds(name, self.percentiles[name])

    def _seconds(self, which: str, value: float) -> Seconds:
        return Seconds(float(value), f"{self.name} {which}; {self._basis()}")

    def _basis(self) -> str:
        launches = f"{self.launches} launch" if self.launches == 1 else f"{self.launches} launches"
        return "; ".join([*([str(self.interval)] if self.among else []), f"n = {self.n:,} in {launches}"])

    def __repr__(self) -> str:
        return f"<{self.name}: median {float(self.said['median']):.4g} s; {self._basis()}>"


class Series(Mapping[str, "Samples"]):
    """The samples by name, such as ``compute``: float64 [n], in seconds, one launch behind the other.

    They are read on first use from the files beside the results.
    """

    def __init__(self, folder: Path, files: Mapping[str, Mapping[str, Any]]) -> None:
        self._folder = folder
        self._files = {name: one for name, one in files.items() if one.get("file")}  # others are without a value

    def __getitem__(self, name: str) -> Samples:
        """The samples of one series. Raises KeyError for a name without one, OSError where its file is gone."""
        import numpy as np

        values: Samples = np.load(self._folder / self._files[name]["file"], allow_pickle=False)
        return values

    def __iter__(self) -> Iterator[str]:
        return iter(self._files)

    def __len__(self) -> int:
        return len(self._files)

    def __repr__(self) -> str:
        shown = (f"{name} ({one['samples']:,})" for name, one in self._files.items())
        return f"<series: {', '.join(shown) or 'none'}>"


class Measured:
    """The times of a deployed model; ``folder`` is where the files of its series are."""

    def __init__(self, deployed: Deployed, folder: Path) -> None:
        """Raises NotDeployed for a model that is not usable, NotMeasured where its row has no times."""
        deployed.require()
        self.deployed = deployed
        self.said: Mapping[str, Any] = deployed.numbers.get("timing") or {}
        self.series = Series(folder, deployed.numbers.get("series") or {})
        if not self.said and not deployed.emulated:
            raise NotMeasured(
                f"{deployed.cell.id}: nothing was measured on {deployed.target}; the check of this test is "
                f"{deployed.cell.check}, and timing is that of a test that names the fixture timing as an argument"
            )

    @property
    def compute(self) -> Figures:
        """Device time of the runtime's own call. Raises EmulatedLatency, or NotMeasured."""
        return self._figures("compute")

    @property
    def system(self) -> Figures:
        """Host time from a request to its outputs. Raises EmulatedLatency, or NotMeasured."""
        return self._figures("system")

    @property
    def handshake(self) -> Figures:
        """Host time between the two replies of a request. Raises EmulatedLatency, or NotMeasured."""
        return self._figures("handshake")

    @property
    def first_inference(self) -> Seconds:
        """Device time of the first inference, the median over launches. Raises EmulatedLatency, or NotMeasured."""
        self._no_emulator("first_inference")
        if "first_inference" not in self.said:
            raise NotMeasured(self._absent("first_inference"))
        return Seconds(float(self.said["first_inference"]), f"first inference, median of {self.launches} launches")

    @property
    def instructions(self) -> int:
        """Instructions of one inference (the median), exact where the emulator is deterministic. Raises NotMeasured."""
        counted = (self.said.get("instructions") or {}).get("median")
        if counted is None:
            raise NotMeasured(f"{self._absent('instructions')}; they are counted by emulated boards")
        return int(counted)

    @property
    def launches(self) -> int:
        """The number of fresh processes, or of resets of the board, that were measured."""
        return int(self.said.get("launches", 1))

    def _figures(self, name: str) -> Figures:
        self._no_emulator(name)
        said = self.said.get(name)
        if not said:
            raise NotMeasured(self._absent(name))
        own = self.said if name == "compute" else said
        return Figures(name, said, own.get("percentiles") or {}, own.get("interval"), self.launches)

    def _no_emulator(self, name: str) -> None:
        if self.deployed.emulated:
            raise EmulatedLatency(
                f"{self.deployed.target} is an emulated board, whose {name} is no latency of the device: it says how "
                "fast the emulator is; compare timing(deployed).instructions"
            )

    def _absent(self, name: str) -> str:
        have = [key for key in ("compute", "system", "handshake", "instructions") if self.said.get(key)]
        return f"{name} was not measured on {self.deployed.target}; measured: {', '.join(have) or 'nothing'}"

    def __repr__(self) -> str:
        if self.deployed.emulated or "compute" not in self.said:
            counted = f"{self.instructions:,} instructions" if self.said.get("instructions") else "no instructions"
            return f"<{self.deployed.cell.id} on {self.deployed.target}: {counted}>"
        return f"<{self.deployed.cell.id} on {self.deployed.target}: {self.compute!r}>"
