"""What a row keeps of its launches so that it can be compared with another stored run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np

MADE_BY = ("workload", "python", "machine")


class Launched(Protocol):
    """A launch, as checks/performance/launches.py has it."""

    @property
    def said(self) -> Mapping[str, Any]:
        """The figures of the timed run."""

    @property
    def compute(self) -> Any:
        """Device seconds of single calls [n]."""


def stored_beside(compute: dict[str, Any], launches: Sequence[Launched]) -> dict[str, Any]:
    """Add ``launch_minima`` to the figures ``compute``; returns ``calibration``, by launch, where all have one.

    The minimum of a launch is its fastest call, of a fast model its fastest block, because a single call has the
    clock's cost.
    """
    minima = [fastest(one) for one in launches]
    if all(minima):
        compute["launch_minima"] = minima
    said = [one.said.get("calibration") or {} for one in launches]
    if not all(said):
        return {}
    return {
        "calibration": {**{name: said[0].get(name) for name in MADE_BY}, "seconds": [one["seconds"] for one in said]}
    }


def fastest(launch: Launched) -> float:
    """The fastest inference of a launch in seconds; 0 where there is none."""
    if int(launch.said.get("inner") or 1) > 1:
        return float(min(launch.said.get("block_medians") or [0.0]))
    return float(np.min(launch.compute)) if len(launch.compute) else 0.0
