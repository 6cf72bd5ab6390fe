"""Other targets than this machine: a table of verdicts for each, and what programs of microcontrollers cost."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from bench_plugin.report.blocks import Block, Heading, Paragraph, Table, TableCell
from bench_plugin.report.entries import Entry, worst_entry
from bench_plugin.report.figures import instructions, is_emulated, kilobytes, memory
from bench_plugin.report.grids.compiled import CompiledGrid
from bench_plugin.report.pages.compiled_details import verdict_text

HEADING = "Target: {}"
COSTS = "Instructions and memory"
COSTS_TEXT = (
    "Instructions of one inference, counted by a deterministic emulator and never turned into time; flash is code, "
    "constants and initial values, RAM is static, both in kB of 1,000 bytes."
)
POOLS = "Each board of the pool, of cells that ran on all of them; above stands the worst."


def target_blocks(grid: CompiledGrid) -> Iterator[Block]:
    """A section for each other target, and one on instructions and memory where a row has them."""
    for target in grid.targets:
        yield Heading(HEADING.format(target))
        if boards := _boards(grid, target):
            yield Paragraph(f"Ran on {', '.join(boards)}.")
        yield target_table(grid, target)
        if pools := pool_table(grid, target):
            yield from (Paragraph(POOLS), pools)
    if costs := cost_table(grid):
        yield from (Heading(COSTS), Paragraph(COSTS_TEXT), costs)


def target_table(grid: CompiledGrid, target: str) -> Table:
    """(model, precision) x compilers of one target, all sources joined: the worst verdict, and what was measured."""
    columns = [name for name in grid.compiler_names if any(
        (place, name) == (target, compiler) for place, _, compiler in grid.elsewhere
    )]  # fmt: skip
    rows = []
    for model, text in dict.fromkeys((line.model, line.text) for place, line, _ in grid.elsewhere if place == target):
        joined = [_joined(grid, target, model, text, name) for name in columns]
        if any(joined):
            rows.append((TableCell(grid.titles.get(model, model)), TableCell(text), *map(_verdict, joined)))
    return Table(("model", "precision", *(grid.headings.get(name, name) for name in columns)), tuple(rows), keys=2)


def pool_table(grid: CompiledGrid, target: str) -> Table | None:
    """A line for each board of cells that ran on every board of a pool (--bench-all-boards); None where none did."""
    rows = []
    for (place, line, compiler), one in grid.elsewhere.items():
        for name, said in (one.numbers.get("boards") or {}).items() if place == target else ():
            board = replace(
                one, status=said["status"], reason=said.get("reason", ""), result="", error=said.get("E"),
                flags=(), numbers=said, converted=True,
                unverified=said.get("unverified", ""),
            )  # fmt: skip
            head = (grid.titles.get(line.model, line.model), line.text, grid.headings.get(compiler, compiler), name)
            rows.append((*map(TableCell, head), TableCell(verdict_text(board), board.status, board.reason)))
    return Table(("model", "precision", "compiler", "board", "status"), tuple(rows), keys=4) if rows else None


def cost_table(grid: CompiledGrid) -> Table | None:
    """A line for each cell that has instructions or memory; None where none has."""
    rows = []
    for (target, line, compiler), one in grid.elsewhere.items():
        sizes, counted = memory(one), instructions(one)
        if sizes or counted is not None:
            head = (target, grid.titles.get(line.model, line.model), line.source, line.text)
            texts = ["" if counted is None else f"{counted:,}", *(kilobytes(sizes.get(name)) for name in (
                "flash_bytes", "ram_bytes", "stack_bytes"))]  # fmt: skip
            status = TableCell(one.status, one.shown, one.reason)
            name = grid.headings.get(compiler, compiler)
            rows.append((*map(TableCell, head), TableCell(name), status, *map(TableCell, texts)))
    heads = ("target", "model", "source", "precision", "compiler", "status", "instructions", "flash kB", "RAM kB",
             "stack kB")  # fmt: skip
    return Table(heads, tuple(rows), keys=5) if rows else None


def _joined(grid: CompiledGrid, target: str, model: str, text: str, compiler: str) -> list[Entry]:
    return [
        one for (place, line, name), one in grid.elsewhere.items()
        if (place, line.model, line.text, name) == (target, model, text, compiler)
    ]  # fmt: skip


def _verdict(found: Sequence[Entry]) -> TableCell:
    if not found:
        return TableCell("–")
    worst = worst_entry(found)
    same = sum(one.shown == worst.shown for one in found)
    count = f", {same} of {len(found)}" if len(found) > 1 else ""
    return TableCell(verdict_text(worst) + count, worst.shown, worst.reason)


def _boards(grid: CompiledGrid, target: str) -> list[str]:
    """The boards of a target that cells ran on, each with how it was reached."""
    said = [(one, (one.placement or {}).get("board") or {}) for (place, _, _), one in grid.elsewhere.items()
            if place == target]  # fmt: skip
    texts = (
        f"{board['name']} ({', '.join(filter(None, (str(board.get('kind', '')), 'emulated' * is_emulated(one))))})"
        for one, board in said if board.get("name")
    )  # fmt: skip
    return list(dict.fromkeys(texts))
