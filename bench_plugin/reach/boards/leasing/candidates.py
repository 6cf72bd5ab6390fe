"""Which boards a name of the axis of targets stands for."""

from __future__ import annotations

from collections.abc import Mapping

from bench_plugin.reach.boards.board import Board


def candidates(boards: Mapping[str, Board], name: str) -> tuple[str, ...]:
    """The boards that cells for ``name`` may run on: every board of the target ``name``, else the board ``name``.

    Hardware comes before emulators, which stand in for it.
    """
    of_target = sorted((board.emulated, key) for key, board in boards.items() if board.target == name)
    return tuple(key for _, key in of_target) or ((name,) if name in boards else ())
