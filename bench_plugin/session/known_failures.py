"""The known failures of a searched cell, with the examples that show them, from the expectations."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path

from bench_plugin.domain.cell import Cell
from bench_plugin.domain.errors import UsageError
from bench_plugin.generation.graphs import Graph, read_graph
from bench_plugin.generation.search import ANY, KnownFailure, Signature
from bench_plugin.results.known_failures.expectations import Expectations


def known_failures(expectations: Expectations, cell: Cell, versions: Mapping[str, str]) -> Iterator[KnownFailure]:
    """The failures of rows for the cell and for its compiler's other cells.

    Raises UsageError for an example that cannot be read as a graph.
    """
    for row in expectations.rows:
        if row.example is None or not row.holds(versions):
            continue
        own = row.selects(cell.axes())
        if not own and cell.compiler not in row.selector.get("compiler", ()):
            continue
        signature = Signature(str(row.stage), str(row.symptom), row.operators, row.signature.text)
        example = _example(row.where, row.example)
        # A failure with any operator is tried again only in the cell of its example's operator.
        replayed = own and (ANY not in row.operators or cell.model in example.operators)
        yield KnownFailure(signature, example, row.where, own, replayed)


def _example(where: str, path: Path) -> Graph:
    try:
        return read_graph(json.loads(path.read_text("utf-8")))
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UsageError(f"{where}: example {path} cannot be read: {error}") from error
