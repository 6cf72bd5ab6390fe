"""What a cell asks of a worker: the resources that the administrator gives workers by these names."""

from __future__ import annotations

from bench_plugin.domain.axes import TIMED
from bench_plugin.domain.cell import Cell, Check
from bench_plugin.session.basis import Basis
from bench_plugin.session.engines.remote.cluster import BOARD, TOOLCHAIN
from bench_plugin.session.engines.remote.dispatch import Wanted

STAGES = 30  # a cell has a dozen stages, most of which may be repeated in a fresh process
MAKING_SECONDS = 3600.0  # of the toolchains that a worker has to make first


def wanted(basis: Basis, cell: Cell, seconds: float = 0.0) -> Wanted:
    """What a cell asks for. It may take ``seconds``, or where that is 0 as long as its stages and toolchains may."""
    model = basis.workspace.models.get(cell.model)
    stages = STAGES * (model.seconds if model else 60.0)
    return Wanted(
        group=_group(cell),
        toolchains=tuple(dict.fromkeys(TOOLCHAIN + name for name in basis.keys.toolchains([cell]))),
        boards=tuple(BOARD + name for name in basis.workspace.boards_of(cell.target)),
        alone=cell.check in TIMED,
        seconds=seconds or MAKING_SECONDS + stages,
    )


def _group(cell: Cell) -> str:
    """Cells with the same one share an export, or for cells of operators and properties the processes of a compiler."""
    if cell.check in (Check.OPERATOR, Check.PROPERTY):
        return f"{cell.check} {cell.compiler}"
    return " ".join(map(str, (cell.model, cell.framework, cell.exporter, cell.opset)))
