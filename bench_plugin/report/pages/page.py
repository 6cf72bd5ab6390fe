"""A page with the grids that a terminal shows of it, its pages of details, and how they are written to files."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from bench_plugin.report.blocks import Document, Table
from bench_plugin.report.earlier import EarlierRuns
from bench_plugin.report.entries import Entry
from bench_plugin.report.formats import html, markdown, restructured, tabular

FORMATS = ("md", "rst", "html", "csv", "json")
TEXTS = (markdown, restructured, html)


@dataclass(frozen=True)
class Page:
    """``name`` is that of its files, ``grids`` are the (heading, table) that a terminal shows of it.

    ``details`` are further documents by the ending of their names: ``tvm`` of page ``equivalence`` is written to
    ``equivalence-tvm``. They have no CSV and no JSON of their own.
    """

    name: str
    document: Document
    grids: tuple[tuple[str, Table], ...]
    entries: tuple[Entry, ...]
    data: Mapping[str, Any]
    remarks: tuple[str, ...]
    details: Mapping[str, Document] = field(default_factory=dict)

    def write(self, folder: Path, *, name: str = "", formats: Sequence[str] = FORMATS) -> list[Path]:
        """Write ``<name>.<format>`` to ``folder`` for each of the formats, and the pages of details.

        Pages of details that an earlier run left under this name and this one does not have are removed. Returns the
        paths of the page itself.
        """
        name = name or self.name
        folder.mkdir(parents=True, exist_ok=True)
        written = {name: self.document} | {detail_name(name, end): one for end, one in self.details.items()}
        for stale in set(details_beside(folder, name)) - set(written):
            for module in TEXTS:
                (folder / f"{stale}.{module.SUFFIX}").unlink(missing_ok=True)
        for module in TEXTS:
            if module.SUFFIX in formats:
                for stem, document in written.items():
                    _write(folder / f"{stem}.{module.SUFFIX}", module.render(document))
        if "csv" in formats:
            _write(folder / f"{name}.csv", tabular.render_csv(self.entries))
        if "json" in formats:
            data = {**self.data, "details": sorted(set(written) - {name})}
            _write(folder / f"{name}.json", json.dumps(data, indent=1, allow_nan=False) + "\n")
        return [folder / f"{name}.{suffix}" for suffix in formats]


class PageModule(Protocol):
    """What a module of this folder offers: the page of one kind of checks. Add it to the list in registry.py."""

    NAME: str
    CHECKS: tuple[str, ...]

    def make(self, rows: Sequence[Mapping[str, Any]], notes: Sequence[str], earlier: EarlierRuns) -> Page:
        """The page of the rows of these checks, of which there is one at least; other rows are ignored.

        ``earlier`` are runs before, for figures over time.
        """


def detail_name(page: str, end: str) -> str:
    """The name of a page of details, without suffix: letters, digits and hyphens, also for ``onnxruntime[xnnpack]``."""
    return f"{page}-" + "".join(letter if letter.isalnum() else "-" for letter in end).strip("-")


def details_beside(folder: Path, name: str) -> list[str]:
    """The names of the pages of details that the JSON of a page lists; none where there is no such file."""
    try:
        listed = json.loads((folder / f"{name}.json").read_text("utf-8"))["details"]
    except (OSError, ValueError, KeyError, TypeError):
        return []
    return [one for one in listed if isinstance(one, str) and one.startswith(f"{name}-") and "/" not in one]


def _write(path: Path, text: str) -> None:
    path.write_text(text, "utf-8", errors="backslashreplace")
