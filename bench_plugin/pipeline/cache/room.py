"""How much of the cache's disk is free, and how much of it a run leaves free."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path

WANTED_BYTES = 5 * 10**9  # what a run leaves free, or a tenth of a smaller disk
LEAST_BYTES = 10**9  # with less, or a fiftieth of a smaller disk, nothing is stored: tools need it for their own files


@dataclass(frozen=True)
class Room:
    """Bytes of a disk: those free, those that should be, and those without which nothing is stored."""

    free: int
    wanted: int
    least: int

    @property
    def scarce(self) -> bool:
        """Whether old entries should go."""
        return self.free < self.wanted

    @property
    def full(self) -> bool:
        """Whether nothing more should be stored."""
        return self.free < self.least


def room_of(folder: Path) -> Room:
    """The room on the disk that has this folder. Raises OSError where there is no such folder."""
    disk = shutil.disk_usage(folder)
    return Room(disk.free, min(WANTED_BYTES, disk.total // 10), min(LEAST_BYTES, disk.total // 50))
