"""The C sources of the agent, which lie in its package: in a folder, or in the archive that an agent runs from.

Needs Python 3.9, which every toolchain with a C compiler has.
"""

from __future__ import annotations

import hashlib
import os
from importlib import resources
from typing import Any, Iterator, Tuple

SUFFIXES = (".c", ".h", ".ld", ".S", ".zig")


def written(folder: str) -> str:
    """Write the sources into ``folder``, which is made, and return it. Raises OSError where that cannot be done."""
    for name, data in _sources(_package()):
        path = os.path.join(folder, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as file:
            file.write(data)
    return folder


def digest() -> str:
    """SHA-256 over the names and contents of the sources, 64 hex digits."""
    found = hashlib.sha256()
    for name, data in _sources(_package()):
        found.update(("%s\0%d\0" % (name, len(data))).encode() + data)
    return found.hexdigest()


def _package() -> Any:
    return resources.files(__package__ or "")


def _sources(folder: Any, prefix: str = "") -> Iterator[Tuple[str, bytes]]:
    for entry in sorted(folder.iterdir(), key=lambda one: str(one.name)):
        if entry.is_dir():
            yield from _sources(entry, "%s%s/" % (prefix, entry.name))
        elif entry.name.endswith(SUFFIXES):
            yield prefix + entry.name, entry.read_bytes()
