"""Rows of known failures for generated graphs: each with a file that has its smallest graph, beside the rows."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bench_plugin.domain.cell import Check
from bench_plugin.domain.errors import UsageError
from bench_plugin.domain.outcome import Symptom
from bench_plugin.results.known_failures.new_failures import NewFailure
from bench_plugin.results.known_failures.row_toml import TO_BE_SAID, toml_value

EXAMPLES = "examples"  # the folder beside the rows
GRAPH, ROW = "graph.json", "expectation.toml"  # in the folder that a search writes for each failure that it found


def rows_with_examples(failure: NewFailure, reason: str, file: Path) -> list[str]:
    """The rows for ``file`` that cover a new failure; of generated graphs one for each that was found.

    Their graphs are copied to the folder of examples beside the file. Raises UsageError where a search's files are
    gone.
    """
    if failure.axes["check"] != Check.PROPERTY or failure.outcome.symptom == Symptom.UNSUPPORTED:
        return [failure.row_text(reason)]
    rows = []
    for one in _found(failure):
        folder = Path(one["folder"])
        try:
            text = (folder / ROW).read_text("utf-8")
            name = text.rpartition(f'"{EXAMPLES}/')[2].partition('"')[0]
            (file.parent / EXAMPLES).mkdir(parents=True, exist_ok=True)
            shutil.copyfile(folder / GRAPH, file.parent / EXAMPLES / name)
        except OSError as error:
            raise UsageError(
                f"cell {failure.key}: the files of {one['example']} are gone ({error}); run it again"
            ) from None
        rows.append(text.replace(toml_value(TO_BE_SAID), toml_value(reason)).replace("  # a copy of graph.json", ""))
    return rows


def _found(failure: NewFailure) -> list[Mapping[str, Any]]:
    """What the search found and no row covers."""
    found = failure.outcome.numbers.get("found") or []
    return [one for one in found if one.get("folder")]
