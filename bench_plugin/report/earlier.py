"""Earlier runs of the same selection of cells, for pages that show a figure over time."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench_plugin.domain.errors import UsageError
from bench_plugin.results.history import earlier_runs
from bench_plugin.results.rows import Row, read_rows


@dataclass(frozen=True)
class EarlierRuns:
    """Results files of earlier runs, newest first; they are read only when a page asks for them."""

    paths: tuple[Path, ...] = ()

    def of_selection(self, rows: Sequence[Mapping[str, Any]]) -> Iterator[Sequence[Row]]:
        """The rows of every run that selected the same cells as ``rows``; a file that cannot be read is left out."""
        wanted = {row["hash"] for row in rows if row["kind"] == "plan" and "hash" in row}
        for path in self.paths:
            if _hash_of(path) in wanted:
                try:
                    yield read_rows(path).rows
                except UsageError:
                    continue


NONE_EARLIER = EarlierRuns()


def beside(results: Path) -> EarlierRuns:
    """The runs in the history of a results file; those that are older than it, where it is in the history itself."""
    folder = results.parent.parent / results.name if results.parent.name == "history" else results
    paths = earlier_runs(folder)
    return EarlierRuns(tuple(path for path in paths if path != results and not _later(path, results)))


def _later(path: Path, results: Path) -> bool:
    """Whether a file of the history is of a later run than another file of it; run ids sort by time."""
    return results.parent == path.parent and path.stem > results.stem


def _hash_of(path: Path) -> str:
    """The hash of the plan, which is in one of the first two lines; empty where there is none."""
    try:
        with path.open(encoding="utf-8") as file:
            rows = [json.loads(line) for line in (file.readline(), file.readline()) if line.strip()]
    except (OSError, ValueError):
        return ""
    return next((str(row.get("hash", "")) for row in rows if isinstance(row, dict) and row.get("kind") == "plan"), "")
