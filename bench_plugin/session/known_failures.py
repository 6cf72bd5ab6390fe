"""What expectations know of a searched cell: failures with the examples that show them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path

from bench_plugin.domain.cell import Cell
from bench_plugin.domain.errors import UsageError
from bench_plugin.generation.graphs import Graph, read_graph
from bench_plugin.generation.search import ANY, KnownFailure, Signature
from bench_plugin.results.expectations import Expectations


def known_failures(expectations: Expectations, cell: Cell, versions: Mapping[str, str]) -> Iterator[KnownFailure]:
    """Rows of the cell, and rows of its compiler's other cells. Raises UsageError for an example that is no graph."""
    for row in expectations.rows:
        if row.example is None or not row.holds(versions):
            continue
        own = row.selects(cell.axes())
        if not own and cell.compiler not in row.selector.get("compiler", ()):
            continue
        signature = Signature(str(row.stage), str(row.symptom), row.operators, row.message)
        example = _example(row.where, row.example)
        # What a tool does with any operator is tried again in the cell of the example's operator only.
        replayed = own and (ANY not in row.operators or cell.model in example.operators)
        yield KnownFailure(signature, example, row.where, own, replayed)


def _example(where: str, path: Path) -> Graph:
    try:
        return read_graph(json.loads(path.read_text("utf-8")))
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UsageError(f"{where}: example {path} cannot be read: {error}") from error
