"""Proof of place: which machine a cell of a board ran on, as its agent says."""

from __future__ import annotations

import platform
from collections.abc import Mapping
from typing import Any

from bench_plugin.agent.link.identity import machine_id
from bench_plugin.reach.boards.board import Board

SAID = ("machine", "machine_id", "agent", "nonce")


def place_of(board: Board, hello: Mapping[str, Any]) -> dict[str, str]:
    """What a row says of where its cell ran: the board and what its agent's ``hello`` says."""
    said = {key: str(hello[key]) for key in SAID if hello.get(key)}
    return {"name": board.name, "kind": board.kind, **said}


def ran_here(board: Board, hello: Mapping[str, Any]) -> str:
    """Why a cell of the board would be no proof, because its agent runs on this machine; empty where it does not."""
    if board.same_machine or board.emulated:
        return ""
    here, machine = machine_id(), platform.machine()
    if not here or (hello.get("machine_id"), hello.get("machine")) != (here, machine):
        return ""
    return (
        f"the agent of board {board.name} runs on this machine (its machine id and architecture {machine} are "
        "this machine's), so its results would say nothing of the board; for a stand-in on this machine write "
        "same_machine = true into its file, with reach.host on the loopback"
    )
