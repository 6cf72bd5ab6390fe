"""What an agent says about its place: the machine, and the file that it was started from."""

from __future__ import annotations

import hashlib
import os
import uuid
from typing import Any, List

MULTICAST = 1 << 40  # uuid.getnode() sets it in a number that is random, so that it is no machine's


def machine_id() -> str:
    """A number of this machine in hexadecimal, the same until it is installed anew; "" where there is none.

    It is derived from machine-id(5), which is not to be shown itself.
    """
    for path in ("/etc/machine-id", "/var/lib/dbus/machine-id"):
        try:
            with open(path, "rb") as file:
                found = file.read(256).strip()
        except OSError:
            continue
        if found:
            return _digest(found)
    node = uuid.getnode()
    return "" if node & MULTICAST else _digest(b"%012x" % node)


def agent_digest() -> str:
    """SHA-256 of the agent's own file; over its sources, by name and content, where it runs from a folder."""
    archive = getattr(globals().get("__loader__"), "archive", "")
    if archive:
        with open(archive, "rb") as file:
            return hashlib.sha256(file.read()).hexdigest()
    digest = hashlib.sha256()
    folder = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    for path in sorted(_sources(folder)):
        with open(path, "rb") as file:
            data = file.read()
        digest.update(b"%s\0%d\0" % (os.path.relpath(path, folder).encode(), len(data)) + data)
    return digest.hexdigest()


def _sources(folder: str) -> List[str]:
    return [os.path.join(place, name) for place, _, names in os.walk(folder) for name in names if name.endswith(".py")]


def _digest(data: Any) -> str:
    return hashlib.sha256(b"bench_plugin machine\0" + data).hexdigest()[:32]
