"""The rows of a finished run, judged again by the known failures of today: no cell is computed again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bench_plugin.results.known_failures.expectations import Expectations, Result, judge, known
from bench_plugin.results.rows import Row, outcome_of


@dataclass(frozen=True)
class Applied:
    """The rows as they are now, and what changed.

    ``changes`` counts cells by pytest's results of them, before and now; a pair of equal results has another cause or
    link than before. ``failed`` has a sentence for every cell that fails the run now: its key, its axes, the reason.
    """

    rows: tuple[Row, ...]
    changes: Mapping[tuple[str, str], int]
    failed: tuple[str, ...]


def applied(rows: Sequence[Mapping[str, Any]], expectations: Expectations, commit: str) -> Applied:
    """Judge every computed cell of a results file by ``expectations``, which are those of ``commit``.

    Status, stage, symptom and numbers of a cell are what the run found and stay; pytest's result of it and the cause of
    its known failure are written anew. Every header says the commit as ``known_failures``. A row that another one
    outvoted when files were merged is left alone. Raises UsageError as ``Expectations.match``.
    """
    written: list[Row] = []
    changes: dict[str, tuple[str, str]] = {}
    failed: dict[str, str] = {}  # of a resumed file the last row of a cell counts
    for row in rows:
        if row["kind"] == "header":
            written.append({**row, "known_failures": commit})
            continue
        if row["kind"] != "cell" or row.get("outvoted"):
            written.append(dict(row))
            continue
        outcome = outcome_of(row)
        expectation = expectations.match(row["cell"], outcome)
        judgement = judge(outcome, expectation)
        before, now = str(row.get("result")), str(judgement.result)
        expected = known(expectation, judgement)
        written.append({**row, "result": now, "expected": expected})
        key = row["key"]
        changes.pop(key, None)
        failed.pop(key, None)
        if before != now or row.get("expected") != expected:
            changes[key] = before, now
        if judgement.result is Result.FAILED:
            cell = " ".join(str(value) for value in row["cell"].values())
            failed[key] = f"{key}  {cell}: {judgement.reason or outcome.reason}"
    return Applied(tuple(written), Counter(changes.values()), tuple(failed.values()))
