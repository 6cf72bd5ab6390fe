"""A page with the grids that a terminal shows of it, and how it is written to files."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from bench_plugin.report.blocks import Document, Table
from bench_plugin.report.entries import Entry
from bench_plugin.report.formats import html, markdown, restructured, tabular

FORMATS = ("md", "rst", "html", "csv", "json")


@dataclass(frozen=True)
class Page:
    """``name`` is that of its files, ``grids`` are the (heading, table) that a terminal shows of it."""

    name: str
    document: Document
    grids: tuple[tuple[str, Table], ...]
    entries: tuple[Entry, ...]
    data: Mapping[str, Any]
    remarks: tuple[str, ...]

    def write(self, folder: Path, *, name: str = "", formats: Sequence[str] = FORMATS) -> list[Path]:
        """Write ``<name>.<format>`` to ``folder`` for each of the formats; returns the paths."""
        texts = {module.SUFFIX: module.render(self.document) for module in (markdown, restructured, html)}
        texts["csv"] = tabular.render_csv(self.entries)
        texts["json"] = json.dumps(self.data, indent=1, allow_nan=False) + "\n"
        folder.mkdir(parents=True, exist_ok=True)
        paths = [folder / f"{name or self.name}.{suffix}" for suffix in formats]
        for path in paths:
            path.write_text(texts[path.suffix[1:]], "utf-8", errors="backslashreplace")
        return paths


class PageModule(Protocol):
    """What a module of this folder offers: the page of one kind of checks. Add it to the list in registry.py."""

    NAME: str
    CHECKS: tuple[str, ...]

    def make(self, rows: Sequence[Mapping[str, Any]], notes: Sequence[str]) -> Page:
        """The page of the rows of these checks, of which there is one at least; other rows are ignored."""
