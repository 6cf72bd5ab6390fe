"""One combination on the axes for one model and one check."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, fields
from enum import StrEnum
from typing import Any

from bench_plugin.domain.axes import Axis, Check, id_text
from bench_plugin.domain.precision import PRECISIONS

__all__ = ["Cell", "Check"]


@dataclass(frozen=True, order=True)
class Cell:
    """A frozen point of the matrix; an axis that the check does not have is the empty string (or opset 0).

    ``framework`` is where the model comes from, ``importer_framework`` where it is imported to: they differ in
    a cross-framework import. A plain ONNX file has framework ``onnx`` and no exporter. ``graph`` is the ready graph
    that a compiler is given at a reduced precision (``qdq``, ``w16`` ...); without one the tool rounds by itself.
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

    def axes(self) -> dict[str, Any]:
        """The axes that this cell has, as plain data, in the order of the table of axes."""
        return {f.name: _plain(getattr(self, f.name)) for f in fields(self) if getattr(self, f.name)}

    @property
    def quantiser(self) -> str:
        """Who makes the numbers of a reduced precision: ``qdq`` or another prepared graph, or the tool: ``own``."""
        if self.graph:
            return self.graph
        return "" if PRECISIONS[self.precision].computed else "own"

    @property
    def id(self) -> str:
        """Readable and stable: what stands between the brackets of the pytest node id."""
        return re.sub(r"[^A-Za-z0-9_.+-]", "_", id_text(self._in_id))

    def _in_id(self, axis: Axis) -> str:
        """An axis's value as an id shows it: what is usual is left out."""
        value = str(getattr(self, axis.name) or "")
        if axis.name == "graph":
            own = "own" if self.compiler and self.precision.startswith("w") else ""  # the tool rounds by itself
            value = value or own
            return "" if value == self.precision else value
        return "" if value == axis.usual else value

    @staticmethod
    def from_axes(axes: Mapping[str, Any]) -> Cell:
        """The inverse of :meth:`axes`, for rows read back."""
        return Cell(**{**axes, "check": Check(axes["check"])})


def _plain(value: Any) -> Any:
    return str(value) if isinstance(value, StrEnum) else value
