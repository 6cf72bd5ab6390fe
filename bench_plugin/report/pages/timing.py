"""The page of times: a table per model of compilers, precisions and sweeps, what each costs, and its error budget."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from bench_plugin.domain.axes import SWEPT as SWEPT_AXES
from bench_plugin.report.blocks import Block, Contents, Document, Heading, Paragraph, Table
from bench_plugin.report.earlier import EarlierRuns
from bench_plugin.report.entries import Entry, entry, header_of, latest, partial
from bench_plugin.report.formats.tabular import flat
from bench_plugin.report.pages.page import Page
from bench_plugin.report.pages.timing_tables import KEYS, SPEED_UP, Tables, axis_text
from bench_plugin.report.parts import failures_table, legend_table, made_with, remarks, run_line
from bench_plugin.report.recorded import recorded_blocks
from bench_plugin.report.scenarios import scenario_blocks
from bench_plugin.report.timed import task_of, value_of

NAME = "timing"
CHECKS: tuple[str, ...] = ("timing",)
QUALITY = ("quality",)
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
COST = (
    "What the deployment costs: the largest and the median resident memory of the runtime's processes while it was "
    "timed, all files of the artefact, the time to compile it (of a cached artefact, when it was made), the energy of "
    "one sample where there is a meter, and the accuracy of the artefact that was timed, by its hash."
)
SPED_UP = (
    "A speed-up is against the framework itself (native, fp32) at the same batch, threads, streams and target: by the "
    "median of single calls, and where several streams call at once by throughput."
)
SWEPT = (
    "Times are of one call, which has a whole batch; throughput is in samples per second of all streams together, and "
    "is measured, not computed from latencies. Ratios to the best are among cells of the same batch, threads, streams "
    "and mode."
)


def make(rows: Sequence[Mapping[str, Any]], notes: Sequence[str], earlier: EarlierRuns) -> Page:
    """The page of the timing rows."""
    entries = tuple(entry(row) for row in latest(rows, CHECKS))
    qualities = tuple(entry(row) for row in latest(rows, QUALITY))
    header, missing = header_of(rows), partial(rows)
    titles = header.get("titles", {})
    said = (missing, *notes, *left_out(entries), *other_artefacts(entries, qualities))
    blocks: list[Block] = [*run_line(header), Paragraph(OPENING), *remarks(*said), Contents()]
    grids = []
    for model, mine in _by_model(entries).items():
        name = str(titles.get("models", {}).get(model, model))
        tables = Tables(mine, titles, qualities)
        times, costs, budgets = tables.times(), tables.costs(), tables.budgets()
        if not times.rows:
            continue
        grids.append((f"Times: {', '.join(part for part in (name, tables.in_all) if part)}", tables.shown()))
        blocks += [Heading(name), *_about(tables, times), times]
        blocks += [Paragraph(COST), costs] if costs.rows else []
        blocks += [Paragraph(BUDGET), budgets] if budgets.rows else []
    blocks += scenario_blocks(entries, describe)
    blocks += recorded_blocks(entries, describe)
    blocks += [Heading("Legend"), legend_table(entries), *failures_table(entries, describe), *made_with(header)]
    data = {"cells": [flat(one) | {"numbers": one.numbers} for one in entries], "partial": missing, "header": header}
    return Page(NAME, Document("Times", tuple(blocks)), tuple(grids), entries, data, said)


def other_artefacts(entries: Iterable[Entry], qualities: Sequence[Entry]) -> list[str]:
    """A line for each time beside which the accuracy of another artefact would stand."""
    found = ((one, task_of(one, qualities).wrong) for one in entries)
    return [f"error: {describe(one)}: {wrong}; compute both again" for one, wrong in found if wrong]


def _about(tables: Tables, times: Table) -> list[Block]:
    """What a reader of the table must know beside its heads."""
    texts = [f"In all cells: {tables.in_all}." if tables.in_all else "", SPED_UP if SPEED_UP in times.heads else ""]
    return remarks(*texts, SWEPT if tables.in_all or times.keys > len(KEYS) else "")


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
    swept = [axis_text(axis, value_of(one, axis)) for axis in SWEPT_AXES]
    what = ", ".join([str(one.cell["precision"]), *(text for text in swept if text)])
    return f"{one.cell['model']} from {one.cell['framework']} in {one.cell['compiler']}, {what}{place}"


def _by_model(entries: Iterable[Entry]) -> dict[str, list[Entry]]:
    found: dict[str, list[Entry]] = {}
    for one in entries:
        found.setdefault(str(one.cell["model"]), []).append(one)
    return found
