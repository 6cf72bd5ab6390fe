"""A board: one reachable machine of a target, as ``boards/<name>.toml`` describes it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

LEASE_SECONDS = 900.0
BOOT_SECONDS = 60.0


@dataclass(frozen=True)
class Board:
    """A board by name. ``target`` is the name of its target's file.

    ``kind`` is the kind of reach (a file of ``reach/boards/``), ``settings`` the other keys of the table ``reach``: all
    those of the kind's record ``SETTINGS``, also the ones that the file leaves out, with file names made absolute.
    ``power`` has the keys of the table ``power``, ``modes`` the argument list of each mode, and ``usual_mode`` is the
    one that it is brought back into. ``restart`` and ``power_cycle`` are argument lists of commands of this machine,
    after which the board has ``boot_seconds`` to answer. One stage may hold it for ``lease_seconds``. An ``emulated``
    board is a program of this machine that each run starts for itself. ``ram_bytes`` and ``flash_bytes`` are what a
    model may use, 0 where it is not said.
    ``digest`` is the SHA-256 of what the file says, which is a part of the keys of rows.
    """

    name: str
    target: str
    kind: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    title: str = ""
    power: Mapping[str, str] = field(default_factory=dict)
    modes: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    usual_mode: str = ""
    restart: tuple[str, ...] = ()
    power_cycle: tuple[str, ...] = ()
    boot_seconds: float = BOOT_SECONDS
    lease_seconds: float = LEASE_SECONDS
    same_machine: bool = False
    emulated: bool = False
    ram_bytes: int = 0
    flash_bytes: int = 0
    digest: str = ""
