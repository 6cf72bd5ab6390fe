"""The sweeps of timed cells: every combination of batch, threads, streams and mode is a cell of its own."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import product

from bench_plugin.domain.cell import Cell
from bench_plugin.domain.errors import UsageError
from bench_plugin.domain.outcome import Status
from bench_plugin.domain.settings import Selection
from bench_plugin.inventory.models import Model
from bench_plugin.inventory.workspace import Workspace
from bench_plugin.matrix.planner import Declared, Planned
from bench_plugin.pipeline.tasks.inputs import BATCH, is_batched
from bench_plugin.reach.boards.reach import Reach


def swept(
    planned: Planned, selection: Selection, workspace: Workspace, *, any_batch: bool = False
) -> Iterator[Planned]:  # fmt: skip
    """The combinations of a planned cell; with nothing to sweep, the cell itself.

    A combination that the runtime cannot have is declared ``unsupported`` with the reason. One that the model does not
    have, because its batch is fixed, is ``Not provided``: no tool is to blame; with ``any_batch`` it is tried all the
    same. Raises UsageError for a mode that a board of the cell does not have.
    """
    cell, declared = planned
    if not (selection.batches or selection.threads or selection.streams or selection.modes):
        yield planned
        return
    check_modes(cell, selection.modes, workspace)
    combinations = product(
        selection.batches or (cell.batch,), selection.threads or (cell.threads,),
        selection.streams or (cell.streams,), selection.modes or (cell.mode,),
    )  # fmt: skip
    for batch, threads, streams, mode in combinations:
        one = replace(cell, batch=batch, threads=threads, streams=streams, mode=mode)
        if declared is not None:
            yield one, replace(declared, cell=one)
            continue
        if refused := _refused(one, workspace):
            yield one, Declared(one, Status.UNSUPPORTED, refused)
        elif batch > 1 and not any_batch and (fixed := _fixed(workspace.models[one.model])):
            yield one, Declared(one, Status.NOT_PROVIDED, f"batch {batch}: {fixed}")
        else:
            yield one, None


def check_modes(cell: Cell, modes: tuple[str, ...], workspace: Workspace) -> None:
    """Raises UsageError where a board that the cell may run on lacks a mode, or cannot be brought back out of it."""
    if not modes:
        return
    boards = _boards(cell, workspace)
    if not boards:
        raise UsageError(
            f"--bench-modes: target {cell.target} has no modes: no board of it is described; the table modes of "
            "boards/<name>.toml has those of a board (docs/boards.md)"
        )
    for reach in boards:
        board = reach.board
        unknown = next((mode for mode in modes if mode not in board.modes), None)
        if unknown is not None:
            listed = ", ".join(board.modes) or "none (boards/<name>.toml, table modes)"
            raise UsageError(f"--bench-modes: board {board.name} has no mode {unknown!r}; it has: {listed}")
        if reach.programs:
            raise UsageError(f"--bench-modes: board {board.name} runs compiled programs only, and no commands")
        if not board.usual_mode:
            raise UsageError(
                f"--bench-modes: the file of board {board.name} does not say which mode it is brought back into; add "
                f"usual_mode, one of {', '.join(board.modes)}"
            )


def _refused(cell: Cell, workspace: Workspace) -> str:
    """Why the runtime cannot do this combination; empty where it can."""
    adapter = workspace.catalog.compiler(cell.compiler)[0]
    programs = next((reach.board.name for reach in _boards(cell, workspace) if reach.programs), "")
    if cell.batch > 1:
        if programs:
            return f"batch {cell.batch}: the program of board {programs} takes one sample at a time"
        if reason := adapter.declaration.get("one_sample"):
            return f"batch {cell.batch}: {reason}"
    if cell.streams > 1:
        if programs:
            return f"{cell.streams} streams: the program of board {programs} answers one call at a time"
        if not adapter.declaration.get("concurrent"):
            return (
                f"{cell.streams} streams: the adapter of {adapter.name} does not declare that its runtime answers "
                "calls of several threads at the same time (key concurrent)"
            )
    return ""


def _fixed(model: Model) -> str:
    """Why a model takes one sample per call; empty where its batch is a symbol, or its file was not read yet."""
    if not model.inputs:
        return ""
    if not is_batched(model):
        shapes = ", ".join(f"{spec.name} {list(spec.shape)}" for spec in model.inputs)
        return (
            f"{model.name} declares {shapes}, so that it is exported for this batch alone; the first dimension of "
            f"every input must be the symbol {BATCH!r}, where the model can take any batch"
        )
    if model.bindings < 2:
        return (
            f"{model.name} gives its symbol {BATCH!r} one size only, so that its files fix it; with two sizes, such as "
            f"{BATCH} = [1, 2], it is exported for any"
        )
    return ""


def _boards(cell: Cell, workspace: Workspace) -> list[Reach]:
    return [workspace.boards[name] for name in workspace.boards_of(cell.target)]
