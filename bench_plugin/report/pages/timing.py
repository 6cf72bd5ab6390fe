"""The page of times: a table per model of compilers and precisions, and the error budget of every time."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from bench_plugin.report.blocks import Block, Contents, Document, Heading, Paragraph, Table, TableCell
from bench_plugin.report.earlier import EarlierRuns
from bench_plugin.report.entries import Entry, entry, header_of, heading, latest, partial
from bench_plugin.report.formats.tabular import flat
from bench_plugin.report.pages.page import Page
from bench_plugin.report.parts import failures_table, legend_table, made_with, mark, remarks, run_line
from bench_plugin.report.recorded import recorded_blocks

NAME = "timing"
CHECKS: tuple[str, ...] = ("timing",)
OPENING = (
    "Times of compiled models. Each launch is a fresh process that had the machine for itself; the interval is over "
    "launches unless it says within-run, which says nothing of other launches. Compute is the device's clock around "
    "the runtime's own call, system the host's from a request to its outputs; they are never mixed. Throughput is that "
    "of one client that waits for each answer (closed loop). The status is the verdict on outputs of the timed "
    "inferences: a time beside a mismatch is the time of a wrong result. This is not an MLPerf result."
)
BUDGET = (
    "What the median may be wrong by: reading the clock, the trend from the first block to the last, the standard "
    "deviation over launches, and the ratio to a bare loop of the same calls in the same process (docs/timing.md)."
)
HEADS = ("compiler", "precision", "status", "p50", "95 % interval", "first inference", "throughput, closed loop",
         "ratio to the best", "p90", "p99", "system p50", "instructions")  # fmt: skip
BUDGET_HEADS = ("compiler", "precision", "clock", "drift", "over launches", "half-width", "to the bare loop",
                "launches", "single calls", "load before", "caps")  # fmt: skip
UNITS = ((1.0, "s"), (1e-3, "ms"), (1e-6, "us"))


def make(rows: Sequence[Mapping[str, Any]], notes: Sequence[str], earlier: EarlierRuns) -> Page:
    """The page of the timing rows."""
    entries = tuple(entry(row) for row in latest(rows, CHECKS))
    header, missing = header_of(rows), partial(rows)
    titles = header.get("titles", {})
    said = (missing, *notes, *left_out(entries))
    blocks: list[Block] = [*run_line(header), Paragraph(OPENING), *remarks(*said), Contents()]
    grids = []
    for model, mine in _by_model(entries).items():
        name = str(titles.get("models", {}).get(model, model))
        table = times_table(mine, titles)
        if not table.rows:
            continue
        grids.append((f"Times: {name}", table))
        blocks += [Heading(name), table, Paragraph(BUDGET), budget_table(mine, titles)]
    blocks += recorded_blocks(entries, describe)
    blocks += [Heading("Legend"), legend_table(entries), *failures_table(entries, describe), *made_with(header)]
    data = {"cells": [flat(one) | {"numbers": one.numbers} for one in entries], "partial": missing, "header": header}
    return Page(NAME, Document("Times", tuple(blocks)), tuple(grids), entries, data, said)


def times_table(entries: Iterable[Entry], titles: Mapping[str, Any]) -> Table:
    """A line per compiler, source and precision that was computed, the fastest first; times in one unit per cell."""
    computed = sorted(
        (one for one in entries if one.key), key=lambda one: (_centre(one) or float("inf"), describe(one))
    )
    best = min((centre for one in computed if (centre := _right(one)) is not None), default=None)
    return Table(HEADS, tuple(_times(one, titles, best) for one in computed), keys=2)


def budget_table(entries: Iterable[Entry], titles: Mapping[str, Any]) -> Table:
    """The parts of the uncertainty of every time."""
    timed = [one for one in entries if _timing(one).get("error_budget")]
    return Table(BUDGET_HEADS, tuple(_budget(one, titles) for one in timed), keys=2)


def left_out(entries: Iterable[Entry]) -> list[str]:
    """A line for each compiler that was left out because it is not ready, with how to add it."""
    found: dict[str, dict[str, None]] = {}
    for one in entries:
        if not one.key and one.status == "Not provided":
            found.setdefault(one.reason, {})[str(one.cell.get("compiler", ""))] = None
    return [f"not timed: {', '.join(names)}: {reason}" for reason, names in found.items()]


def describe(one: Entry) -> str:
    """A cell in words."""
    target = one.cell.get("target", "local")
    place = "" if target == "local" else f" on {target}"
    return f"{one.cell['model']} from {one.cell['framework']} in {one.cell['compiler']}, {one.cell['precision']}{place}"


def seconds(value: float | None) -> str:
    """A time with three digits in the unit that suits it; empty for None."""
    if value is None:
        return ""
    scale, unit = next((pair for pair in UNITS if abs(value) >= pair[0]), UNITS[-1])
    return f"{value / scale:.3g} {unit}" if value / scale < 1000 else f"{value / scale:.0f} {unit}"


def _times(one: Entry, titles: Mapping[str, Any], best: float | None) -> tuple[TableCell, ...]:
    timing = _timing(one)
    shares, centre = timing.get("percentiles") or {}, _right(one)
    ratio = f"{centre / best:.2f}" if centre is not None and best else ""
    system = (timing.get("system") or {}).get("median")
    rate = (timing.get("throughput") or {}).get("per_second")
    instructions = (timing.get("instructions") or {}).get("median")
    return (
        *_keys(one, titles), TableCell(f"{one.status} {mark(one)}".strip(), one.shown, one.reason),
        TableCell(seconds(_centre(one))), TableCell(_interval(timing)),
        TableCell(seconds(timing.get("first_inference"))),
        TableCell("" if rate is None else f"{rate:.3g}/s"), TableCell(ratio), TableCell(seconds(shares.get("p90"))),
        TableCell(seconds(shares.get("p99"))), TableCell(seconds(system)),
        TableCell("" if instructions is None else f"{instructions:,.0f}"),
    )  # fmt: skip


def _interval(timing: Mapping[str, Any]) -> str:
    """Bounds and half-width; what is within one run only says so."""
    interval = timing.get("interval")
    if not interval:
        return ""
    text = f"{seconds(interval['low'])} to {seconds(interval['high'])} (± {interval['half_width']:.1%})"
    return text if interval["kind"] == "over launches" else f"{text}, {interval['kind']}"


def _budget(one: Entry, titles: Mapping[str, Any]) -> tuple[TableCell, ...]:
    timing = _timing(one)
    budget = timing["error_budget"]
    compute, load = timing.get("compute") or {}, (timing.get("conditions") or {}).get("load_before") or {}
    bare, busy = budget.get("bare_loop_ratio"), load.get("busy")
    texts = (
        f"{seconds(budget['clock_cost'])} ({budget['clock_share']:.2%})", _share(budget.get("drift")),
        _share(budget.get("spread_over_launches")), _share(budget.get("half_width")),
        "" if bare is None else f"{bare:.3f}", str(timing.get("launches", "")), str(compute.get("samples", "")),
        "" if busy is None else f"{busy:.0%}", "; ".join(timing.get("caps") or ()),
    )  # fmt: skip
    return (*_keys(one, titles), *map(TableCell, texts))


def _keys(one: Entry, titles: Mapping[str, Any]) -> tuple[TableCell, TableCell]:
    """The compiler with where its model came from, and the precision with graph and target."""
    name = heading(str(one.cell["compiler"]), titles.get("compilers", {}))
    source = "" if one.cell.get("exporter") or one.cell["framework"] == "onnx" else f" of {one.cell['framework']}"
    further = [str(one.cell[axis]) for axis in ("graph", "target") if one.cell.get(axis) not in (None, "", "local")]
    return TableCell(name + source), TableCell(" ".join([str(one.cell.get("precision", "")), *further]))


def _by_model(entries: Iterable[Entry]) -> dict[str, list[Entry]]:
    found: dict[str, list[Entry]] = {}
    for one in entries:
        found.setdefault(str(one.cell["model"]), []).append(one)
    return found


def _timing(one: Entry) -> Mapping[str, Any]:
    found: Mapping[str, Any] = one.numbers.get("timing") or {}
    return found


def _centre(one: Entry) -> float | None:
    """The median over launches of a launch's median; None where no time was taken."""
    found: float | None = (_timing(one).get("compute") or {}).get("median")
    return found


def _right(one: Entry) -> float | None:
    """The same of a cell whose numbers agree: a wrong result is not the best, however fast."""
    return _centre(one) if one.status == "supported" else None


def _share(value: float | None) -> str:
    return "" if value is None else f"{value:.1%}"
