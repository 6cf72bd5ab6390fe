"""Keys of rows: hashes of all that decides a cell's outcome, 12 hexadecimal digits each."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from bench_plugin.domain.cell import Cell
from bench_plugin.domain.recipes import recipe
from bench_plugin.inventory.workspace import Workspace
from bench_plugin.matrix.matrix import Matrix
from bench_plugin.reach.processes.zipapp import agent_digest


class RowKeys:
    """Makes the keys. The part that all cells with the same adapters share is computed once."""

    def __init__(self, workspace: Workspace, matrix: Matrix) -> None:
        self._workspace = workspace
        self._matrix = matrix
        self._tools: dict[tuple[str, ...], str] = {}
        self._versions: dict[tuple[str, ...], Mapping[str, str]] = {}

    def key(self, cell: Cell, tolerances: Mapping[str, float]) -> str:
        """The key of a cell, from its axes, its tolerances, its planner's parts, and the fingerprints of its tools."""
        planner = self._matrix.planner(cell)
        return recipe(
            stage="cell", cell=cell.axes(), tolerances=dict(tolerances), tools=self._tools_of(cell),
            **planner.key_parts(cell),
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

    def _tools_of(self, cell: Cell) -> str:
        names = self._matrix.planner(cell).adapters(cell)
        place = (*names, cell.framework, cell.target)
        if place not in self._tools:
            catalog, target = self._workspace.catalog, self._workspace.targets.get(cell.target)
            digest = self._workspace.fingerprints.digest
            tools = [digest(name, catalog[name].toolchain_for(cell.framework), target) for name in names]
            self._tools[place] = recipe(stage="tools", tools=tools, agent=agent_digest())
        return self._tools[place]
