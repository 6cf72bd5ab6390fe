"""The check of generated graphs: does a compiler compute what the ONNX specification says.

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
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from bench_plugin.checks.properties.bench import Bench
from bench_plugin.checks.protocol import Checker, Parts, Request
from bench_plugin.domain.cell import Cell, Check
from bench_plugin.domain.errors import EnvironmentMissing
from bench_plugin.domain.outcome import STATUS_OF_SYMPTOM, Outcome, Stage, Status, Symptom, Unverified
from bench_plugin.generation.catalogue import GRAPHS
from bench_plugin.generation.graphs import Graph
from bench_plugin.generation.search import (
    AGREED,
    EFFORTS,
    FAILED,
    INVALID,
    REFUSED,
    SILENT,
    KnownFailure,
    Report,
    Tried,
    search,
)
from bench_plugin.pipeline.cell_log import CellLog
from bench_plugin.pipeline.retry import CARRIED
from bench_plugin.pipeline.schedule import Need
from bench_plugin.results.known_failures.row_toml import TO_BE_SAID, row_text

PROPERTY_BYTES = 2**30


class Properties:
    """Searches the generated graphs of a cell for failures. ``run`` may be called from one thread per toolchain."""

    checks = frozenset({Check.PROPERTY})

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._effort = parts.settings.search
        self._database = parts.cache.folder / "properties"
        self._reports = parts.settings.results.parent / "properties"

    def need(self, cell: Cell) -> Need:
        """What the cell occupies: the compiler's toolchain, and little memory, because the graphs are tiny."""
        return Need(self._parts.compile_tasks.toolchain(cell), PROPERTY_BYTES)

    def run(self, request: Request) -> Outcome:
        """Search the cell's graphs for failures of the compiler. A missing environment is an outcome."""
        cell, log = request.cell, CellLog(self._parts.versions(request.cell))
        bench = Bench(self._parts, cell, log.depends_on)
        try:
            return self._searched(request, log, bench)
        except EnvironmentMissing as missing:
            return log.outcome(Status.NOT_PROVIDED, str(missing))
        finally:
            bench.close()

    def _searched(self, request: Request, log: CellLog, bench: Bench) -> Outcome:
        from bench_plugin.generation import strategies

        cell = request.cell
        replayed = [(failure, bench.attempt(failure.example)) for failure in request.known if failure.replayed]
        met: dict[str, Tried] = {}
        seen = {failure.where: failure for failure, tried in replayed if _shows(tried, failure)}

        def known(tried: Tried) -> bool:
            found = tried.signature
            failure = next((one for one in request.known if found and one.signature.covers(found)), None)
            if failure is not None:
                seen.setdefault(failure.where, failure)
            if failure is not None and failure.own:
                met.setdefault(failure.where, tried)
            return failure is not None

        effort = EFFORTS[self._effort]
        joined = cell.model == GRAPHS
        report = search(
            strategies.graphs() if joined else strategies.single(cell.model), bench.attempt, known, effort,
            examples=effort.joined if joined else effort.single,
            database=self._database / f"{cell.compiler}-{cell.model}",
            first=() if joined else strategies.of_each_integer_type(cell.model),
        )  # fmt: skip
        self._describe(log, report, bench)
        examples = self._written(cell, log, bench, replayed)
        log.numbers["seen"] = [
            {**failure.signature.plain(), "row": where, "folder": examples.get(where, "")}
            for where, failure in sorted(seen.items())
        ]
        if report.found:
            return self._new(cell, log, report, bench)
        stale = next((failure for failure, tried in replayed if not _shows(tried, failure)), None)
        if stale is not None:
            log.numbers["signature"] = stale.signature.plain()
            return log.outcome(Status.SUPPORTED)
        shown = [tried for _, tried in replayed] or list(met.values())
        if shown:
            return _failed(log, shown[0])
        counts = report.counts
        if counts.get(AGREED):
            log.converted = True
            return log.outcome(Status.SUPPORTED)
        if counts.get(REFUSED):
            reason = report.first[REFUSED]
            return log.outcome(Status.UNSUPPORTED, reason, stage=Stage.COMPILE, symptom=Symptom.UNSUPPORTED)
        text = "; ".join(f"{count} {name}" for name, count in counts.items())
        return log.unverified(Unverified.NO_REFERENCE, f"nothing could be compared: {text or 'nothing was generated'}")

    def _describe(self, log: CellLog, report: Report, bench: Bench) -> None:
        tried = sum(report.counts.values())
        valid = tried - report.counts.get(INVALID, 0)
        log.numbers.update(
            search=self._effort, tried=tried, valid=round(valid / tried, 4) if tried else None,
            agreed=report.counts.get(AGREED, 0),
            judged=report.counts.get(AGREED, 0) + report.counts.get(FAILED, 0), known=report.known,
            **{name: report.counts[name] for name in (REFUSED, SILENT, INVALID) if report.counts.get(name)},
        )  # fmt: skip
        reasons = {name: text for name, text in report.first.items() if text}
        if reasons:
            log.numbers["first"] = reasons
        if report.seed is not None:
            log.numbers.update(seed=report.seed, database=report.database)
        log.timings["run"] = report.seconds
        log.placement.update(bench.placement)
        if report.counts.get(INVALID):
            log.flag(f"generated but not valid: {report.first[INVALID]}")
        if report.counts.get(REFUSED):
            log.flag(f"{report.counts[REFUSED]} of {tried} not implemented")
        if report.out_of_time:
            log.flag("out of time")
            if EFFORTS[self._effort].derandomized:  # how far it came depends on what else the machine did
                log.reusable = False

    def _written(
        self, cell: Cell, log: CellLog, bench: Bench, replayed: Sequence[tuple[KnownFailure, Tried]]
    ) -> dict[str, str]:
        """The folders, by the row of the expectation, with the examples of known failures that show them again."""
        folders = {}
        for failure, tried in replayed:
            if failure.own and _shows(tried, failure):
                folder = self._reports / f"{cell.compiler}-{cell.model}-{failure.signature.digest}"
                outcome = replace(
                    _failed(CellLog(log.versions), tried), numbers={"signature": failure.signature.plain()}
                )
                _write(folder, cell, failure.example, tried, outcome, bench)
                folders[failure.where] = str(folder)
        return folders

    def _new(self, cell: Cell, log: CellLog, report: Report, bench: Bench) -> Outcome:
        """Write the smallest example of every new signature to its own folder; the first one is the cell's outcome.

        Each is tried once more in fresh processes; one that agrees there is no failure of the compiler.
        """
        rows = []
        failing: list[tuple[Graph, Tried, Path]] = []
        for graph, tried in report.found:
            assert tried.signature is not None
            again = bench.attempt(graph, fresh=True)
            same = again.signature == tried.signature
            folder = self._reports / f"{cell.compiler}-{cell.model}-{tried.signature.digest}"
            outcome = replace(_failed(CellLog(log.versions), tried), numbers={"signature": tried.signature.plain()})
            _write(folder, cell, graph, tried, outcome, bench)
            rows.append(
                {
                    **tried.signature.plain(), "reason": tried.reason, "example": graph.text(), "folder": str(folder),
                    "reproduced": same,
                }
            )  # fmt: skip
            if not same:
                log.flag(f"{tried.signature.symptom} did not come again: {again.result} {again.reason}")
            if again.result == AGREED:
                log.flag(CARRIED)
            else:
                failing.append((graph, tried, folder))
        log.numbers["found"] = rows
        if not failing:
            reason = f"{report.found[0][1].reason}: in a process that had done something before, never in a fresh one"
            return log.unverified(Unverified.HARNESS, reason)
        graph, tried, folder = failing[0]
        first = replace(tried, reason=f"{tried.reason}\nexample: {graph.text()}\nfiles: {folder}")
        if len(failing) > 1:
            first = replace(first, reason=f"{first.reason}\nand {len(failing) - 1} other signatures")
        return _failed(log, first)


def _failed(log: CellLog, tried: Tried) -> Outcome:
    signature = tried.signature
    assert signature is not None
    log.numbers["signature"] = signature.plain()
    symptom = Symptom(signature.symptom)
    return log.outcome(
        STATUS_OF_SYMPTOM[symptom], tried.reason, stage=Stage(signature.stage), symptom=symptom, log=tried.log
    )


def _shows(tried: Tried, failure: KnownFailure) -> bool:
    return tried.signature is not None and failure.signature.covers(tried.signature)


def _write(folder: Path, cell: Cell, graph: Graph, tried: Tried, outcome: Outcome, bench: Bench) -> None:
    """Write ``model.onnx``, ``inputs.npz``, ``expected.npz``, ``graph.json``, a row and the command."""
    import numpy as np

    folder.mkdir(parents=True, exist_ok=True)
    built = bench.build(graph)
    (folder / "model.onnx").write_bytes(built.model)
    given = {one.port.name: one.values for one in graph.sources if not one.constant}
    expected: Sequence[Any] = built.case.expected if built.case else ()
    wanted = {f"expected{place}": value.values for place, value in enumerate(expected)}
    np.savez(folder / "inputs.npz", allow_pickle=False, **given)
    np.savez(folder / "expected.npz", allow_pickle=False, **wanted)
    (folder / "graph.json").write_text(json.dumps(graph.plain(), indent=1) + "\n", "utf-8")
    row = row_text(cell.axes(), outcome, TO_BE_SAID).rstrip("\n")
    name = f"{cell.compiler}-{cell.model}-{folder.name.rpartition('-')[2]}.json"
    (folder / "expectation.toml").write_text(f'{row}\nexample = "examples/{name}"  # a copy of graph.json\n', "utf-8")
    command = f"pytest suites/properties --bench-cases={cell.model} --compilers={cell.compiler}"
    (folder / "repro.txt").write_text(f"{command}\n\n{graph.text()}\n{tried.reason}\n", "utf-8")


def checker(parts: Parts) -> Checker:
    """The checker of this folder, for registry.py."""
    return Properties(parts)
