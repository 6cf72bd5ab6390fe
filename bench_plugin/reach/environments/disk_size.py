"""How much room a folder takes on the disk."""

from __future__ import annotations

import os
from pathlib import Path

BLOCK = 512  # st_blocks counts these, whatever the file system's own block is


def disk_bytes(folder: Path) -> int:
    """Bytes that the files below a folder occupy; a file with several names in it counts once, links are not followed.

    A file that disappears meanwhile counts nothing.
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
