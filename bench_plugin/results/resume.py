"""What a resumed run may reuse of a results file: the outcomes that depend on nothing that may be gone by now."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from bench_plugin.domain.outcome import Outcome
from bench_plugin.results.rows import outcome_of, parse_rows


def reusable_outcomes(path: Path, note: Callable[[str], None]) -> dict[str, Outcome]:
    """The outcomes that may be reused, by the key of their row; the last row of a cell has the word.

    ``note`` is told of rows that cannot be read. Raises UsageError for a file that is not a results file.
    """
    rows = parse_rows(path)
    for remark in rows.notes:
        note(f"resume: {remark}")
    last = {str(row.get("key")): row for row in rows.rows if row["kind"] == "cell"}
    found = {}
    for key, row in last.items():
        try:
            outcome = outcome_of(row)
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            note(f"resume: {path.name}: the row {key} is not complete ({error!r}); its cell is computed again")
            continue
        if outcome.reusable is True:
            found[key] = outcome
    return found
