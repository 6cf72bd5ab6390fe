"""What can be asked of the index: the runs, the history of a cell, new failures, and cells that are not steady."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bench_plugin.domain.axes import AXES
from bench_plugin.domain.choices import nearest
from bench_plugin.domain.errors import UsageError
from bench_plugin.results.history import SHORTEST
from bench_plugin.results.identity import axes_of

if TYPE_CHECKING:
    from bench_plugin.results.tables.database import Connection

Plain = dict[str, Any]
TEXTS = frozenset({"result", "stage", "symptom", "place", "key", "reason", "commit"})  # of a point: empty for none
FAILED = "coalesce(result = 'failed', false)"  # of a cell that was decided before the run, pytest says nothing
KNOWN = "coalesce(result IN ('failed', 'xfailed'), false)"
RANKED = "SELECT id AS run, row_number() OVER (ORDER BY started NULLS FIRST, run) AS turn FROM runs"

RUNS = """
SELECT run, started, lines, computed, planned, total, profile, passed, failed, known, "commit", machine, bench_plugin,
       contributor, licence, source
FROM runs LEFT JOIN (
    SELECT run AS id, count(result) AS computed, count(*) FILTER (result = 'passed') AS passed,
           count(*) FILTER (result = 'failed') AS failed, count(*) FILTER (result = 'xfailed') AS known
    FROM results GROUP BY run) USING (id)
ORDER BY started NULLS FIRST, run
"""
CELL = """
SELECT runs.run, runs.started, status, result, stage, symptom, E, p50, instructions, place, key, reason,
       versions.versions, runs."commit"
FROM results JOIN runs ON runs.id = results.run LEFT JOIN versions ON versions.id = results.versions
WHERE results.cell = (SELECT id FROM cells WHERE cell = ?) ORDER BY runs.started NULLS FIRST, runs.run
"""
# The newest row of a cell up to the run, against its rows since; a cell that had no row before counts as new.
FAILURES = """
WITH ranked AS ({ranked}), since AS (SELECT turn FROM ranked JOIN runs ON runs.id = ranked.run WHERE runs.run = $since),
early AS (SELECT run, turn FROM ranked WHERE turn <= (SELECT turn FROM since)),
late AS (SELECT run, turn FROM ranked WHERE turn > (SELECT turn FROM since)),
begun AS (SELECT cell, min(turn) AS turn FROM results JOIN late USING (run) WHERE {failing} GROUP BY cell),
before AS (
    SELECT cell, arg_max(status, turn) AS status, arg_max({failing}, turn) AS failing
    FROM results JOIN early USING (run) WHERE cell IN (SELECT cell FROM begun) GROUP BY cell),
now AS (
    SELECT cell, arg_max(status, turn) AS status, arg_max({failing}, turn) AS failing
    FROM results JOIN late USING (run) WHERE cell IN (SELECT cell FROM begun) GROUP BY cell),
fresh AS (
    SELECT begun.cell, late.run FROM begun JOIN late USING (turn) LEFT JOIN before USING (cell)
    WHERE NOT coalesce(before.failing, false)),
first AS (SELECT results.* FROM results JOIN fresh USING (cell, run))
SELECT cells.cell, runs.run, before.status, first.status, first.stage, first.symptom, first.reason, first.key,
       now.status, now.failing
FROM first JOIN cells ON cells.id = first.cell JOIN runs ON runs.id = first.run JOIN now ON now.cell = first.cell
LEFT JOIN before ON before.cell = first.cell
ORDER BY now.failing DESC, cells.cell
"""
# A key is a hash of everything that decides an outcome: two outcomes of one key say that something else decides too.
FLAKY = """
WITH ranked AS ({ranked}), last AS (SELECT * FROM ranked ORDER BY turn DESC LIMIT $last),
rows AS (
    SELECT cell, key, concat_ws(' ', status, stage, symptom) AS said, status, turn FROM results JOIN last USING (run)
    WHERE key IS NOT NULL AND status NOT IN ('board-lost', 'Not provided', 'not run')),
suspects AS (SELECT DISTINCT cell FROM (SELECT cell FROM rows GROUP BY cell, key HAVING min(said) <> max(said))),
steps AS (
    SELECT cell, status, turn, said <> lag(said) OVER w AS changed, key = lag(key) OVER w AS same
    FROM rows SEMI JOIN suspects USING (cell) WINDOW w AS (PARTITION BY cell ORDER BY turn))
SELECT cells.cell AS cell, count(*) AS runs, count(*) FILTER (changed) AS changes,
       count(*) FILTER (changed AND same) AS unexplained, arg_max(status, turn) AS now,
       list(DISTINCT status ORDER BY status) AS statuses
FROM steps JOIN cells ON cells.id = steps.cell GROUP BY cells.cell
ORDER BY unexplained DESC, changes DESC, cells.cell
"""


@dataclass(frozen=True)
class Point:
    """A cell in one run. ``p50`` is in seconds; ``versions`` are those that changed since the point before."""

    run: str
    started: str
    status: str
    result: str
    stage: str
    symptom: str
    E: float | None
    p50: float | None
    instructions: int | None
    place: str
    key: str
    reason: str
    commit: str
    versions: Mapping[str, tuple[str, str]]
    changed: bool

    def plain(self) -> Plain:
        """Plain data for JSON."""
        return {**vars(self), "versions": {name: list(pair) for name, pair in self.versions.items()}}


def runs(index: Connection) -> list[Plain]:
    """The runs, oldest first, with the numbers of their cells that passed, failed and are known failures."""
    return _plain(index, RUNS)


def cells_named(index: Connection, words: Sequence[str]) -> list[str]:
    """The canonical texts of the cells that ``words`` mean, in their order.

    That is the canonical text itself, a key or its unique beginning, or values of axes, of which a cell has all.
    Raises UsageError where there is no such cell.
    """
    if len(words) == 1:
        if index.execute("SELECT 1 FROM cells WHERE cell = ?", list(words)).fetchone():
            return list(words)
        if found := _by_key(index, words[0]):
            return found
    wanted = [word.casefold() for word in words]
    every = [cell for (cell,) in index.execute("SELECT cell FROM cells ORDER BY cell").fetchall()]
    found = [cell for cell in every if _has(cell, wanted)]
    if not found:
        raise UsageError(_no_cell(words, every))
    return found


def history(index: Connection, cell: str) -> list[Point]:
    """A cell in every run that has it, oldest first."""
    points: list[Point] = []
    before: dict[str, str] = {}
    for line in _plain(index, CELL, [cell]):
        now = _versions(line.pop("versions")) or before
        said: Plain = {name: "" if value is None and name in TEXTS else value for name, value in line.items()}
        versions = _between(before, now) if points else {}
        changed = not points or (said["status"], said["result"]) != (points[-1].status, points[-1].result)
        points.append(Point(**said, versions=versions, changed=changed))
        before = now
    return points


def failures(index: Connection, since: str, *, known: bool = False) -> list[Plain]:
    """Cells that failed in a run after ``since`` and did not in their newest run until then; with ``known`` also
    known failures that are new. Those that still fail come first. Raises UsageError for an unknown run.
    """
    sql = FAILURES.format(ranked=RANKED, failing=KNOWN if known else FAILED)
    heads = ("cell", "run", "before", "status", "stage", "symptom", "reason", "key", "now", "still")
    lines = index.execute(sql, {"since": run_named(index, since)}).fetchall()
    return [dict(zip(heads, line, strict=True)) for line in lines]


def flaky(index: Connection, last: int) -> list[Plain]:
    """Cells with several outcomes of one key in the last runs: ``changes`` of the outcome, of which ``unexplained``
    from one run to the next with the same key.
    """
    return _plain(index, FLAKY.format(ranked=RANKED), {"last": last})


def run_named(index: Connection, name: str) -> str:
    """The run that ``name`` means: its id or a unique beginning of it. Raises UsageError where there is none."""
    names = [run for (run,) in index.execute("SELECT run FROM runs ORDER BY started NULLS FIRST, run").fetchall()]
    found = [run for run in names if run == name] or [
        run for run in names if len(name) >= SHORTEST and run.startswith(name)
    ]
    if len(found) > 1:
        raise UsageError(f"{name}: {len(found)} runs of the index begin so; give more of the run id")
    if not found:
        newest = f"the newest are {', '.join(names[-3:])}" if names else "it has none"
        raise UsageError(f"{name}: no run of the index has this id ({newest}); bench history runs lists them")
    return str(found[0])


def _by_key(index: Connection, key: str) -> list[str]:
    if len(key) < SHORTEST:
        return []
    sql = (
        "SELECT DISTINCT cells.cell FROM results JOIN cells ON cells.id = results.cell "
        "WHERE key = $key OR starts_with(key, $key) ORDER BY cells.cell"
    )
    return [cell for (cell,) in index.execute(sql, {"key": key}).fetchall()]


def _no_cell(words: Sequence[str], cells: Sequence[str]) -> str:
    said = f"{' '.join(words)}: none of the {len(cells)} cells of the index has this key or these values on its axes"
    values = {str(value) for cell in cells for value in axes_of(cell).values()}
    unknown = [word for word in words if not any(_has(cell, [word.casefold()]) for cell in cells)]
    near = [one for word in unknown for one in nearest(word, values)]
    return f"{said}; did you mean {', '.join(near)}?" if near else f"{said}, such as the name of a model or a compiler"


def _has(cell: str, words: Sequence[str]) -> bool:
    """Whether every word is a value of the cell, or ``axis=value`` of it; it also has the usual values left out."""
    axes = {one.name: one.usual for one in AXES if one.usual} | axes_of(cell)
    axes = {name: str(value).casefold() for name, value in axes.items()}
    values = {*axes.values(), *(f"{name}={value}" for name, value in axes.items())}
    return all(word in values for word in words)


def _plain(index: Connection, sql: str, values: Mapping[str, Any] | Sequence[Any] = ()) -> list[Plain]:
    cursor = index.execute(sql, values)
    heads = [column[0] for column in cursor.description]
    return [
        {head: _time(value) if head == "started" else value for head, value in zip(heads, line, strict=True)}
        for line in cursor.fetchall()
    ]


def _versions(text: str | None) -> dict[str, str]:
    found = json.loads(text) if text else {}
    return {str(name): str(version) for name, version in found.items()} if isinstance(found, dict) else {}


def _between(before: Mapping[str, str], now: Mapping[str, str]) -> Mapping[str, tuple[str, str]]:
    names = sorted({*before, *now})
    return {name: (before.get(name, ""), now.get(name, "")) for name in names if before.get(name) != now.get(name)}


def _time(value: Any) -> str:
    return f"{value:%Y-%m-%dT%H:%M:%SZ}" if value else ""
