"""Every kind of reach: a module beside this one, whose function ``reach`` makes the reach of a board."""

from __future__ import annotations

from importlib import import_module
from typing import Protocol, cast

from bench_plugin.reach.boards.board import Board
from bench_plugin.reach.boards.reach import Reach

# By kind, the module that implements it.
MODULES: dict[str, str] = {
    "ssh": "linux.ssh",
    "labgrid": "linux.labgrid",
    "qemu-system": "linux.qemu_system",
}
KINDS = tuple(MODULES)


class ReachModule(Protocol):
    """A module of a kind of reach."""

    @staticmethod
    def reach(board: Board) -> Reach:
        """The reach of a board of this kind. Raises UsageError for settings that are not valid."""


def reach_of(board: Board) -> Reach:
    """The reach of a board. Raises UsageError for settings that are not valid."""
    module = cast(ReachModule, import_module(f"bench_plugin.reach.boards.{MODULES[board.kind]}"))
    return module.reach(board)
