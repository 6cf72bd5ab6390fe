"""How busy this machine is, by the kernel's counters, and waiting until it is not."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import NamedTuple

LOOK_SECONDS = 0.1
QUIET = 0.1  # share of the processors' time


class Load(NamedTuple):
    """``busy``: share of all processors' time that was used, just before; None where the kernel does not say.

    ``average`` is the load average of the last minute, ``waited`` the seconds that a quiet machine was waited for.
    """

    busy: float | None
    average: float
    waited: float


def quiet(seconds: float) -> Load:
    """Wait until the machine is quiet, for at most ``seconds``; the load that it had last."""
    began = time.monotonic()
    while True:
        busy = busy_share(LOOK_SECONDS)
        waited = time.monotonic() - began
        if busy is None or busy <= QUIET or waited >= seconds:
            return Load(None if busy is None else round(busy, 3), os.getloadavg()[0], round(waited, 3))


def busy_share(seconds: float) -> float | None:
    """The share of all processors' time that is used during the next ``seconds`` (proc(5), /proc/stat)."""
    before = _ticks()
    time.sleep(seconds)
    after = _ticks()
    if before is None or after is None:
        return None
    total = after[1] - before[1]
    return (after[0] - before[0]) / total if total > 0 else 0.0


def _ticks() -> tuple[int, int] | None:
    """(used, all) ticks of all processors since the start of the machine; waiting for a disk is not use."""
    try:
        line = Path("/proc/stat").read_text("ascii").partition("\n")[0].split()
    except OSError:
        return None
    if not line or line[0] != "cpu":
        return None
    ticks = [int(field) for field in line[1:9]]
    idle = ticks[3] + ticks[4]
    return sum(ticks) - idle, sum(ticks)
