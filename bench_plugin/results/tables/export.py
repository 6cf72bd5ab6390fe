"""An export: the tables of rows of several sources in a folder, with the metadata of the dataset and a dictionary."""

from __future__ import annotations

import json
import os
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from bench_plugin.domain.errors import UsageError
from bench_plugin.results.checking.reading import read_source
from bench_plugin.results.rows import Row
from bench_plugin.results.tables.croissant import NAME, About, metadata
from bench_plugin.results.tables.dictionary import DICTIONARY, dictionary
from bench_plugin.results.tables.files import Format, write_tables

Note = Callable[[str], None]


@dataclass
class Exported:
    """What was exported: files, runs with their licences and contributors in order of first sight, and rows."""

    files: list[Path] = field(default_factory=list)
    runs: dict[str, None] = field(default_factory=dict)
    licences: dict[str, None] = field(default_factory=dict)
    contributors: dict[str, None] = field(default_factory=dict)
    rows: int = 0


def export(
    sources: Sequence[Path], folder: Path, form: Format, note: Note, *, name: str, licence: str = "",
    contributor: str = "",
) -> Exported:  # fmt: skip
    """Write tables, metadata (``croissant.json``) and dictionary (``dictionary.csv``) into a folder.

    ``licence`` and ``contributor`` are for the runs that do not say theirs. Of a run in several sources the one with
    most rows of it counts. Raises UsageError for sources that cannot be read and for a run without a licence, OSError,
    and EnvironmentMissing without DuckDB.
    """
    done = Exported()
    written = write_tables(_told(_once(sources, note, done), done, licence, contributor), folder, form)
    if not done.rows:
        raise UsageError("there is no row to export")
    about = About(name, tuple(done.licences), tuple(done.contributors), _today(), tuple(done.runs))
    _write(folder / DICTIONARY, dictionary())
    _write(folder / NAME, json.dumps(metadata(about, written), indent=2, ensure_ascii=False) + "\n")
    done.files = [*written.values(), folder / DICTIONARY, folder / NAME]
    return done


def _once(sources: Sequence[Path], note: Note, done: Exported) -> Iterator[Row]:
    """The rows of the sources, each run from the one that has most rows of it, as the index takes it."""
    places = _places(sources) if len(sources) > 1 else {}
    for source in sources:
        rows = read_source(source, note)
        left_out = {row["run"] for row in rows if places.get(row["run"], source) != source}
        if left_out:
            named = ", ".join(sorted(left_out)[:3])
            note(f"{source}: {len(left_out)} of its runs are taken from another source: {named}")
        kept = [row for row in rows if row["run"] not in left_out]
        done.runs |= dict.fromkeys(row["run"] for row in kept)
        yield from kept


def _places(sources: Iterable[Path]) -> dict[str, Path]:
    """The source of each run: the one with most rows of it, of equal ones the first."""
    most: dict[str, tuple[int, Path]] = {}
    for source in sources:
        counts = Counter(row["run"] for row in read_source(source, lambda _: None))
        for run, count in counts.items():
            if run not in most or count > most[run][0]:
                most[run] = count, source
    return {run: source for run, (_, source) in most.items()}


def _told(rows: Iterable[Row], done: Exported, licence: str, contributor: str) -> Iterator[Row]:
    """The rows, with a licence and a contributor in the headers that have none."""
    for row in rows:
        done.rows += 1
        yield _stated(row, done, licence, contributor) if row["kind"] == "header" else row


def _stated(header: Row, done: Exported, licence: str, contributor: str) -> Row:
    """A header with a licence, and with a contributor if there is one. Raises UsageError without a licence."""
    licence, contributor = header.get("licence") or licence, header.get("contributor") or contributor
    if not licence:
        raise UsageError(
            f"the run {header['run']} does not say its licence; give it with --licence, such as CC-BY-4.0, or with "
            "licence in the configuration, which new runs write into their rows"
        )
    done.licences[licence] = None
    if contributor:
        done.contributors[contributor] = None
    return header | {"licence": licence} | ({"contributor": contributor} if contributor else {})


def _today() -> str:
    """The date of the export, UTC; SOURCE_DATE_EPOCH wins, so that an export can be made again bit by bit."""
    return time.strftime("%Y-%m-%d", time.gmtime(float(os.environ.get("SOURCE_DATE_EPOCH", time.time()))))


def _write(path: Path, text: str) -> None:
    partial = path.with_name(f"{path.name}.{os.getpid()}.partial")
    try:
        partial.write_text(text, "utf-8")
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)
