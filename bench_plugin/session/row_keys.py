"""Keys of rows: hashes of all that decides a cell's outcome, 12 hexadecimal digits each."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from typing import Any

from bench_plugin.domain.cell import Cell
from bench_plugin.domain.paths import PACKAGE
from bench_plugin.domain.recipes import recipe
from bench_plugin.generation.search import KnownFailure
from bench_plugin.inventory.workspace import Workspace
from bench_plugin.matrix.matrix import Matrix
from bench_plugin.reach.processes.zipapp import agent_digest
from bench_plugin.session.all_boards import AllBoards

ONE_BOARD = AllBoards({})
# From the results of stages to an outcome, and the tools for ONNX files that this takes.
JUDGING = ("checks", "compare", "domain", "generation", "pipeline", "adapters/onnx_tools", "adapters/characterise")


@cache
def judging_digest() -> str:
    """SHA-256 over the names and contents of our code that makes an outcome of finished stages."""
    digest = hashlib.sha256()
    for path in sorted(path for folder in JUDGING for path in (PACKAGE / folder).rglob("*.py")):
        data = path.read_bytes()
        digest.update(f"{path.relative_to(PACKAGE).as_posix()}\0{len(data)}\0".encode() + data)
    return digest.hexdigest()


class RowKeys:
    """Makes the keys. The part that all cells with the same adapters share is computed once.

    ``threads`` is the number of threads of each runtime, ``all_boards`` says which cells run on several boards.
    """

    def __init__(
        self, workspace: Workspace, matrix: Matrix, *, threads: int, all_boards: AllBoards = ONE_BOARD
    ) -> None:
        self.all_boards = all_boards
        self._workspace = workspace
        self._matrix = matrix
        self._threads = threads
        self._tools: dict[tuple[str, ...], str] = {}
        self._versions: dict[tuple[str, ...], Mapping[str, str]] = {}

    def key(self, cell: Cell, tolerances: Mapping[str, float], known: Iterable[KnownFailure]) -> str:
        """The key of a cell: its axes, what it is made with, and what judges it.

        Made with: the fingerprints of its tools, its planner's parts, its target, boards and dataset, and the
        number of threads.
        Judged by: its tolerances, the failures that expectations list for it where it is searched, and our own code.
        """
        boards = list(self.all_boards.boards(cell.target))
        planner, model = self._matrix.planner(cell), self._workspace.models.get(cell.model)
        return recipe(
            stage="cell", cell=cell.axes(), tolerances=dict(tolerances), tools=self._tools_of(cell),
            target=self._workspace.description(cell.target), threads=cell.threads or self._threads,
            judged_by=judging_digest(),
            dataset=self._workspace.catalog[model.dataset].digest if model and model.dataset else "",
            known=[[one.signature.plain(), one.example.digest, one.own, one.replayed] for one in known],
            **self._boards_of(cell), **planner.key_parts(cell), **({"all_boards": boards} if boards else {}),
        )[:12]  # fmt: skip

    def versions(self, cell: Cell) -> Mapping[str, str]:
        """The locked versions of the distributions that the cell's row names."""
        adapters = self._matrix.planner(cell).adapters(cell)
        place = (*adapters, cell.framework, cell.exporter, cell.importer)
        if place not in self._versions:
            self._versions[place] = self._workspace.versions(adapters, cell)
        return self._versions[place]

    def toolchains(self, cells: Iterable[Cell]) -> Iterator[str]:
        """The toolchains that the cells use, in the order of use."""
        for cell in cells:
            for name in self._matrix.planner(cell).adapters(cell):
                yield self._workspace.catalog[name].toolchain_for(cell.framework)

    def _boards_of(self, cell: Cell) -> dict[str, Any]:
        """The descriptions of the boards that the cell may run on; nothing for a cell without one."""
        names = self._workspace.boards_of(cell.target)
        return {"boards": {name: self._workspace.boards[name].board.digest for name in names}} if names else {}

    def _tools_of(self, cell: Cell) -> str:
        names = self._matrix.planner(cell).adapters(cell)
        place = (*names, cell.framework, cell.target)
        if place not in self._tools:
            catalog, target = self._workspace.catalog, self._workspace.description(cell.target)
            digest = self._workspace.fingerprints.digest
            tools = [digest(name, catalog[name].toolchain_for(cell.framework), target) for name in names]
            self._tools[place] = recipe(stage="tools", tools=tools, agent=agent_digest())
        return self._tools[place]
