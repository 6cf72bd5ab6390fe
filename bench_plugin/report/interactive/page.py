"""The one self-contained page of results: made from results files, opened from disk, without any network."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import jinja2
from markupsafe import Markup

from bench_plugin.report.interactive.aside import made_aside
from bench_plugin.report.interactive.bundle import vega_bundle
from bench_plugin.report.interactive.changed import Changed, changed_since
from bench_plugin.report.interactive.columns import table
from bench_plugin.report.interactive.evidence import BLOCK, DEPLOYED, blocks, has_series, logs
from bench_plugin.report.interactive.items import Item, collect
from bench_plugin.report.interactive.look import CHANGES, STATUSES, badge, looks
from bench_plugin.report.interactive.packing import packed_all
from bench_plugin.report.interactive.reading import Source
from bench_plugin.report.interactive.summary import Summary, summary, when
from bench_plugin.report.interactive.trend import trends_of
from bench_plugin.report.pictures.deployment import specifications
from bench_plugin.report.pictures.registry import embedded
from bench_plugin.report.pictures.themes import theme

ASSETS = Path(__file__).parent / "assets"
# In this order they are one script, inside one function.
SCRIPTS = ("data", "elements", "selection", "table", "matrix", "evidence", "fewer", "pictures", "printing", "main")
NO_SERIES = "{}: the series over time that rows name are not beside the results file; their statistics are shown"
# The page puts its own colours in the place of these words.
THEME = theme(text="page-text", line="page-line", background="page-background")
REPLACED = "{} rows were replaced by later rows of the same cell on the same machine"


@dataclass(frozen=True)
class Report:
    """What a page is made of: the sources, their cells, and what the opening says.

    ``titles`` are those of the headers, by kind and name; ``trends`` are earlier runs of cells by their ids.
    """

    sources: Sequence[Source]
    changes: Sequence[Changed]
    items: Sequence[Item]
    summary: Summary
    remarks: tuple[str, ...]
    titles: Mapping[str, Any]
    trends: Mapping[str, Mapping[str, Any]]

    @cached_property
    def pictures(self) -> Sequence[Mapping[str, Any]]:
        """The pictures across deployments, as plain data."""
        return embedded([one.entry for one in self.items], self.titles)


def make_report(sources: Sequence[Source], index: Path | None = None) -> Report:
    """Everything that the page shows of results files, one at least; ``index`` is that of earlier runs.

    Raises UsageError for an index that does not exist.
    """
    changes = [changed_since(source) for source in sources]
    items, replaced = collect(sources, changes)
    remarks = [note for source in sources for note in source.notes]
    remarks += [REPLACED.format(replaced)] if replaced else []
    remarks += [NO_SERIES.format(source.name) for source in sources if _recorded(source) and not has_series(source)]
    said = summary(items, sources, changes)
    titles = _titles(sources)
    trends, more = trends_of(items, sources, index)
    return Report(sources, changes, items, said, (*remarks, *more), titles, trends)


def render(report: Report, *, details: bool = True) -> str:
    """The page's text; without ``details`` it has the table and the pictures, and no evidence of a cell."""
    script = _script()
    with made_aside(lambda: packed_all(_evidence(report) if details else ())) as evidence:
        plotting, plotting_packed = vega_bundle() if report.pictures or _deployed(report, details) else ("", "")
        texts = {**packed_all(_overview(report, details)), **evidence()}
    texts |= {"plotting": plotting_packed} if plotting_packed else {}
    return _template().render(
        report=report,
        summary=report.summary,
        style=Markup((ASSETS / "page.css").read_text("utf-8")),
        script=Markup(script),
        hashes=" ".join(f"'{_digest(text)}'" for text in (script, plotting) if text),
        blobs={name: Markup(text) for name, text in texts.items()},
        when=when,
        status_badge=lambda word: badge(STATUSES, word),
        change_badge=lambda word: badge(CHANGES, word),
        looks=looks(),
    )


def _overview(report: Report, details: bool) -> Iterator[tuple[str, Any]]:
    """What the page unpacks at once, by the id of its element."""
    yield "data", _data(report, details)
    if report.pictures:
        yield "pictures-data", report.pictures
    yield "trends", report.trends


def _evidence(report: Report) -> Iterator[tuple[str, Any]]:
    """What the page unpacks when somebody opens a cell, by the id of its element."""
    for number, block in enumerate(blocks(report.items, report.sources)):
        yield f"block-{number}", block
    yield "logs", logs(report.items, report.sources)
    yield "deployment-pictures", specifications()


def _data(report: Report, details: bool) -> dict[str, Any]:
    """What the page needs at once: the columns of the table, the ids, and how words look."""
    return {
        "cells": len(report.items),
        "ids": [one.id for one in report.items],
        "columns": table(report.items, [source.name for source in report.sources]),
        "looks": looks(),
        "theme": THEME,
        "details": details,
        "block": BLOCK,
        "sources": [_about(*pair) for pair in zip(report.sources, report.changes, strict=True)],
        "source": [one.source for one in report.items],
    }


def _recorded(source: Source) -> bool:
    """Whether rows name side files of series over time."""
    series = ((row.get("numbers") or {}).get("series") or {} for row in source.rows)
    return any("file" in about for one in series for about in one.values())


def _deployed(report: Report, details: bool) -> bool:
    """Whether the evidence of some cell has pictures."""
    return details and any(one.entry.numbers.get(name) is not None for one in report.items for name in DEPLOYED)


def _about(source: Source, changed: Changed) -> dict[str, Any]:
    return {
        "path": str(source.path), "name": source.name, "started": when(source.header),
        "commit": source.header.get("commit") or "", "machine": source.header.get("machine") or {},
        "previous": (changed.previous or {}).get("run", ""), "versions": changed.versions,
    }  # fmt: skip


def _titles(sources: Iterable[Source]) -> dict[str, Any]:
    """The titles of all headers, kind by kind."""
    found: dict[str, Any] = {}
    for source in sources:
        for kind, titles in (source.header.get("titles") or {}).items():
            found[kind] = {**found.get(kind, {}), **titles}
    return found


def _script() -> str:
    parts = [(ASSETS / f"{name}.js").read_text("utf-8") for name in SCRIPTS]
    return "(() => {\n'use strict';\n" + "\n".join(parts) + "\n})();"


def _digest(script: str) -> str:
    """What the page's content security policy names a script by, so that no other one runs."""
    return "sha256-" + base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()


def _template() -> jinja2.Template:
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(ASSETS), autoescape=True, undefined=jinja2.StrictUndefined,
        trim_blocks=True, lstrip_blocks=True,
    )  # fmt: skip
    return environment.get_template("page.html")
