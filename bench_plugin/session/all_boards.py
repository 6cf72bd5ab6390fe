"""``--bench-all-boards``: a cell for a target runs on each board of the target's pool, and has one row."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from bench_plugin.domain.cell import Cell
from bench_plugin.domain.outcome import Outcome, Unverified
from bench_plugin.pipeline.schedule import Need
from bench_plugin.reach.boards.board import Board
from bench_plugin.reach.boards.leasing.candidates import alone
from bench_plugin.report.statuses import severity

# What a row says of each board.
FIGURES = ("E", "tolerance_E", "needed", "deterministic", "determinism", "timing", "task", "series")


@dataclass(frozen=True)
class AllBoards:
    """Divides a cell for a target into cells for its boards, and joins their outcomes.

    ``described`` are all boards by name; it is empty where the option was not given. Emulators stand in for hardware
    and do not stand beside it.
    """

    described: Mapping[str, Board]

    def boards(self, target: str) -> tuple[str, ...]:
        """The boards that a cell for a target runs on; empty where it runs on one, as the pool gives it."""
        found = sorted(name for name, board in self.described.items() if board.target == target)
        return tuple(name for name in found if not self.described[name].emulated) or tuple(found)

    def divided(self, cell: Cell) -> tuple[Cell, ...]:
        """The cells for each board, in the order of the boards; empty for a cell that is computed as it is."""
        return tuple(replace(cell, target=alone(self.described[name])) for name in self.boards(cell.target))

    def need(self, cell: Cell) -> Need:
        """What a divided cell occupies: nothing, but it comes after the cells of its boards."""
        return Need(f"all boards of {cell.target}", 0, after=self.divided(cell))

    def joined(self, cell: Cell, others: Mapping[Cell, Outcome]) -> Outcome:
        """The worst outcome of the boards of a divided cell, with the figures of every board.

        Boards that the artefact cannot run on decide nothing where it ran on another one. Where all are right, the
        figures are those of the slowest board, so that a threshold on them holds on each.
        """
        names = self.boards(cell.target)
        outcomes = {name: others[one] for name, one in zip(names, self.divided(cell), strict=True)}
        ran = {name: one for name, one in outcomes.items() if one.unverified is not Unverified.NOT_RUN} or outcomes
        name, worst = min(ran.items(), key=lambda item: (severity(str(item[1].status)), -_seconds(item[1]), item[0]))
        reason = f"board {name} ({len(ran)} of {len(outcomes)} boards ran it): {worst.reason}" if worst.reason else ""
        numbers = {**worst.numbers, "boards": {key: _figures(one) for key, one in outcomes.items()}}
        reusable = all(one.reusable for one in outcomes.values())
        return replace(worst, reason=reason, numbers=numbers, reusable=reusable)


def _seconds(outcome: Outcome) -> float:
    """The median time of one inference; 0 where there is none."""
    compute = (outcome.numbers.get("timing") or {}).get("compute") or {}
    return float(compute.get("median") or 0.0)


def _figures(outcome: Outcome) -> dict[str, Any]:
    """What the row says of one board: the verdict, its reason, the figures, and the proof of place."""
    numbers = {name: outcome.numbers[name] for name in FIGURES if name in outcome.numbers}
    place = outcome.placement.get("board")
    kind = {"unverified": str(outcome.unverified)} if outcome.unverified else {}
    said = {"status": str(outcome.status), "reason": outcome.reason, **kind, **numbers}
    return {**said, "board": dict(place)} if place else said
