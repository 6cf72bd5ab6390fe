"""How ``bench complies`` shows its verdicts: nodes x compilers, the evidence, and what each compiler covers."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping, Sequence

from bench_plugin.characterise.compliance.coverage import NO, PERHAPS, YES, Coverage, Report
from bench_plugin.characterise.compliance.judge import Compliance, Finding
from bench_plugin.characterise.compliance.traceability import Trace
from bench_plugin.cli.shared.compliance.tracing import Traced
from bench_plugin.report.blocks import Table, TableCell
from bench_plugin.report.formats.terminal import lines

ORDER = (YES, PERHAPS, NO)


def print_report(report: Report, runs: Mapping[str, str], *, nodes: bool) -> None:
    """Print the verdicts; ``runs`` are those that operator cases are from, by compiler."""
    opsets = ", ".join(f"{name} {version}" for name, version in report.opsets.items())
    print(f"{report.model}: {len(report.nodes)} nodes, opset {opsets}, {report.operations:,} operations per run")
    if report.lower_bound:
        print("operations of some nodes are not counted (bench needs names them); shares of operations leave them out")
    if nodes:
        print()
        _draw(_nodes(report))
        print("\nwhy\n")
        for line in _reasons(report):
            print(line)
    print()
    _draw(_summary(report))
    print()
    for line in _verdicts(report.compilers):
        print(line)
    if runs:
        print(f"operator cases of {_grouped(runs)}")


def _draw(table: Table) -> None:
    for line in lines(table, shutil.get_terminal_size().columns):
        print("".join(text for text, _ in line).rstrip())


def _nodes(report: Report) -> Table:
    """Nodes x compilers."""
    names = [one.compiler for one in report.compilers]
    rows = []
    for node in report.nodes:
        place = f"{node.name} in {node.within}" if node.within else node.name
        verdicts = (str(node.by_compiler[name].status) for name in names)
        rows.append(tuple(map(TableCell, (place, node.operator, *verdicts))))
    return Table(("node", "operator", *names), tuple(rows), keys=2)


def _reasons(report: Report) -> Iterator[str]:
    """One line for each verdict on a signature with its evidence, and for which compilers it holds; the worst first."""
    found: dict[tuple[str, Finding], list[str]] = {}
    for node in report.nodes:
        for name, finding in node.by_compiler.items():
            holders = found.setdefault((node.signature, finding), [])
            if name not in holders:
                holders.append(name)
    rank = list(Compliance)
    for (signature, finding), names in sorted(found.items(), key=lambda one: -rank.index(one[0][1].status)):
        evidence = f", {finding.evidence}" if finding.evidence else ""
        shown = f" [{', '.join(finding.shown)}]" if finding.shown else ""
        yield f"{finding.status}{evidence}: {signature} by {', '.join(names)}: {finding.why}{shown}"


def _summary(report: Report) -> Table:
    """A line per compiler; those that would take the whole model first."""
    rows = []
    for one in sorted(report.compilers, key=lambda one: (ORDER.index(one.takes), -one.node_share, one.compiler)):
        counts = (str(one.nodes.get(str(status), "")) for status in Compliance)
        texts = (one.compiler, one.takes, *counts, f"{one.node_share:.1%}", f"{one.operation_share:.1%}")
        rows.append(tuple(map(TableCell, texts)))
    heads = ("compiler", "whole model", *map(str, Compliance), "nodes covered", "operations covered")
    return Table(heads, tuple(rows))


def _verdicts(compilers: Sequence[Coverage]) -> Iterator[str]:
    takers = [one.compiler for one in compilers if one.takes == YES]
    yield f"whole model: {', '.join(takers) or 'no compiler is known to take it'}"
    for one in compilers:
        if one.takes != YES and one.first:
            stops = "stops at" if one.takes == NO else "not certain from"
            yield f"{one.compiler} {stops} {one.first}: {one.why}"


def _grouped(runs: Mapping[str, str]) -> str:
    """Runs with the compilers whose cases are of them."""
    found: dict[str, list[str]] = {}
    for name, run in runs.items():
        found.setdefault(run, []).append(name)
    return "; ".join(f"{run}: {', '.join(names)}" for run, names in found.items())


def print_traces(traces: Sequence[Traced], *, nodes: bool) -> None:
    """Print what became of the nodes of a model in compiled graphs."""
    read = [one for one in traces if one.found is not None]
    print("\ntraceability: what compiled graphs still name\n")
    if nodes and read:
        _draw(_traced_nodes(read))
        print()
    _draw(traces_table(traces))


def traces_table(traces: Sequence[Traced]) -> Table:
    """A line per compiler: shares of the model's nodes, and what was read."""
    rows = []
    for one in traces:
        shares = [f"{one.found.shares[status]:.1%}" if one.found else "" for status in Trace]
        named = f"{one.found.named:.1%}" if one.found else ""
        rows.append(tuple(map(TableCell, (one.compiler, named, *shares, one.source or one.why))))
    return Table(("compiler", "named", *map(str, Trace), "read from"), tuple(rows))


def _traced_nodes(read: Sequence[Traced]) -> Table:
    rows = []
    found = [one.found for one in read if one.found is not None]
    for place, node in enumerate(found[0].nodes):
        texts = (node.name, node.operator, *(str(one.nodes[place].status) for one in found))
        rows.append(tuple(map(TableCell, texts)))
    return Table(("node", "operator", *(one.compiler for one in read)), tuple(rows), keys=2)
