"""Keys of rows: what decides a cell's outcome, as 12 hexadecimal digits."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from bench_plugin.domain.cell import Cell
from bench_plugin.domain.recipes import recipe
from bench_plugin.inventory.workspace import Workspace
from bench_plugin.matrix.matrix import Matrix
from bench_plugin.reach.processes.zipapp import agent_digest


class RowKeys:
    """Makes them; the part that all cells with the same adapters share is made once."""

    def __init__(self, workspace: Workspace, matrix: Matrix) -> None:
        self._workspace = workspace
        self._matrix = matrix
        self._tools: dict[tuple[str, ...], str] = {}
        self._versions: dict[tuple[str, ...], Mapping[str, str]] = {}

    def key(self, cell: Cell, tolerances: Mapping[str, float]) -> str:
        """The key of a cell: its axes, its tolerances, and all that its planner, adapters and locks decide."""
        planner = self._matrix.planner(cell)
        return recipe(
            stage="cell", cell=cell.axes(), tolerances=dict(tolerances), tools=self._tools_of(planner.adapters(cell)),
            **planner.key_parts(cell),
        )[:12]  # fmt: skip

    def versions(self, cell: Cell) -> Mapping[str, str]:
        """Locked versions of the distributions that the cell's row names."""
        adapters = self._matrix.planner(cell).adapters(cell)
        place = (*adapters, cell.framework, cell.exporter, cell.importer)
        if place not in self._versions:
            self._versions[place] = self._workspace.versions(adapters, cell)
        return self._versions[place]

    def toolchains(self, cells: Iterable[Cell]) -> Iterator[str]:
        """The toolchains that cells use, in the order of use."""
        for cell in cells:
            for name in self._matrix.planner(cell).adapters(cell):
                yield self._workspace.catalog[name].toolchain_for(cell.framework)

    def _tools_of(self, names: Sequence[str]) -> str:
        place = tuple(names)
        if place not in self._tools:
            adapters = [self._workspace.catalog[name] for name in names]
            locks = {one.toolchain: self._workspace.toolchains.lock_hash(one.toolchain) for one in adapters}
            digests = [one.digest for one in adapters]
            self._tools[place] = recipe(stage="tools", adapters=digests, locks=locks, agent=agent_digest())
        return self._tools[place]
