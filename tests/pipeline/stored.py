"""Entries for tests of the cache, and processes that use one cache side by side."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from bench_plugin.domain.outcome import Failure, Stage, Symptom
from bench_plugin.pipeline.cache import Cache, Entry

BYTES = 1000  # of the array of an entry; the whole entry takes less than 2000


def key_of(name: str) -> str:
    """A recipe."""
    return hashlib.sha256(name.encode()).hexdigest()


def put(cache: Cache, name: str, value: float = 1.0, **changed: Any) -> Entry:
    """Store an entry with one array of BYTES bytes that holds ``value``."""
    stated: dict[str, Any] = {
        "stage": "export", "meta": {"name": name}, "arrays": {"x": np.full(BYTES // 4, value, np.float32)},
        "files": {}, "failure": None, "seconds": {"export": 0.5}, "peak_bytes": 7,
    }  # fmt: skip
    return cache.put(key_of(name), **{**stated, **changed})


def unsupported() -> Failure:
    """A failure that may be stored."""
    return Failure(Stage.EXPORT, Symptom.UNSUPPORTED, "no such operator", types=("A", "B"))


def version_of(cache: Cache, name: str) -> Path:
    """The folder of an entry's only version."""
    (found,) = [path.parent for path in (cache.folder / "entries").glob(f"*/{key_of(name)}/*/record.json")]
    return found


def used(cache: Cache, name: str, *, ago: float) -> None:
    """Let an entry have been used so many seconds ago."""
    version = version_of(cache, name)
    at = version.stat().st_mtime - ago
    os.utime(version, (at, at))


def names(cache: Cache) -> set[str]:
    """The names of the entries that another run finds."""
    return {
        name for name in "abcdefgh" if Cache(cache.folder).get(key_of(name)) is not None
    }  # every Cache ends here, and its lease with it


def start(folder: Path, script: str) -> subprocess.Popen[str]:
    """A process that has a ``cache`` in the folder and the names of this module, and runs the script."""
    head = f"""
        import os, signal, sys, threading, time
        from pathlib import Path
        import numpy as np
        from bench_plugin.pipeline.cache import Cache, Patience
        from tests.pipeline.stored import *
        folder = Path({str(folder)!r})
        cache = Cache(folder, note=lambda text: print(text, flush=True))
    """
    return subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(head) + textwrap.dedent(script)], stdin=subprocess.PIPE,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd=Path(__file__).parents[2],
    )  # fmt: skip


@contextmanager
def at(folder: Path, script: str, line: str) -> Iterator[subprocess.Popen[str]]:
    """A process whose script has printed ``line``; it is killed afterwards."""
    with start(folder, script) as process:
        assert process.stdout is not None
        try:
            assert process.stdout.readline() == f"{line}\n"
            yield process
        finally:
            process.kill()
