"""Whether each node of a model can be found again in the graph that a compiler made of it.

traced      a compiled node names it, and no other node of the model
fused into  the compiled nodes that name it name others, too, or are of another of the model's operators
lost        no compiled node names it

A compiled node names those that it says it comes from, those whose name stands in its own, and those whose output it
makes, or is named after. Nodes that depend on constants alone are computed at compile time and left out.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from bench_plugin.characterise.facts import Facts, Node


class Trace(StrEnum):
    """What became of a node."""

    TRACED = "traced"
    FUSED = "fused into"
    LOST = "lost"


@dataclass(frozen=True)
class CompiledNode:
    """A node of a compiled graph: ``names`` are the nodes that it says it comes from, ``tensors`` what it makes."""

    name: str
    operator: str
    names: tuple[str, ...] = ()
    tensors: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """Its name and operator, as far as it has them."""
        shown = self.name or ", ".join(self.tensors)
        return f"{shown} ({self.operator})" if self.operator else shown

    @staticmethod
    def read(row: Mapping[str, Any]) -> CompiledNode:
        """One row of ``compiled.json``, as the agent wrote it."""
        return CompiledNode(row["name"], row["operator"], tuple(row["names"]), tuple(row["tensors"]))


@dataclass(frozen=True)
class TracedNode:
    """A node of the model, what became of it, and the compiled nodes that name it."""

    name: str
    operator: str
    status: Trace
    by: tuple[str, ...]


@dataclass(frozen=True)
class Traceability:
    """The nodes of a model in a compiled graph of ``compiled`` nodes; ``shares`` of nodes by what became of them."""

    nodes: tuple[TracedNode, ...]
    compiled: int
    shares: Mapping[str, float]

    @property
    def named(self) -> float:
        """The share of the model's nodes that the compiled graph names."""
        return self.shares[Trace.TRACED] + self.shares[Trace.FUSED]


def traceability(facts: Facts, compiled: Sequence[CompiledNode]) -> Traceability:
    """What became of every node of a model in a compiled graph."""
    nodes = [node for node in facts.nodes if not _folded(node, facts)]
    names = {node.name for node in nodes}
    makers = {output: node.name for node in nodes for output in node.outputs if output}
    operators = {node.operator for node in nodes}
    holders: dict[str, list[tuple[CompiledNode, int]]] = {}
    for one in compiled:
        found = _named(one, names, makers)
        for name in found:
            holders.setdefault(name, []).append((one, len(found)))
    rows = []
    for node in nodes:
        by = holders.get(node.name, [])
        others = operators - {node.operator}
        alone = any(count == 1 and one.operator not in others for one, count in by)
        status = Trace.LOST if not by else Trace.TRACED if alone else Trace.FUSED
        rows.append(TracedNode(node.name, node.operator, status, tuple(dict.fromkeys(one.text for one, _ in by))))
    counts = Counter(row.status for row in rows)
    return Traceability(
        tuple(rows), len(compiled), {str(one): counts[one] / len(rows) if rows else 0.0 for one in Trace}
    )  # fmt: skip


def _named(one: CompiledNode, names: Iterable[str], makers: Mapping[str, str]) -> set[str]:
    """The nodes of the model that a compiled node names."""
    known = set(names)
    found: set[str] = set()
    for text in filter(None, (one.name, *one.names, *one.tensors)):
        if text in makers or text in known:
            found.add(text if text in known else makers[text])
        else:
            found |= {name if name in known else makers[name] for name in _within(text, (*known, *makers))}
    return found


def _within(text: str, names: Iterable[str]) -> set[str]:
    """The names that stand in a text as whole words, without those that are a part of a longer one there.

    >>> sorted(_within("fused /a/Conv_1", ["/a/Conv", "/a/Conv_1", "a"]))
    ['/a/Conv_1']
    """
    spans = [
        (match.start(), match.end(), name)
        for name in names
        if name in text
        for match in re.finditer(rf"(?<![\w/.]){re.escape(name)}(?![A-Za-z0-9])", text)
    ]
    return {
        name for start, end, name in spans
        if not any(a <= start and end <= b and (a, b) != (start, end) for a, b, _ in spans)
    }  # fmt: skip


def _folded(node: Node, facts: Facts) -> bool:
    """Whether a node depends on constants alone."""
    made = [name for name in node.outputs if name]
    return bool(made) and all(facts.tensor(name).constant for name in made)
