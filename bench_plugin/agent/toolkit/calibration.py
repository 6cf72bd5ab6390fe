"""The calibration workload: always the same work, timed beside the model, which says how fast the machine was then.

Two stored runs are compared through it (docs/comparison.md). It needs the standard library only: a hash, which counts
instructions; a copy, which moves memory; a loop of the interpreter, which branches.
"""

from __future__ import annotations

import hashlib
import platform
import time
from typing import Callable, Dict

from bench_plugin.agent.link.identity import machine_id

WORKLOAD = "sha256 of 64 KiB, copy of 1 MiB, loop of 2,000; version 1"
ROUNDS = 30
HASHED, COPIED, LOOPS = 64 << 10, 1 << 20, 2000


class Calibration:
    """The workload with its buffers; :meth:`take` is called before and after a timing, and the fastest round counts."""

    def __init__(self, clock: Callable[[], int] = time.perf_counter_ns) -> None:
        self._clock = clock
        self._hashed, self._copied = bytes(HASHED), bytearray(COPIED)
        self._fastest = 0

    def take(self, rounds: int = ROUNDS) -> None:
        """Time that many rounds, of about a third of a millisecond each."""
        for _ in range(rounds):
            begin = self._clock()
            hashlib.sha256(self._hashed).digest()
            bytes(self._copied)
            total = 0
            for number in range(LOOPS):
                total += number & 7
            took = self._clock() - begin
            self._fastest = min(self._fastest or took, took)

    def said(self) -> Dict[str, object]:
        """What a launch says of it: ``seconds`` of the fastest round, what was done, by which Python, and where."""
        return {
            "seconds": self._fastest / 1e9, "workload": WORKLOAD, "python": platform.python_version(),
            "machine": machine_id(),
        }  # fmt: skip
