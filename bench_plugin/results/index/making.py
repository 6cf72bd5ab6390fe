"""Making the index: which sources there are, which of them changed, and making it again from all of them."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

from bench_plugin.domain.errors import UsageError
from bench_plugin.results.checking.reading import read_source, sources
from bench_plugin.results.history import earlier_runs, folder_of
from bench_plugin.results.index.loading import put_export, put_rows
from bench_plugin.results.index.store import NAME, WAIT, IndexDamaged, IndexOutdated, opened, replacement
from bench_plugin.results.rows import Row
from bench_plugin.results.tables.columns import LOSSLESS
from bench_plugin.results.tables.database import require_duckdb
from bench_plugin.results.tables.files import MAIN, first_line, write_tables
from bench_plugin.results.writer import in_use

if TYPE_CHECKING:
    from bench_plugin.results.tables.database import Connection

Note = Callable[[str], None]
KEPT = "kept"  # folder in the history: runs as Parquet, which no later run removes
SHOWN = 5  # runs that a message names


@dataclass
class Made:
    """What one indexing did: cells by run, the number of sources without a change, and whether all were read again."""

    runs: dict[str, int] = field(default_factory=dict)
    unchanged: int = 0
    rebuilt: bool = False


def index_of(results: Path) -> Path:
    """The index of the runs of a results file."""
    return folder_of(results) / NAME


def own_sources(results: Path) -> list[Path]:
    """The results file, its history, and the runs of the history that were kept."""
    kept = sorted((folder_of(results) / KEPT).glob(f"*/{MAIN}"))
    newest = [results] if results.is_file() else []
    return [*(path.parent for path in kept), *reversed(earlier_runs(results)), *newest]


def update(path: Path, given: Sequence[Path], results: Path, note: Note, *, rebuild: bool = False, forget: bool = False,
           wait: float = WAIT) -> Made:  # fmt: skip
    """Bring the index up to date with the sources ``given``, or with the results file and its history.

    With ``rebuild`` a new index is made from these, from the results file's history and from the sources that the old
    one names, and takes its place; runs that none of them has any more are dropped only with ``forget``.
    Raises UsageError for sources that are none and for runs that would be lost, and what :func:`store.opened` raises.
    """
    chosen = sources(given) if given else own_sources(results)
    if not chosen and not path.is_file():
        raise UsageError(f"{results}: there is no results file, and no history beside it, that could be indexed")
    path.parent.mkdir(parents=True, exist_ok=True)
    if not rebuild:
        try:
            with opened(path, write=True, wait=wait) as index:
                return _load(index, chosen, results, note)
        except (IndexDamaged, IndexOutdated) as error:
            note(f"{error}; doing that now")
    return _rebuild(path, chosen, results, note, forget=forget, wait=wait)


def _rebuild(path: Path, chosen: Sequence[Path], results: Path, note: Note, *, forget: bool, wait: float) -> Made:
    if not path.is_file():
        return _remade(path, chosen, results, {}, note, forget=forget)
    try:
        with opened(path, write=True, wait=wait) as old:  # held until the new one is in its place
            known = _known(old)
            return _remade(path, chosen, results, known, note, forget=forget)
    except (IndexDamaged, IndexOutdated):
        aside = path.with_name(f"{path.name}.unusable")
        os.replace(path, aside)
        note(f"the old index is {aside} now; sources outside {folder_of(results)} must be given to be in the new one")
    return _remade(path, chosen, results, {}, note, forget=forget)


def _known(old: Connection) -> Mapping[str, str]:
    """The runs of an index and where their rows are. Raises IndexDamaged where it cannot say that."""
    try:
        old.execute("CHECKPOINT")
        return dict(old.execute("SELECT run, source FROM runs").fetchall())
    except require_duckdb().Error as error:
        raise IndexDamaged(first_line(error)) from error


def _remade(
    path: Path, chosen: Sequence[Path], results: Path, known: Mapping[str, str], note: Note, *, forget: bool
) -> Made:
    named = [source for source in map(Path, dict.fromkeys(known.values())) if source.exists()]
    every = list(dict.fromkeys([*named, *own_sources(results), *chosen]))
    with replacement(path) as new, opened(new, write=True) as index:
        made = _load(index, every, results, note)
        lost = [f"{run} (was in {source})" for run, source in known.items() if run not in made.runs]
        if lost and not forget:
            raise UsageError(
                f"{path}: the rows of {len(lost)} runs are only in the index any more, so it stays as it is: "
                f"{', '.join(lost[:SHOWN])}{', ...' * (len(lost) > SHOWN)}. Give the files of these runs, or say "
                "--forget to drop them"
            )
    made.rebuilt = True
    return made


def _load(index: Connection, chosen: Iterable[Path], results: Path, note: Note) -> Made:
    made = Made()
    seen = {path: (size, changed) for path, size, changed in index.execute("SELECT * FROM sources").fetchall()}
    for source in chosen:
        if source == results and in_use(source):
            note(f"{source}: a run is writing it; its rows are indexed when it is over")
            continue
        state = _state(source)
        if seen.get(str(source)) == state:
            made.unchanged += 1
            continue
        place, runs = _put(index, source, results, note)
        made.runs |= runs
        for path, about in ((source, state), (place, _state(place))):
            index.execute("INSERT OR REPLACE INTO sources VALUES (?, ?, ?)", [str(path), *about])
            seen[str(path)] = about
    return made


def _put(index: Connection, source: Path, results: Path, note: Note) -> tuple[Path, Mapping[str, int]]:
    """Put a source into the index; returns where its rows stay, and the cells of its runs that were put."""
    if source.is_dir():
        return source, put_export(index, source)
    rows = read_source(source, note)
    place = source
    if rows and source.parent in (results.parent, folder_of(results)):
        place = folder_of(results) / KEPT / _folder_name(rows)  # because a later run removes this file
        write_tables(rows, place, "parquet", LOSSLESS)
    return place, put_rows(index, rows, place)


def _folder_name(rows: Iterable[Row]) -> str:
    """The name of the folder that keeps rows: the run's id, and of several runs also what tells their files apart."""
    runs = sorted({row["run"] for row in rows})
    name = quote(runs[0], safe="").replace(".", "%2E")
    digest = hashlib.sha256("\0".join(runs).encode("utf-8", "backslashreplace")).hexdigest()
    return name if len(runs) == 1 else f"{name}-and-{len(runs) - 1}-{digest[:12]}"


def _state(source: Path) -> tuple[int, int]:
    """The size of a source in bytes and the time of its last change in nanoseconds. Raises OSError."""
    about = (source / MAIN if source.is_dir() else source).stat()
    return about.st_size, about.st_mtime_ns
