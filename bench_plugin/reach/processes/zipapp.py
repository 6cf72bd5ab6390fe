"""The agent as one file: a zip of ``bench_plugin.agent`` for Python 3.8 or later, reproducible byte for byte.

For agents of this machine the zip has byte code beside the sources, because Python keeps none of what it compiles from
a zip, and to compile the agent anew takes longer than all that it does until it says hello. An interpreter of another
version does not take the byte code, and compiles the sources.
"""

from __future__ import annotations

import hashlib
import importlib.util
import marshal
import os
import sys
import threading
import zipfile
from collections.abc import Iterator
from functools import cache
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import CodeType

PACKAGE = Path(__file__).parents[2]
SUFFIXES = (".py", ".c", ".h", ".ld", ".S", ".zig")  # the C agent is a part of it
EPOCH = (1980, 1, 1, 0, 0, 0)
UNCHECKED = (1).to_bytes(4, "little")  # byte code that is used without a look at the source (PEP 552)
MAIN = "from bench_plugin.agent.__main__ import main\nmain()\n"


@cache
def agent_digest() -> str:
    """SHA-256 over the names and contents of the agent's source: a part of every recipe."""
    digest = hashlib.sha256(MAIN.encode())
    for name, data in _sources():
        digest.update(f"{name}\0{len(data)}\0".encode() + data)
    return digest.hexdigest()


def build_agent(folder: Path, *, compiled: bool = False) -> Path:
    """The path of ``agent-<digest>.pyz`` in ``folder``, which is made, by an atomic rename, if it is missing.

    ``compiled``: with byte code for interpreters of this one's version.
    """
    kind = f"-{sys.implementation.cache_tag}" if compiled else ""
    path = folder / f"agent-{agent_digest()[:16]}{kind}.pyz"
    if path.exists():
        return path
    folder.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f"{path.name}.{os.getpid()}-{threading.get_ident()}")
    sources = [*_sources(), ("bench_plugin/__init__.py", b""), ("__main__.py", MAIN.encode())]
    with zipfile.ZipFile(partial, "w") as archive:
        for name, data in [*sources, *(_byte_code(path) if compiled else ())]:
            kept = zipfile.ZIP_STORED if compiled else zipfile.ZIP_DEFLATED  # the former takes more room and less time
            archive.writestr(zipfile.ZipInfo(name, EPOCH), data, kept)
    os.replace(partial, path)
    return path


def _sources() -> list[tuple[str, bytes]]:
    files = sorted(path for path in (PACKAGE / "agent").rglob("*") if path.suffix in SUFFIXES)
    return [(f"bench_plugin/{path.relative_to(PACKAGE).as_posix()}", path.read_bytes()) for path in files]


def _byte_code(archive: Path) -> Iterator[tuple[str, bytes]]:
    """The byte code of every module of the agent, with the places that it has in ``archive``, for tracebacks."""
    for name, data in _sources():
        if name.endswith(".py"):
            code = SourceFileLoader(name, str(PACKAGE.parent / name)).get_code(name)
            if code is not None:
                head = importlib.util.MAGIC_NUMBER + UNCHECKED + importlib.util.source_hash(data)
                yield f"{name}c", head + marshal.dumps(_located(code, f"{archive}/{name}"))


def _located(code: CodeType, path: str) -> CodeType:
    """The code and all code within it as of another file."""
    consts = tuple(_located(one, path) if isinstance(one, CodeType) else one for one in code.co_consts)
    return code.replace(co_filename=path, co_consts=consts)
