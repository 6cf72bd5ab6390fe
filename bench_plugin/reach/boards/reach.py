"""The protocol of a kind of reach: what a board can do, and how agents on it are started."""

from __future__ import annotations

from typing import Protocol

from bench_plugin.reach.boards.board import Board
from bench_plugin.reach.processes.workplace import Starter


class Reach(Starter, Protocol):
    """The reach of one board; the pool leases the agents that it starts like those of this machine."""

    board: Board
    programs: bool  # whether its agent is the compiled program itself, else an agent in Python that adapters run in

    def missing(self) -> str:
        """Which program or file of this machine is missing to reach the board, and its package; "" if none is."""
