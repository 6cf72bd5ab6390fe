"""Who an agent is: the machine that it runs on and the file that it runs from, for the proof of place in rows."""

from __future__ import annotations

import hashlib
import platform
from typing import Any, Dict

LABEL = b"bench_plugin machine\0"  # so that the hash says nothing of the machine's id to anybody who knows only that
# machine-id(5) names an installation; a container may have none, and then the kernel's run tells machines apart.
FILES = ("/etc/machine-id", "/var/lib/dbus/machine-id", "/proc/sys/kernel/random/boot_id")
_digests: Dict[str, str] = {}  # by the path of an agent's file, which never changes while it runs


def machine_id() -> str:
    """A hash that names this machine, 64 hexadecimal digits; empty where no file of it has a name."""
    for path in FILES:
        try:
            with open(path, "rb") as file:
                text = file.read(256).strip()
        except OSError:
            continue
        if text:
            return hashlib.sha256(LABEL + text).hexdigest()
    return ""


def own_file() -> str:
    """SHA-256 of the file that the agent was started from; empty where it runs from a folder of sources."""
    path = str(getattr(globals().get("__loader__"), "archive", ""))
    if path and path not in _digests:
        with open(path, "rb") as file:
            _digests[path] = hashlib.sha256(file.read()).hexdigest()
    return _digests.get(path, "")


def identity() -> Dict[str, Any]:
    """What a hello says of this: the architecture, the machine and the agent's file."""
    return {"machine": platform.machine(), "machine_id": machine_id(), "agent": own_file()}
