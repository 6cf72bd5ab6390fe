"""The agent as one file: a zip of ``bench_plugin.agent`` for Python 3.8 or later, reproducible byte for byte."""

from __future__ import annotations

import hashlib
import os
import threading
import zipfile
from functools import cache
from pathlib import Path

PACKAGE = Path(__file__).parents[2]
SUFFIXES = (".py", ".c", ".h", ".ld", ".S", ".zig")  # the C agent is a part of it
EPOCH = (1980, 1, 1, 0, 0, 0)
MAIN = "from bench_plugin.agent.__main__ import main\nmain()\n"


@cache
def agent_digest() -> str:
    """SHA-256 over the names and contents of the agent's source: a part of every recipe."""
    digest = hashlib.sha256(MAIN.encode())
    for name, data in _sources():
        digest.update(f"{name}\0{len(data)}\0".encode() + data)
    return digest.hexdigest()


def build_agent(folder: Path) -> Path:
    """The path of ``agent-<digest>.pyz`` in ``folder``, which is made, by an atomic rename, if it is missing."""
    path = folder / f"agent-{agent_digest()[:16]}.pyz"
    if path.exists():
        return path
    folder.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f"{path.name}.{os.getpid()}-{threading.get_ident()}")
    with zipfile.ZipFile(partial, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in [*_sources(), ("bench_plugin/__init__.py", b""), ("__main__.py", MAIN.encode())]:
            archive.writestr(zipfile.ZipInfo(name, EPOCH), data)
    os.replace(partial, path)
    return path


def _sources() -> list[tuple[str, bytes]]:
    files = sorted(path for path in (PACKAGE / "agent").rglob("*") if path.suffix in SUFFIXES)
    return [(f"bench_plugin/{path.relative_to(PACKAGE).as_posix()}", path.read_bytes()) for path in files]
