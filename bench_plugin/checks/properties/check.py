"""The check of drawn graphs: does a compiler compute what the specification says of graphs that nobody wrote.

===============================================  ========================================
event                                            status
===============================================  ========================================
every example within its operators' rules        supported
a new signature                                  that of its smallest example
a known signature, its example fails as it did   that of the example (an expectation)
a known signature, its example does not fail     supported (and the expectation: progress)
the tool implements none of the examples         unsupported
nothing could be compared                        unverified
===============================================  ========================================
"""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from bench_plugin.checks.properties.bench import Bench
from bench_plugin.domain.cell import Cell, Check
from bench_plugin.domain.errors import EnvironmentMissing, UsageError
from bench_plugin.domain.outcome import STATUS_OF_SYMPTOM, Outcome, Stage, Status, Symptom
from bench_plugin.domain.paths import cache_root
from bench_plugin.generation.catalogue import GRAPHS
from bench_plugin.generation.graphs import Graph, read_graph
from bench_plugin.generation.search import (
    AGREED,
    ANY,
    EFFORTS,
    FAILED,
    INVALID,
    REFUSED,
    SILENT,
    Report,
    Signature,
    Tried,
    available,
    search,
)
from bench_plugin.inventory.workspace import Workspace
from bench_plugin.pipeline.cell_log import Trail
from bench_plugin.reach.processes.supervisor import AgentPool
from bench_plugin.results.expectations import Expectation, Expectations, row_text


class Properties:
    """Searches cells. ``run`` is safe to call from several threads, one toolchain at a time."""

    checks = frozenset({Check.PROPERTY})

    def __init__(
        self, workspace: Workspace, pool: AgentPool, *, threads: int, effort: str, database: Path, reports: Path
    ) -> None:
        self._workspace = workspace
        self._pool = pool
        self._threads = threads
        self._effort = effort
        self._database = database
        self._reports = reports

    def run(self, cell: Cell, overrides: Mapping[str, float]) -> Outcome:
        """Search the cell's graphs for what the compiler does wrong."""
        trail = Trail(self._workspace.versions(cell))
        if not available():
            return trail.outcome(Status.NOT_PROVIDED, "hypothesis is not installed: pip install bench-plugin[test]")
        base = cache_root() / "scratch"
        base.mkdir(parents=True, exist_ok=True)
        scratch = Path(tempfile.mkdtemp(prefix="properties-", dir=base))
        bench = Bench(self._workspace, self._pool, cell, self._threads, scratch)
        try:
            return self._searched(cell, trail, bench)
        except EnvironmentMissing as missing:
            return trail.outcome(Status.NOT_PROVIDED, str(missing))
        finally:
            bench.close()
            shutil.rmtree(scratch, ignore_errors=True)

    def _searched(self, cell: Cell, trail: Trail, bench: Bench) -> Outcome:
        from bench_plugin.generation import strategies

        mine, others = self._known(cell, trail.versions)
        examples = {row.where: _example(row) for row in mine}
        # What a tool does with any operator is tried again in the cell of the example's operator only.
        own = [row for row in mine if ANY not in row.operators or cell.model in examples[row.where].operators]
        replayed = [(row, bench.attempt(examples[row.where])) for row in own]
        met: dict[str, Tried] = {}

        def known(tried: Tried) -> bool:
            found = tried.signature
            row = next((row for row in (*mine, *others) if found and _signature(row).covers(found)), None)
            if row in mine:
                met.setdefault(row.where, tried)
            return row is not None

        effort = EFFORTS[self._effort]
        joined = cell.model == GRAPHS
        report = search(
            strategies.graphs() if joined else strategies.single(cell.model), bench.attempt, known, effort,
            examples=effort.joined if joined else effort.single,
            database=self._database / f"{cell.compiler}-{cell.model}",
        )  # fmt: skip
        self._describe(trail, report, bench)
        if report.found:
            return self._new(cell, trail, report, bench)
        stale = next((row for row, tried in replayed if not _shows(tried, row)), None)
        if stale is not None:
            trail.numbers["signature"] = _signature(stale).plain()
            return trail.outcome(Status.SUPPORTED)
        shown = [tried for _, tried in replayed] or list(met.values())
        if shown:
            return _failed(trail, shown[0])
        counts = report.counts
        if counts.get(AGREED):
            trail.converted = True
            return trail.outcome(Status.SUPPORTED)
        if counts.get(REFUSED):
            reason = report.first[REFUSED]
            return trail.outcome(Status.UNSUPPORTED, reason, stage=Stage.COMPILE, symptom=Symptom.UNSUPPORTED)
        text = "; ".join(f"{count} {name}" for name, count in counts.items())
        return trail.outcome(Status.UNVERIFIED, f"nothing could be compared: {text or 'nothing was drawn'}")

    def _known(self, cell: Cell, versions: Mapping[str, str]) -> tuple[list[Expectation], list[Expectation]]:
        """Rows of the cell, whose examples are tried first, and rows of the compiler's other cells."""
        rows = Expectations.load(self._workspace.expectation_folders).rows
        held = [row for row in rows if row.example is not None and row.holds(versions)]
        mine = [row for row in held if row.selects(cell.axes())]
        other = [row for row in held if row not in mine and cell.compiler in row.selector.get("compiler", ())]
        return mine, other

    def _describe(self, trail: Trail, report: Report, bench: Bench) -> None:
        tried = sum(report.counts.values())
        valid = tried - report.counts.get(INVALID, 0)
        trail.numbers.update(
            search=self._effort, tried=tried, valid=round(valid / tried, 4) if tried else None,
            judged=report.counts.get(AGREED, 0) + report.counts.get(FAILED, 0), known=report.known,
            **{name: report.counts[name] for name in (REFUSED, SILENT, INVALID) if report.counts.get(name)},
        )  # fmt: skip
        reasons = {name: text for name, text in report.first.items() if text}
        if reasons:
            trail.numbers["first"] = reasons
        if report.seed is not None:
            trail.numbers.update(seed=report.seed, database=report.database)
        trail.timings["run"] = report.seconds
        trail.placement.update(bench.placement)
        if report.counts.get(INVALID):
            trail.flag(f"drawn but not valid: {report.first[INVALID]}")
        if report.counts.get(REFUSED):
            trail.flag(f"{report.counts[REFUSED]} of {tried} not implemented")
        if report.out_of_time:
            trail.flag("out of time")

    def _new(self, cell: Cell, trail: Trail, report: Report, bench: Bench) -> Outcome:
        """The smallest example of every new signature in a folder of its own; the first is the cell's outcome."""
        rows = []
        for graph, tried in report.found:
            assert tried.signature is not None
            again = bench.attempt(graph)
            same = again.signature == tried.signature
            folder = self._reports / f"{cell.compiler}-{cell.model}-{tried.signature.digest}"
            outcome = replace(_failed(Trail(trail.versions), tried), numbers={"signature": tried.signature.plain()})
            _write(folder, cell, graph, tried, outcome, bench)
            rows.append(
                {
                    **tried.signature.plain(), "reason": tried.reason, "example": graph.text(), "folder": str(folder),
                    "reproduced": same,
                }
            )  # fmt: skip
            if not same:
                trail.flag(f"{tried.signature.symptom} did not come again: {again.result} {again.reason}")
        trail.numbers["found"] = rows
        graph, tried = report.found[0]
        first = replace(tried, reason=f"{tried.reason}\nexample: {graph.text()}\nfiles: {rows[0]['folder']}")
        if len(rows) > 1:
            first = replace(first, reason=f"{first.reason}\nand {len(rows) - 1} other signatures")
        return _failed(trail, first)


def _failed(trail: Trail, tried: Tried) -> Outcome:
    signature = tried.signature
    assert signature is not None
    trail.numbers["signature"] = signature.plain()
    symptom = Symptom(signature.symptom)
    return trail.outcome(
        STATUS_OF_SYMPTOM[symptom], tried.reason, stage=Stage(signature.stage), symptom=symptom, log=tried.log
    )


def _signature(row: Expectation) -> Signature:
    return Signature(str(row.stage), str(row.symptom), row.operators, row.message)


def _shows(tried: Tried, row: Expectation) -> bool:
    return tried.signature is not None and _signature(row).covers(tried.signature)


def _example(row: Expectation) -> Graph:
    assert row.example is not None
    try:
        return read_graph(json.loads(row.example.read_text("utf-8")))
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UsageError(f"{row.where}: example {row.example} cannot be read: {error}") from error


def _write(folder: Path, cell: Cell, graph: Graph, tried: Tried, outcome: Outcome, bench: Bench) -> None:
    """``model.onnx``, ``inputs.npz`` (with what is expected), ``graph.json``, an expectation's row, the command."""
    import numpy as np

    folder.mkdir(parents=True, exist_ok=True)
    built = bench.build(graph)
    (folder / "model.onnx").write_bytes(built.model)
    given = {one.port.name: one.values for one in graph.sources if not one.constant}
    expected: Sequence[Any] = built.case.expected if built.case else ()
    wanted = {f"expected{place}": value.values for place, value in enumerate(expected)}
    np.savez(folder / "inputs.npz", allow_pickle=False, **given, **wanted)
    (folder / "graph.json").write_text(json.dumps(graph.plain(), indent=1) + "\n", "utf-8")
    row = row_text(cell.axes(), outcome, "why this is known").rstrip("\n")
    name = f"{cell.compiler}-{cell.model}-{folder.name.rpartition('-')[2]}.json"
    (folder / "expectation.toml").write_text(f'{row}\nexample = "examples/{name}"  # a copy of graph.json\n', "utf-8")
    command = f"pytest suites/properties --bench-cases={cell.model} --compilers={cell.compiler}"
    (folder / "repro.txt").write_text(f"{command}\n\n{graph.text()}\n{tried.reason}\n", "utf-8")
