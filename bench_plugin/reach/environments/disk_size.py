"""The disk space of a folder."""

from __future__ import annotations

import os
from pathlib import Path

BLOCK = 512  # bytes in one unit of st_blocks, whatever the block size of the file system is (stat(2))


def disk_bytes(folder: Path) -> int:
    """Bytes that the files below a folder occupy on the disk. Hard links count once; symbolic links are not followed.

    A file that disappears in the meantime counts 0.
    """
    seen: set[tuple[int, int]] = set()
    total = 0
    waiting = [str(folder)]
    while waiting:
        try:
            with os.scandir(waiting.pop()) as entries:
                for entry in entries:
                    if entry.is_dir(follow_symlinks=False):
                        waiting.append(entry.path)
                        continue
                    found = entry.stat(follow_symlinks=False)
                    if (found.st_dev, found.st_ino) not in seen:
                        seen.add((found.st_dev, found.st_ino))
                        total += found.st_blocks * BLOCK
        except FileNotFoundError:
            continue
    return total
