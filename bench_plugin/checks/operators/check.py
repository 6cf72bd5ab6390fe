"""The check of single operators: cases of ONNX's own tests in a backend, judged by the rules of their operators.

======================================  =======================================================
event                                   status
======================================  =======================================================
within the operator's rule              supported
another value, shape or type            mismatch
exception, crash, timeout, memory       ERROR
the tool says "not implemented"         unsupported
backend older than the opset or IR      version skew; the converted case is shown beside it
our harness does not support the values unverified: ``harness: ...``
======================================  =======================================================
"""

from __future__ import annotations

import shutil
import threading
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from bench_plugin.checks.operators.stored_runs import CaseRun, StoredRuns, lasting
from bench_plugin.checks.protocol import Checker, Parts, Request
from bench_plugin.compare import operator_rules as rules
from bench_plugin.domain.cell import Cell, Check
from bench_plugin.domain.errors import EnvironmentMissing
from bench_plugin.domain.outcome import Outcome, Stage, Status, Symptom, Unverified
from bench_plugin.domain.paths import scratch_folder
from bench_plugin.domain.recipes import recipe
from bench_plugin.pipeline.cell_log import CellLog
from bench_plugin.pipeline.compile_run import CompileRun
from bench_plugin.pipeline.retry import with_repeat
from bench_plugin.pipeline.schedule import Need
from bench_plugin.pipeline.tasks.case_subjects import content_of, of_case, outputs_of
from bench_plugin.pipeline.tasks.compile_tasks import CompileTasks
from bench_plugin.pipeline.tasks.corpus import CaseData, Corpus, CorpusFailed, needed_kinds, newer
from bench_plugin.reach.processes.client import Limits
from bench_plugin.reach.processes.zipapp import agent_digest

SECONDS = 60.0  # the time limit of one stage of one case
THREADS = 1  # starting a pool of threads takes longer than most cases
GIB = 2**30
CASE_BYTES = GIB  # memory in bytes that the scheduler plans for the processes of one backend


@dataclass
class _Backend:
    """One compiler: its processes, its stored results, and what its adapter declares.

    ``opset`` and ``ir`` are the newest that it reads, 0 for any.
    """

    compile_run: CompileRun
    stored: StoredRuns
    limits: Limits
    opset: int
    ir: int
    values: frozenset[str]
    fast_math: bool


@dataclass(frozen=True)
class _Tried:
    """The case that was tried, the name of its result, the result (None where none was tried), and a version skew."""

    data: CaseData
    name: str
    ran: CaseRun | None
    skew: str = ""


class Operators:
    """Runs operator cells through compile, run and compare."""

    checks = frozenset({Check.OPERATOR})

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._tasks = CompileTasks(parts.workspace, threads=THREADS)
        self._corpus = Corpus(parts.stages)
        self._backends: dict[str, _Backend] = {}
        self._lock = threading.RLock()
        parts.closing.append(self._close)

    def need(self, cell: Cell) -> Need:
        """All cases of one compiler share a lane, so that they run one after the other in the same processes."""

        def ended() -> None:
            self._end(cell.compiler)

        return Need(f"operators:{cell.compiler}", CASE_BYTES, brief=True, ended=ended)

    def run(self, request: Request) -> Outcome:
        """Compute the cell. A missing environment and a corpus that cannot be made are outcomes."""
        cell, log = request.cell, CellLog(self._parts.versions(request.cell))
        try:
            with self._lock:
                backend = self._backend(cell)
            return self._checked(cell, backend, log)
        except EnvironmentMissing as missing:
            return log.outcome(Status.NOT_PROVIDED, str(missing))
        except CorpusFailed as error:
            log.depends_on(error.failure)
            return log.unverified(Unverified.HARNESS, f"the corpus could not be made: {error}")

    def _end(self, compiler: str) -> None:
        """End the processes of a compiler whose cases are done, and store its results."""
        backend = self._backends.get(compiler)
        if backend is not None:
            backend.compile_run.close()
            backend.stored.save(self._scratch)

    def _close(self) -> None:
        """Store the results of all compilers."""
        for backend in self._backends.values():
            backend.stored.save(self._scratch)
        self._backends.clear()
        if "_scratch" in self.__dict__:
            shutil.rmtree(self._scratch, ignore_errors=True)

    def _given(self, cell: Cell, backend: _Backend, data: CaseData) -> _Tried:
        """Try the case, or in place of a case that is too new for the backend the converted one."""
        if not backend.values.issuperset(needed_kinds(data)):
            return _Tried(data, cell.model, None)
        row = data.row
        if newer(row, backend.opset, backend.ir):
            needs = f"opset {row['opsets'].get('ai.onnx', 0)}, IR {row['ir']}"
            skew = f"{needs}; {cell.compiler} takes opset {backend.opset}, IR {backend.ir}"
        else:
            ran = self._ran(cell, backend, data, cell.model)
            if ran.failure is None or ran.failure.symptom is not Symptom.VERSION_SKEW:
                return _Tried(data, cell.model, ran)
            skew = ran.failure.message
        converted = self._converted(cell, backend, data)
        if isinstance(converted, str):
            return _Tried(data, cell.model, None, skew)
        name = f"{cell.model}@{backend.opset}-{backend.ir}"
        return _Tried(converted, name, self._ran(cell, backend, converted, name), skew)

    def _checked(self, cell: Cell, backend: _Backend, log: CellLog) -> Outcome:
        with self._lock:
            case = self._corpus.case(cell.model)
        tried = self._given(cell, backend, case)
        log.reusable = tried.ran is None or lasting(tried.ran.failure)
        row = case.row
        log.numbers.update(
            category=row["category"], operators=row["operators"], opset=row["opsets"].get("ai.onnx", 0), ir=row["ir"]
        )
        if tried.skew:
            log.numbers["converted"] = (
                self._converted_verdict(cell, backend, tried, tried.ran)
                if tried.ran
                else {"status": "", "reason": str(self._converted(cell, backend, case))}
            )
            return log.outcome(Status.VERSION_SKEW, tried.skew, stage=Stage.COMPILE, symptom=Symptom.VERSION_SKEW)
        if tried.ran is None:
            limits = ", ".join(sorted(set(needed_kinds(tried.data)) - backend.values))
            return log.unverified(Unverified.HARNESS, f"harness: it does not support {limits} for {cell.compiler}")
        return self._settled(cell, backend, tried, tried.ran, log)

    def _converted_verdict(self, cell: Cell, backend: _Backend, tried: _Tried, ran: CaseRun) -> dict[str, Any]:
        """The verdict on the case converted to an opset that the backend reads, as plain data for the row."""
        outcome, row = self._settled(cell, backend, tried, ran, CellLog({})), tried.data.row
        opset = row["opsets"].get("ai.onnx", 0)
        return {"opset": opset, "ir": row["ir"], "status": str(outcome.status), "reason": outcome.reason}

    def _settled(self, cell: Cell, backend: _Backend, tried: _Tried, ran: CaseRun, log: CellLog) -> Outcome:
        """The verdict on a result; a mismatch from used processes is made again with fresh ones, which count."""
        anew = CellLog(log.versions)
        anew.numbers.update(log.numbers)
        outcome = self._judged(backend, tried.data, ran, log)
        if outcome.symptom is not Symptom.MISMATCH or ran.fresh:
            return outcome
        again = self._made(cell, backend, tried.data, fresh=True)
        anew.reusable = lasting(again.failure)
        backend.stored.add(_place_of(tried.data, tried.name), again)
        return with_repeat(self._judged(backend, tried.data, again, anew), outcome)

    def _converted(self, cell: Cell, backend: _Backend, data: CaseData) -> CaseData | str:
        """The case converted to an opset that the backend reads, or why it cannot be converted."""
        if not newer(data.row, backend.opset, backend.ir):
            return "the adapter does not declare what its tool takes"
        with self._lock:
            found = self._corpus.converted(cell.model, backend.opset, backend.ir)
        return f"cannot be converted: {found}" if isinstance(found, str) else found

    def _ran(self, cell: Cell, backend: _Backend, data: CaseData, name: str) -> CaseRun:
        place = _place_of(data, name)
        ran = backend.stored.get(place)
        if ran is None:
            ran = self._made(cell, backend, data)
            backend.stored.add(place, ran)
        return ran

    def _made(self, cell: Cell, backend: _Backend, data: CaseData, *, fresh: bool = False) -> CaseRun:
        """Compile the case and run it, in ``fresh`` processes if asked."""
        found = backend.compile_run.run(cell, of_case(data), backend.limits, fresh=fresh, stored=True)
        outputs = outputs_of(found.ran) if found.ran else []
        return CaseRun(
            failure=found.failure, outputs=outputs, seconds=found.seconds, peak=found.peak, meta=found.meta,
            fresh=found.fresh, retry=found.retry,
        )  # fmt: skip

    def _judged(self, backend: _Backend, data: CaseData, ran: CaseRun, log: CellLog) -> Outcome:
        log.timings.update(ran.seconds)
        log.placement.update(ran.meta.get("placement", {}))
        log.note_retry(ran.retry)
        if ran.peak:
            log.peaks["run"] = ran.peak
        for shim in ran.meta.get("shims", []):
            log.flag(f"shim: {shim}")
        if ran.cached:
            log.cached.append("run")
        if ran.failure is not None:
            if ran.failure.symptom is Symptom.HARNESS:
                return log.unverified(Unverified.HARNESS, f"harness: {ran.failure.message}", log=ran.failure.log)
            return log.failed(ran.failure)
        log.converted = True
        expected = data.expected
        stock = rules.stock(expected, ran.outputs, rtol=data.row["rtol"], atol=data.row["atol"])
        strict = stock
        if not data.no_truth or data.rule.need != "spread":
            strict = rules.strict(expected, ran.outputs, data.truths, data.rule, loose=backend.fast_math)
        log.numbers.update(
            rule=data.rule.text, strict="pass" if strict.passed else "fail", stock="pass" if stock.passed else "fail"
        )
        if strict.ratio is not None:
            log.numbers["ratio"] = float(f"{strict.ratio:.3g}")
        if data.no_truth:
            log.numbers["truth"] = f"the test's own: {data.no_truth}"
        for note in strict.notes:
            log.flag(note)
        if strict.passed:
            return log.outcome(Status.SUPPORTED)
        return log.outcome(Status.MISMATCH, strict.reason, stage=Stage.COMPARE, symptom=Symptom.MISMATCH)

    def _backend(self, cell: Cell) -> _Backend:
        if cell.compiler not in self._backends:
            workspace = self._parts.workspace
            adapter = self._tasks.adapter(cell)
            declaration, toolchain = adapter.declaration, self._tasks.toolchain(cell)
            key = recipe(
                stage="operators", agent=agent_digest(), tools=workspace.fingerprints.digest(adapter.name, toolchain),
                corpus=self._corpus.key, settings=self._tasks.settings(cell),
            )  # fmt: skip
            self._backends[cell.compiler] = _Backend(
                CompileRun(self._parts.pool, self._tasks, name=f"operators-{cell.compiler}"),
                StoredRuns(self._parts.cache, key, refresh=self._parts.settings.refresh),
                Limits(SECONDS, int(workspace.toolchains.memory_gb(toolchain) * GIB)),
                int(declaration.get("opsets", [0, 0])[1]),
                int(declaration.get("ir", [0, 0])[1]),
                frozenset(declaration.get("values", ())),
                self._tasks.fast_math(cell),
            )
        return self._backends[cell.compiler]

    @cached_property
    def _scratch(self) -> Path:
        return scratch_folder("operators")


def _place_of(data: CaseData, name: str) -> str:
    """Where the result of a case is stored; with its content, because a corpus that is made again may differ."""
    return f"{name}:{content_of(data)[:16]}"


def checker(parts: Parts) -> Checker:
    """The checker of this folder, for registry.py."""
    return Operators(parts)
