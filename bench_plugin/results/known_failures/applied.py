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
    its known failure are written anew, and so is which signatures of generated graphs are known. Every header says the
    commit as ``known_failures``. A row that another one outvoted when files were merged is left alone.
    Raises UsageError as ``Expectations.match``.
    """
    written: list[Row] = []
    changes: dict[str, tuple[str, str]] = {}
    failed: dict[str, str] = {}  # of a resumed file the last row of a cell counts
    for found in rows:
        if found["kind"] == "header":
            written.append({**found, "known_failures": commit})
            continue
        if found["kind"] != "cell" or found.get("outvoted"):
            written.append(dict(found))
            continue
        row = _with_known_signatures(found, expectations)
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


def _with_known_signatures(row: Mapping[str, Any], expectations: Expectations) -> Mapping[str, Any]:
    """The row of a cell of generated graphs, in which signatures that were new are known where a row has them now.

    Those that were known name the row that they have now, whose number may be another one; where none has them they
    keep the old name. The first that is still new is the cell's own, so that the cell fails as long as there is one.
    Other rows stay.
    """
    numbers = row.get("numbers") or {}
    if not numbers.get("found") and not numbers.get("seen"):
        return row
    seen, found = [], []
    for one in numbers.get("seen") or ():
        expectation = expectations.of_signature(row["cell"], row["versions"], one)
        seen.append({**one, "row": expectation.where} if expectation is not None else dict(one))
    for one in numbers.get("found") or ():
        expectation = expectations.of_signature(row["cell"], row["versions"], one)
        if expectation is None:
            found.append(one)
            continue
        seen.append({**_signature(one), "row": expectation.where, "folder": one["folder"]})
    first = next((one for one in found if one.get("reproduced", True)), None)
    own = _signature(first) if first else numbers.get("signature")
    return {**row, "numbers": {**numbers, "seen": seen, "found": found, "signature": own}}


def _signature(one: Mapping[str, Any]) -> dict[str, Any]:
    """What a signature is made of, without what was found beside it."""
    return {name: one[name] for name in ("stage", "symptom", "operators", "message")}
