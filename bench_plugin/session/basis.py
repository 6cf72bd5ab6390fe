"""What a run computes cells from: everything that the settings point to. A worker on another machine makes the same."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from bench_plugin.checks.registry import planners
from bench_plugin.domain.cell import Cell, Check
from bench_plugin.domain.settings import Settings
from bench_plugin.generation.search import KnownFailure
from bench_plugin.inventory.workspace import Workspace
from bench_plugin.matrix.matrix import Matrix
from bench_plugin.results.known_failures.expectations import Expectations
from bench_plugin.session.all_boards import AllBoards
from bench_plugin.session.known_failures import known_failures
from bench_plugin.session.row_keys import RowKeys


@dataclass(frozen=True)
class Basis:
    """Workspace, known failures, matrix and keys of a run, read once."""

    settings: Settings
    workspace: Workspace
    expectations: Expectations
    matrix: Matrix
    keys: RowKeys

    @staticmethod
    def load(settings: Settings) -> Basis:
        """Read every file that the settings point to. Raises UsageError for the first that is not valid."""
        workspace = Workspace.load(settings)
        expectations = Expectations.load(workspace.expectation_folders)
        matrix = Matrix(
            workspace.models, workspace.catalog, list(workspace.targets), settings.selection, planners(workspace)
        )
        boards = {name: one.board for name, one in workspace.boards.items()}
        keys = RowKeys(
            workspace, matrix, threads=settings.runtime_threads(),
            all_boards=AllBoards(boards if settings.all_boards else {}),
        )  # fmt: skip
        return Basis(settings, workspace, expectations, matrix, keys)

    def known_failures(self, cell: Cell) -> Sequence[KnownFailure]:
        """The failures that expectations list for a cell that is searched; empty for all others."""
        if cell.check is not Check.PROPERTY:
            return ()
        return tuple(known_failures(self.expectations, cell, self.keys.versions(cell)))
