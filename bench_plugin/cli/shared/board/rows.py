"""Boards as ``bench board list`` and ``bench list boards`` show them."""

from __future__ import annotations

from typing import Any

from bench_plugin.inventory.workspace import Workspace
from bench_plugin.reach.boards.reach import Reach

BOARD_COLUMNS = ("name", "title", "target", "kind", "emulated", "missing")


def board_rows(workspace: Workspace) -> list[dict[str, Any]]:
    """One plain dictionary for each board, with the key ``name``; nothing is reached for it."""
    return [_row(name, one) for name, one in sorted(workspace.boards.items())]


def _row(name: str, reach: Reach) -> dict[str, Any]:
    board = reach.board
    return {
        "name": name, "title": board.title or name, "target": board.target, "kind": board.kind,
        "emulated": board.emulated, "missing": reach.missing() or None, "programs": reach.programs,
        "modes": {mode: list(command) for mode, command in board.modes.items()}, "lease_seconds": board.lease_seconds,
    }  # fmt: skip
