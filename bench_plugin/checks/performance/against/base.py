"""The run that is measured against: its rows by cell, and the artefacts that they name."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bench_plugin.domain.cell import Cell
from bench_plugin.pipeline.cache import Cache
from bench_plugin.pipeline.cache.search import Artefacts
from bench_plugin.pipeline.stages import Done
from bench_plugin.results.rows import Row, read_rows

COMPILE = "compile"


class Missing(Exception):
    """Why a cell cannot be measured against the base; the text says what is not there, and what would be right."""


class Base:
    """The rows of a results file, whose artefacts are looked up in the cache of stages; for several threads."""

    def __init__(self, path: Path, cache: Cache) -> None:
        self._rows = read_rows(path).rows
        self._cells = {_place(row["cell"]): row for row in self._rows if row["kind"] == "cell"}
        self._cache = cache
        self._lock = threading.Lock()
        self._artefacts: Artefacts | None = None
        self.name = self.run or path.name

    @property
    def run(self) -> str:
        """The id of the run; empty where the file does not say it."""
        return next((str(row.get("run", "")) for row in self._rows if row["kind"] == "header"), "")

    def row(self, cell: Cell) -> Row:
        """The row of a cell. Raises Missing."""
        row = self._cells.get(_place(cell.axes()))
        if row is None:
            raise Missing(f"run {self.name} has no row of this cell")
        if row["status"] != "supported":
            raise Missing(f"in run {self.name} this cell was {row['status']}")
        return row

    def artefact(self, row: Row) -> Done:
        """The compiled stage whose files are those that the row names. Raises Missing."""
        digests = artefact_of(row)
        if not digests:
            raise Missing(f"the row in run {self.name} names no artefact: its compiler leaves none")
        with self._lock:
            if self._artefacts is None:
                self._artefacts = Artefacts(self._cache, COMPILE)
            found = self._artefacts.find(digests)
        if found is None:
            name, digest = next(iter(digests.items()))
            raise Missing(
                f"the artefact of run {self.name} ({name}, {digest[:12]}) is not in the cache {self._cache.folder} any "
                "more; compile it again at the base's commit with this cache, or keep more (bench cache info)"
            )
        key, entry = found
        return Done(
            key=key, meta=entry.meta, arrays=entry.arrays, files=entry.files, failure=None, digests=entry.digests,
            cached=True,
        )  # fmt: skip


def artefact_of(row: Mapping[str, Any]) -> dict[str, str]:
    """SHA-256 of the files of a row's artefact, by name."""
    files = (row.get("artefacts") or {}).items()
    return {name: file["sha256"] for name, file in files if isinstance(file, Mapping) and "sha256" in file}


def _place(axes: Mapping[str, Any]) -> str:
    return str(sorted(axes.items()))
