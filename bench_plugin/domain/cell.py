"""The cell: one combination of values on the axes, for one check."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, fields
from enum import StrEnum
from functools import cache
from typing import Any

from bench_plugin.domain.axes import BY_NAME, Axis, Check, id_text
from bench_plugin.domain.precision import PRECISIONS, Precision, precision_of

__all__ = ["WHOLE", "Cell", "Check"]

WHOLE = 100  # percent: nothing is pruned


@dataclass(frozen=True, order=True)
class Cell:
    """A point of the matrix. An axis that its check does not have is the empty string, or opset 0.

    ``framework`` is the source of the model, ``importer_framework`` the one that imports it; they differ in an import
    from another framework. A user's ONNX file has the framework ``onnx`` and no exporter. ``graph`` is the
    pre-quantised or pre-converted graph at a reduced precision (``qdq``, ``w16`` ...); without one the tool rounds.

    ``kept`` is the percentage of channels that pruning keeps in the inner layers of a trained model; WHOLE is the model
    itself.

    The last four are swept by timed cells: ``batch`` samples in one call, ``threads`` of the runtime (0: as many as the
    run's settings say), ``streams`` of calls at the same time, and the operating ``mode`` of the board.
    """

    check: Check
    model: str
    framework: str
    exporter: str = ""
    opset: int = 0
    importer_framework: str = ""
    importer: str = ""
    compiler: str = ""
    precision: str = "fp32"
    target: str = "local"
    graph: str = ""
    kept: int = WHOLE
    batch: int = 1
    threads: int = 0
    streams: int = 1
    mode: str = ""

    def axes(self) -> dict[str, Any]:
        """The axes that this cell has, as plain data, in the order of the table of axes."""
        found: dict[str, Any] = {}
        for name, usual in _usual():
            value = getattr(self, name)
            if value and (usual is None or str(value) != usual):
                found[name] = str(value) if isinstance(value, StrEnum) else value
        return found

    @property
    def quantiser(self) -> str:
        """What rounds to the reduced precision: ``qdq`` or another prepared graph, or ``own`` for the tool itself."""
        if self.graph:
            return self.graph
        return "" if PRECISIONS[self.precision].computed else "own"

    @property
    def types(self) -> Precision:
        """The types that the cell asks for: those of its precision, as far as its graph rounds them."""
        return precision_of(self.precision, self.graph)

    @property
    def id(self) -> str:
        """The readable and stable id of the cell, which pytest shows in the brackets of the node id."""
        return re.sub(r"[^A-Za-z0-9_.+-]", "_", id_text(self._in_id))

    def _in_id(self, axis: Axis) -> str:
        """The value of an axis as an id shows it; the usual value is left out."""
        value = str(getattr(self, axis.name) or "")
        if axis.name == "graph":
            value = self.quantiser if self.compiler else value
            return "" if value == self.precision else value
        return "" if value == axis.usual else value

    @staticmethod
    def from_axes(axes: Mapping[str, Any]) -> Cell:
        """The inverse of :meth:`axes`, for the axes in a row. Raises ValueError for an unknown check."""
        return Cell(**{**axes, "check": Check(axes["check"])})


@cache
def _usual() -> tuple[tuple[str, str | None], ...]:
    """The names of the axes, each with the value that rows leave out: the usual one of an axis that few cells have."""
    axes = [BY_NAME[field.name] for field in fields(Cell)]
    return tuple((axis.name, axis.usual if axis.swept else None) for axis in axes)
