"""One results file from several: a pure function of their rows, that takes them in any order and any number of times.

What is kept of a set of files is their union, and of every cell one row for each verdict that it got, so that
merging is commutative, associative and idempotent: a merged file can be merged again.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bench_plugin.report.merging.plans import Plans
from bench_plugin.report.statuses import NOT_RUN, severity
from bench_plugin.results.rows import Row, of_run

OUTVOTED = "outvoted"  # the key of a row beside which another run has a worse verdict of the same cell, that counts
COPIED = "logs/"  # begins the log of a row whose log was copied


@dataclass(frozen=True)
class Source:
    """The rows of one results file; ``name`` is how messages call it."""

    name: str
    rows: Sequence[Mapping[str, Any]]


@dataclass(frozen=True)
class Verdict:
    """What one run says of a cell, and the files that say it."""

    status: str
    stage: str
    symptom: str
    run: str
    files: tuple[str, ...]

    @property
    def text(self) -> str:
        """Such as ``ERROR (crash at export)``."""
        how = " at ".join(part for part in (self.symptom, self.stage) if part)
        return f"{self.status} ({how})" if how else self.status


@dataclass(frozen=True)
class Conflict:
    """A cell of which the files say different things; the worst verdict, which is the first one, counts."""

    cell: Mapping[str, Any]
    verdicts: tuple[Verdict, ...]


@dataclass(frozen=True)
class Merged:
    """The rows of a merged file, what contradicted itself, and sentences for a person on what is missing or mixed."""

    rows: tuple[Row, ...]
    conflicts: tuple[Conflict, ...]
    notes: tuple[str, ...]


@dataclass(frozen=True)
class _Found:
    """A row of a computed cell, and the name of the file that it came from."""

    row: Row
    file: str


def merge(sources: Sequence[Source], *, mixed: bool = False) -> Merged:
    """Merge the rows of results files.

    Raises UsageError for shards of plans that have cells in common and are not the same plan, unless ``mixed``.
    """
    plans, headers = Plans(), set[str]()
    declared: dict[str, Row] = {}
    cells: dict[str, list[_Found]] = {}
    for source in sources:
        for row in _counting(source.rows):
            if row["kind"] == "header":
                headers.add(_text(row))
            elif row["kind"] == "plan":
                plans.add(row, source.name)
            elif row["kind"] == "cell":
                cells.setdefault(_cell(row), []).append(_Found(row, source.name))
            elif row["status"] != NOT_RUN:
                declared[_cell(row)] = max(declared.get(_cell(row), row), row, key=_declared_rank)
    if not mixed:
        plans.check()
    judged = {cell: _ranked(found) for cell, found in cells.items()}
    decided = {cell: row for cell, row in declared.items() if cell not in cells}
    left = dict(plans.not_run({*cells, *decided}))
    opening = sorted([*map(json.loads, headers), *plans.rows()], key=_opening_rank)
    rows = (
        *opening,
        *(decided[cell] for cell in sorted(decided)),
        *(left[cell] for cell in sorted(left)),
        *(row for cell in sorted(judged) for row in _marked(judged[cell])),
    )
    conflicts = tuple(_conflict(cells[cell], judged[cell]) for cell in sorted(judged) if len(judged[cell]) > 1)
    return Merged(rows, conflicts, tuple(plans.notes(len(left)) + _mixtures(opening)))


def _counting(rows: Iterable[Mapping[str, Any]]) -> list[Row]:
    """The rows that count, each with the id of its run: of a resumed file the last row of a cell.

    A row that another one outvoted when files were merged counts as it did then.
    """
    run, found, last = "", [], {}
    for one in rows:
        run = str(one["run"]) if one["kind"] == "header" and one.get("run") else run
        row = of_run(one, str(one.get("run") or run))
        if row["kind"] == "cell" and not row.pop(OUTVOTED, False):
            last[_cell(row)] = row
        else:
            found.append(row)
    return [*found, *last.values()]


def _ranked(found: Sequence[_Found]) -> list[Row]:
    """One row for each verdict on a cell, the worst verdict first: of equal verdicts that of the newest run."""
    rows: dict[tuple[Any, ...], Row] = {}
    for one in found:
        place = _verdict(one.row)
        rows[place] = max(rows.get(place, one.row), one.row, key=_newest)
    return [rows[place] for place in sorted(rows, key=lambda place: (severity(place[0]), place))]


def _marked(ranked: Sequence[Row]) -> list[Row]:
    """The rows of a cell as a file has them: the one that counts is the last one, the others say that it does not."""
    worst, *others = ranked
    return [*({**row, OUTVOTED: True} for row in others), worst]


def _conflict(found: Sequence[_Found], ranked: Sequence[Row]) -> Conflict:
    verdicts = []
    for row in ranked:
        files = {one.file for one in found if _verdict(one.row) == _verdict(row)}
        status, stage, symptom = _verdict(row)
        verdicts.append(Verdict(status, stage, symptom, str(row.get("run", "")), tuple(sorted(files))))
    return Conflict(ranked[0]["cell"], tuple(verdicts))


def _mixtures(rows: Sequence[Row]) -> list[str]:
    """What the runs were not all made with: their commits, and versions in their locks."""
    headers = [row for row in rows if row["kind"] == "header"]
    commits = sorted({str(row.get("commit") or "none") for row in headers})
    found = [f"the runs are of {len(commits)} commits: {', '.join(commits)}"] if len(commits) > 1 else []
    versions: dict[str, set[str]] = {}
    for row in headers:
        for toolchain, lock in (row.get("versions") or {}).items():
            for name, version in lock.items():
                versions.setdefault(f"{name} of toolchain {toolchain}", set()).add(str(version))
    several = [f"{name}: {', '.join(sorted(seen))}" for name, seen in sorted(versions.items()) if len(seen) > 1]
    return [*found, *(f"the runs have different versions of {text}" for text in several)]


def _verdict(row: Mapping[str, Any]) -> tuple[str, str, str]:
    return str(row["status"]), str(row.get("stage") or ""), str(row.get("symptom") or "")


def _newest(row: Mapping[str, Any]) -> tuple[Any, ...]:
    """Run ids sort by time; of one run the row whose log is at hand, and then any, but always the same."""
    return str(row.get("run", "")), str(row.get("log") or "").startswith(COPIED), _text(row)


def _declared_rank(row: Mapping[str, Any]) -> tuple[Any, ...]:
    return -severity(row["status"]), *_newest(row)


def _opening_rank(row: Mapping[str, Any]) -> tuple[Any, ...]:
    """Run by run, each with its header before its plan."""
    return str(row.get("run", "")), row["kind"] != "header", _text(row)


def _cell(row: Mapping[str, Any]) -> str:
    return _text(row["cell"])


def _text(value: Mapping[str, Any]) -> str:
    return json.dumps(value, sort_keys=True, allow_nan=False)
