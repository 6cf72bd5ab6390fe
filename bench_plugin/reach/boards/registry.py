"""Every kind of reach: a module beside this one, which declares its settings and makes the reach of a board."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any, Protocol, cast

from bench_plugin.domain.records import Record
from bench_plugin.reach.boards.board import Board
from bench_plugin.reach.boards.reach import Reach

# By kind, the module that implements it.
MODULES: dict[str, str] = {
    "labgrid": "linux.labgrid",
    "qemu-system": "linux.qemu_system",
    "qemu-user": "qemu_user",
    "ssh": "linux.ssh",
    "tcp": "tcp",
    "uart": "uart",
}


class ReachModule(Protocol):
    """A module of a kind of reach.

    ``SETTINGS`` is the record of the keys of the table ``reach`` beside ``kind``. A key whose description has
    ``extra={"file": True}`` names a file: where it is relative it is relative to the folder of the board's file. A
    module of emulators has a function ``emulated`` too: whether the board of these settings is a program that each run
    starts for itself on this machine.
    """

    SETTINGS: type[Record]

    @staticmethod
    def reach(board: Board) -> Reach:
        """The reach of a board of this kind. Raises UsageError for settings that are not valid."""


def module_of(kind: str) -> ReachModule:
    """The module of a kind of reach, imported on first use. Raises KeyError for a kind that there is not."""
    return cast(ReachModule, import_module(f"{__package__}.{MODULES[kind]}"))


def is_emulated(kind: str, settings: Mapping[str, Any]) -> bool:
    """Whether a board of this kind, with these settings, is a program that each run starts for itself."""
    said = getattr(module_of(kind), "emulated", None)
    return said is not None and bool(said(settings))


def reach_of(board: Board) -> Reach:
    """The reach of a board. Raises UsageError for settings that are not valid."""
    return module_of(board.kind).reach(board)
