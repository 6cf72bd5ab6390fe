"""The page of layers: for each cell its distinct layers, stacks and blocks, and their sum against the whole model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from bench_plugin.report.blocks import Block, Contents, Document, Heading, Paragraph
from bench_plugin.report.earlier import EarlierRuns
from bench_plugin.report.entries import Entry, entry, header_of, latest, partial
from bench_plugin.report.formats.tabular import flat
from bench_plugin.report.levels import tables
from bench_plugin.report.pages import timing
from bench_plugin.report.pages.page import Page
from bench_plugin.report.parts import failures_table, legend_table, made_with, remarks, run_line
from bench_plugin.report.statuses import legend

NAME = "layers"
CHECKS: tuple[str, ...] = ("layers",)
OPENING = (
    "Level 1 are single layers: each distinct one of a model (operators, shapes, strides, groups, types) was compiled "
    "as a file of its own, judged against its float64 reference on the tensors that the model feeds it, and timed. "
    "Level 2 are stacks of two and four layers and the named blocks of the model. A launch is a fresh process that "
    "times all of them and the whole model in turn, so that ratios are taken within launches. On these levels there is "
    "no accuracy, no power, and no figure of the system (docs/layers.md). This is not an MLPerf result."
)
LAYERS = (
    "Times are medians over launches of one call; GOP/s are operations of convolutions and fully connected layers over "
    "that time, a multiply-add is two."
)
EXCESS = (
    "The excess is the latency of a stack over the sum of its layers' latencies in the same launches: below 1 the "
    "compiler gains by what it does across layers, above 1 something costs more than the layers alone."
)
NOT_CUT = ("not cut", "it could not be made a file of its own; the JSON file and the tooltips in HTML say why")
KINDS = "Mean and standard deviation are over the distinct layers of a kind; the share is of the time of all layers."


def make(rows: Sequence[Mapping[str, Any]], notes: Sequence[str], earlier: EarlierRuns) -> Page:
    """The page of the rows of layers."""
    entries = tuple(entry(row) for row in latest(rows, CHECKS))
    header, missing = header_of(rows), partial(rows)
    said = (missing, *notes)
    blocks: list[Block] = [*run_line(header), Paragraph(OPENING), *remarks(*said), Contents()]
    grids = []
    for one in entries:
        found = one.numbers.get("levels")
        if not found:
            continue
        name = describe(one)
        grids.append((f"Layers: {name}", tables.brief(found)))
        blocks += _cell(name, found)
    blocks += [Heading("Legend"), legend_table(entries, _further(entries))]
    blocks += [*failures_table(entries, describe), *made_with(header)]
    data = {"cells": [_plain(one) for one in entries], "partial": missing, "header": header}
    return Page(NAME, Document("Layers", tuple(blocks)), tuple(grids), entries, data, said)


def _cell(name: str, found: Mapping[str, Any]) -> list[Block]:
    blocks: list[Block] = [Heading(name), Paragraph(tables.summary(found)), Paragraph(LAYERS), tables.layers(found)]
    stacked = tables.stacks(found)
    if stacked.rows:
        blocks += [Heading(f"Stacks and blocks of {name}"), Paragraph(EXCESS), stacked]
    kinds = tables.kinds(found)
    if kinds.rows:
        blocks += [Heading(f"Kinds of layers of {name}"), Paragraph(KINDS), kinds]
    return blocks


def _further(entries: Sequence[Entry]) -> list[tuple[str, str]]:
    """The statuses that layers, stacks and blocks have and no cell has, each with its meaning."""
    found = [one.numbers.get("levels") or {} for one in entries]
    pieces = [piece for levels in found for level in ("layers", "stacks", "blocks") for piece in levels.get(level, ())]
    statuses = {piece["status"] for piece in pieces}
    cut = [NOT_CUT] if NOT_CUT[0] in statuses else []
    return [*legend(statuses - {one.shown for one in entries}), *cut]


def describe(one: Entry) -> str:
    """A cell in words, with its prepared graph: a tool has a cell for each at one precision."""
    graph = one.cell.get("graph")
    return f"{timing.describe(one)}, graph {graph}" if graph else timing.describe(one)


def _plain(one: Entry) -> dict[str, Any]:
    return flat(one) | {"numbers": one.numbers}
