"""A model and several compilers: the verdict on every node, and what of the model each of them covers."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from bench_plugin.characterise.compliance.evidence import Evidence
from bench_plugin.characterise.compliance.judge import Asked, Compliance, Finding, judged
from bench_plugin.characterise.compliance.schemas import DEFAULT_DOMAIN, Schemas
from bench_plugin.characterise.facts import Facts
from bench_plugin.characterise.needs import Needs, needs

YES, PERHAPS, NO = "yes", "perhaps", "no"  # whether a compiler would take the whole model


@dataclass(frozen=True)
class NodeCompliance:
    """A node: ``signature`` as text, ``operations`` of one run, and the verdict of each compiler by name."""

    name: str
    operator: str
    within: str
    signature: str
    operations: int
    by_compiler: Mapping[str, Finding]


@dataclass(frozen=True)
class Coverage:
    """What a compiler covers: how many nodes by status, and the shares of nodes and operations that are supported.

    ``takes`` is yes where every node is supported, no where one is not, else perhaps. ``first`` is the first node of
    the file that is not supported, if there is one, and ``why`` says what is known of it.
    """

    compiler: str
    nodes: Mapping[str, int]
    node_share: float
    operation_share: float
    takes: str
    first: str
    why: str


@dataclass(frozen=True)
class Report:
    """The nodes of a model in the order of its file, and what each compiler covers.

    ``lower_bound`` says that operations of some nodes are not counted, so that shares of operations leave them out.
    """

    model: str
    opsets: Mapping[str, int]
    nodes: tuple[NodeCompliance, ...]
    compilers: tuple[Coverage, ...]
    operations: int
    lower_bound: bool


def complies(
    facts: Facts, evidences: Sequence[Evidence], schemas: Schemas, *, model: str, size: int = 0, batch: int = 1
) -> Report:
    """The verdicts on every node of the graph ``facts`` of the model of that name, whose file has ``size`` bytes."""
    needed = needs(facts, batch=batch)
    operations = _operations(needed)
    opset = facts.opsets.get(DEFAULT_DOMAIN, 0)
    known: dict[tuple[str, Asked], Finding] = {}
    rows = []
    for node in facts.nodes:
        signature = schemas.signature(node, facts)
        asked = Asked(signature, node.operator, node.domain, opset, model, size)
        verdicts = {}
        for evidence in evidences:
            place = (evidence.compiler, asked)
            if place not in known:
                known[place] = judged(asked, evidence, schemas)
            verdicts[evidence.compiler] = known[place]
        counts = operations[node.name, node.operator, node.within]
        text = signature.text if signature else f"{node.domain}.{node.operator}"
        rows.append(
            NodeCompliance(node.name, node.operator, node.within, text, counts.pop(0) if counts else 0, verdicts)
        )
    total = sum(row.operations for row in rows)
    return Report(
        model, dict(facts.opsets), tuple(rows), tuple(_coverage(one.compiler, rows, total) for one in evidences), total,
        needed.lower_bound,
    )  # fmt: skip


def _operations(needed: Needs) -> dict[tuple[str, str, str], list[int]]:
    """The operations of the layers by name, operator and place; several layers may have the same of these."""
    found: dict[tuple[str, str, str], list[int]] = defaultdict(list)
    for layer in needed.layers:
        count = layer.operations + sum(layer.other_operations.values())
        found[layer.name, layer.operator, layer.within].append(count)
    return found


def _coverage(compiler: str, rows: Sequence[NodeCompliance], total: int) -> Coverage:
    verdicts = [(row, row.by_compiler[compiler]) for row in rows]
    counts = Counter(str(found.status) for _, found in verdicts)
    covered = [row for row, found in verdicts if found.status is Compliance.SUPPORTED]
    stops = [pair for pair in verdicts if pair[1].status is Compliance.UNSUPPORTED]
    open_ones = [pair for pair in verdicts if pair[1].status not in (Compliance.SUPPORTED, Compliance.UNSUPPORTED)]
    first = next(iter(stops or open_ones), None)
    return Coverage(
        compiler, {str(status): counts[str(status)] for status in Compliance if counts[str(status)]},
        len(covered) / len(rows) if rows else 0.0, sum(row.operations for row in covered) / total if total else 0.0,
        NO if stops else PERHAPS if open_ones else YES,
        f"{first[0].name} ({first[0].operator})" if first else "", first[1].why if first else "",
    )  # fmt: skip
