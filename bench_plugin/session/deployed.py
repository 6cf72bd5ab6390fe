"""A compiled model that is deployed to its target, as the test of a user gets it: its cell and its verdict."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from bench_plugin.domain.cell import Cell
from bench_plugin.domain.outcome import Outcome, Unverified
from bench_plugin.results.known_failures.expectations import Result
from bench_plugin.session.session import Judged

EMULATED = "emulated"  # of ``placement["timing"]``


class NotDeployed(Exception):
    """The verdict on the cell leaves nothing to test: pytest's report of the test is that of the cell."""


@dataclass(frozen=True, repr=False)
class Deployed:
    """The compiled model of a cell on its target; what it computes was compared with the reference."""

    judged: Judged

    @property
    def cell(self) -> Cell:
        """The model, the compiler, the precision and the target."""
        return self.judged.cell

    @property
    def outcome(self) -> Outcome:
        """The verdict: status, numbers, seconds by stage, versions, artefacts."""
        return self.judged.outcome

    @property
    def target(self) -> str:
        """The name of the board, or ``local`` for this machine."""
        return self.cell.target

    @property
    def numbers(self) -> Mapping[str, Any]:
        """The numbers of the row (docs/results.md)."""
        return self.outcome.numbers

    @property
    def emulated(self) -> bool:
        """Whether it ran on an emulated board, whose clock says nothing of a device."""
        return self.outcome.placement.get("timing") == EMULATED

    @property
    def usable(self) -> bool:
        """Whether it runs there and computes what it should: pytest passes the cell.

        So it does on an emulated board that counts no instructions, where the timing check has nothing to take.
        """
        untimed = self.emulated and self.outcome.unverified is Unverified.NOT_RUN
        return untimed or self.judged.judgement.result is Result.PASSED

    def require(self) -> None:
        """Raises NotDeployed where the model is not usable."""
        if not self.usable:
            raise NotDeployed(f"{self.cell.id}: {self.outcome.status}: {self.outcome.reason}")

    def __repr__(self) -> str:
        return f"<{self.cell.id} on {self.target}: {self.outcome.status}>"
