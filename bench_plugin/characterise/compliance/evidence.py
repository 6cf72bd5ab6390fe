"""What is known of a compiler before anything is compiled: declarations, operator cases, rows of other models."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from bench_plugin.characterise.compliance.cases import Tried
from bench_plugin.domain.axes import Check

MODEL_CHECKS = frozenset({Check.EQUIVALENCE, Check.QUALITY, Check.TIMING})
ONNX = "onnx"


@dataclass(frozen=True)
class Compiled:
    """A model that a compiler compiled at fp32 and that ran: a row of a results file.

    ``operators`` are those of its ONNX file by their names, ``opset`` is that of the default domain, ``size`` are the
    bytes of the file.
    """

    model: str
    key: str
    opset: int
    size: int
    operators: frozenset[str]


@dataclass(frozen=True)
class Evidence:
    """All that is known of one compiler.

    ``takes`` is what it declares to compile from, ``opsets`` the versions that it declares (0: it states no highest),
    ``listed`` the operators of its own list with their source, None where it has none. ``cases`` are those of the
    operators' suite by domain and operator, ``run`` is where they are from, ``reasons`` has the cause of known failures
    by case. ``compiled`` are models that passed.
    """

    compiler: str
    takes: tuple[str, ...] = (ONNX,)
    opsets: tuple[int, int] | None = None
    cases: Mapping[tuple[str, str], Sequence[Tried]] = field(default_factory=dict)
    run: str = ""
    reasons: Mapping[str, str] = field(default_factory=dict)
    compiled: tuple[Compiled, ...] = ()
    listed: frozenset[str] | None = None
    source: str = ""

    def beyond(self, opset: int) -> str:
        """Why the declaration excludes a file of that opset; empty where it does not."""
        if self.opsets is None or not opset:
            return ""
        low, high = self.opsets
        if opset < low:
            return f"opset {opset} is older than {low}, the oldest that it declares"
        return f"opset {opset} is newer than {high}, the newest that it declares" if high and opset > high else ""

    def passed_at(self, opset: int) -> int:
        """How many cases passed whose file has at least that opset, where it is too new; else at most that one."""
        newer = self.opsets is not None and opset > self.opsets[0]
        cases = {one.name: one for rows in self.cases.values() for one in rows if one.passed and one.opset}
        return sum(one.opset >= opset if newer else one.opset <= opset for one in cases.values())


def compiled_of(rows: Iterable[Mapping[str, Any]], compiler: str) -> tuple[Compiled, ...]:
    """The models that the compiler compiled from their ONNX files at fp32 and whose results agreed."""
    found = []
    for row in rows:
        cell = row.get("cell", {})
        if row["kind"] != "cell" or cell.get("compiler") != compiler or cell.get("check") not in MODEL_CHECKS:
            continue
        said = row["artefacts"].get("model.onnx")
        if row["status"] != "supported" or cell.get("precision") != "fp32" or not isinstance(said, Mapping):
            continue
        if not cell.get("exporter") and cell.get("framework") != ONNX:
            continue  # it was compiled from the framework's own model, not from the file
        opset = int((said.get("opsets") or {}).get("ai.onnx", 0))
        size = int(said.get("bytes") or 0)
        found.append(Compiled(cell["model"], row["key"], opset, size, frozenset(said.get("operators") or {})))
    return tuple(found)
