"""Disks in memory, of which a test may use up every byte; they need root."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

MOUNTS = pytest.mark.skipif(os.geteuid() != 0 or not shutil.which("mount"), reason="mounting a disk needs root")


@contextmanager
def disk(place: Path, options: str) -> Iterator[None]:
    """A disk in memory at this place."""
    place.mkdir(exist_ok=True)
    mount("-t", "tmpfs", "-o", options, "tmpfs", str(place))
    try:
        yield
    finally:
        subprocess.run(["umount", "--lazy", str(place)], check=True)  # a failed test may still use it


def mount(*arguments: str) -> None:
    done = subprocess.run(["mount", *arguments], capture_output=True, text=True)
    if done.returncode:
        pytest.skip(f"no mounts here: {done.stderr.strip()}")
