"""Which boards a name of the axis of targets stands for."""

from __future__ import annotations

from collections.abc import Mapping

from bench_plugin.reach.boards.board import Board


def candidates(boards: Mapping[str, Board], name: str) -> tuple[str, ...]:
    """The boards that cells for ``name`` may run on: every board of the target ``name``, else the board ``name``.

    Hardware comes before emulators, which stand in for it, and of these first the one that is called like its target.
    What :func:`alone` gives stands for one board, also where it is called like a target.
    """
    of_target = sorted((board.emulated, key != name, key) for key, board in boards.items() if board.target == name)
    return tuple(key for *_, key in of_target) or tuple(key for key in boards if name in (key, alone(boards[key])))


def alone(board: Board) -> str:
    """What stands for this board and for no other: ``NAME@TARGET``, because its name may be that of a target, too."""
    return f"{board.name}@{board.target}"
