"""Times of a program on a board: repeated runs, of which the board itself counts nanoseconds and instructions."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

Counted = Mapping[str, Sequence[int]]  # by counter, one figure for each run


class Plan(NamedTuple):
    """How much is measured: the fields of a call ``time`` that hold for a board (docs/contract.md)."""

    sampled: int = 0
    blocks: int = 10
    block_samples: int = 30
    seconds: float = 60.0

    @classmethod
    def of(cls, meta: Mapping[str, Any]) -> Plan:
        """The plan in the metadata of a call."""
        return cls(**{name: meta[name] for name in cls._fields if name in meta})


def repeated(run: Callable[[Sequence[Any]], Any], samples: Sequence[Sequence[Any]], plan: Plan) -> Iterator[int]:
    """Run ``samples`` in turn, block after block; gives the number of runs of each block.

    All of them take at most about the plan's seconds, on the clock of this machine.
    """
    until = time.monotonic() + plan.seconds
    index = 0
    for _ in range(plan.blocks):
        done = 0
        while done < plan.block_samples and (time.monotonic() < until or not index):
            run(samples[index % len(samples)])
            index, done = index + 1, done + 1
        if done:
            yield done


def instructions(counted: Counted) -> dict[str, Any]:
    """The instructions of the model's own call over all runs; empty where none were counted."""
    values = counted.get("instructions", ())
    if not values:
        return {}
    return {"median": int(statistics.median(values)), "min": min(values), "max": max(values), "n": len(values)}


def figures(nanoseconds: Sequence[int], first: int, blocks: Sequence[int], plan: Plan) -> dict[str, Any]:
    """The figures of the timed runs in seconds (docs/timing.md), from the board's own ``nanoseconds`` of each run.

    ``first`` are those of the first inference of all, ``blocks`` the runs of each block.
    """
    values = np.asarray(nanoseconds, dtype=np.float64) / 1e9
    ends = np.cumsum(blocks)
    medians = [float(np.median(values[end - count : end])) for end, count in zip(ends, blocks, strict=True)]
    caps = []
    if len(values) < plan.blocks * plan.block_samples:
        text = "a launch has a cap of %g s: %d samples of the board, not %d"
        caps.append(text % (plan.seconds, len(values), plan.blocks * plan.block_samples))
    return {
        "inner": 1, "block_samples": list(blocks), "warmup_blocks": 1, "settled": True, "block_medians": medians,
        "mean": float(values.mean()), "median": float(np.median(values)), "caps": caps, "per_second": None,
        "bare_ratio": None, "first_inference": first / 1e9, "clock": {"cost": 0.0, "resolution": 1e-9},
        "set": {"clock": "the board's own; what reading it costs is not known"},
    }  # fmt: skip
