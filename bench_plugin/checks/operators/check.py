"""The check of single operators: cases of ONNX's own tests in a backend, judged by the rules of their operators.

=========================================  ===========================================================
event                                      status
=========================================  ===========================================================
within the operator's rule                 supported
outside it, within the tolerance of ONNX   outside our bound
another value, shape or type               mismatch
two fresh processes give two results       mismatch, symptom nondeterministic
exception, crash, timeout, memory          ERROR
the tool says "not implemented"            unsupported
a failure outside its range of opsets      version skew; the converted case is shown beside it
a failure where ONNX's text was changed    version skew (errata.py)
our harness does not support the values    unverified: ``harness: ...``, where the tool compiles the case
=========================================  ===========================================================
"""

from __future__ import annotations

import shutil
import threading
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from bench_plugin.checks.operators.errata import Erratum, errata_of
from bench_plugin.checks.operators.judging import judged, verdict_of
from bench_plugin.checks.operators.steadiness import compared, same_bits, sampled
from bench_plugin.checks.operators.stored_runs import CaseRun, StoredRuns, lasting
from bench_plugin.checks.protocol import Checker, Parts, Request
from bench_plugin.domain.cell import Cell, Check
from bench_plugin.domain.errors import EnvironmentMissing
from bench_plugin.domain.outcome import Cause, Outcome, Stage, Status, Symptom, Unverified
from bench_plugin.domain.paths import scratch_folder
from bench_plugin.domain.precision import ORIGINAL
from bench_plugin.domain.recipes import recipe
from bench_plugin.domain.texts import skew
from bench_plugin.pipeline.cell_log import CellLog
from bench_plugin.pipeline.compile_run import CompileRun
from bench_plugin.pipeline.retry import with_repeat
from bench_plugin.pipeline.schedule import Need
from bench_plugin.pipeline.tasks.case_subjects import content_of, of_case, outputs_of
from bench_plugin.pipeline.tasks.compile_tasks import CompileTasks
from bench_plugin.pipeline.tasks.corpus import (
    CORPUS,
    FEW_BITS,
    CaseData,
    Corpus,
    CorpusFailed,
    maker_of,
    needed_kinds,
    newer,
)
from bench_plugin.reach.processes.leased_agent import Limits
from bench_plugin.reach.processes.zipapp import agent_digest

# Of processor time for a stage of a case, so that a busy machine changes no outcome. TFLite's vgg19 takes 60 to 90,
# and the 5,040 permutations that onnx2tf tries for GatherElements of seven dimensions over 90 on a slow processor.
SECONDS = 240.0
WALL_SECONDS = 5 * SECONDS  # on the clock, for what waits and computes nothing
THREADS = 1  # starting a pool of threads takes longer than most cases
GIB = 2**30
CASE_BYTES = GIB  # memory in bytes that the scheduler plans for the processes of one backend


@dataclass
class _Backend:
    """One compiler: its processes, its stored results, and what its adapter declares.

    ``lowest`` and ``opset`` are the oldest and the newest operator set that it takes, ``ir`` the newest IR version; 0
    stands for any.
    """

    compile_run: CompileRun
    stored: StoredRuns
    limits: Limits
    lowest: int
    opset: int
    ir: int
    values: frozenset[str]
    fast_math: bool


class Operators:
    """Runs operator cells through compile, run and compare."""

    checks = frozenset({Check.OPERATOR})

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._tasks = CompileTasks(parts.workspace, threads=THREADS)
        self._corpora = {maker: Corpus(parts.stages, maker) for maker in (CORPUS, FEW_BITS)}
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

    def _checked(self, cell: Cell, backend: _Backend, log: CellLog) -> Outcome:
        with self._lock:
            case = self._corpus(cell).case(cell.model)
        row = case.row
        log.numbers.update(
            category=row["category"], operators=row["operators"], opset=row["opsets"].get("ai.onnx", 0), ir=row["ir"]
        )
        outcome = self._settled(cell, backend, case, cell.model, log)
        skew = self._skew(cell, backend, case, outcome)
        return self._skewed(cell, backend, case, outcome, skew) if skew else outcome

    def _skew(self, cell: Cell, backend: _Backend, case: CaseData, outcome: Outcome) -> str:
        """Why a failure is no verdict on the tool: its version and that of the case do not fit. Empty where they do."""
        if outcome.symptom is Symptom.VERSION_SKEW and not newer(case.row, backend.opset, backend.ir):
            return outcome.reason
        if not outcome.failed and outcome.symptom is not Symptom.VERSION_SKEW:
            return ""
        opset, ir = case.row["opsets"].get("ai.onnx", 0), case.row["ir"]
        if newer(case.row, backend.opset, backend.ir):
            return skew.outside(f"opset {opset}, IR {ir}", cell.compiler, _range(backend))
        failed = f"{skew.FAILED}{outcome.reason}"
        if 0 < opset < backend.lowest:
            return f"{skew.outside(f'opset {opset}', cell.compiler, _range(backend))}; {failed}"
        for erratum in errata_of(cell.model, self._parts.workspace.operator_folders):
            if self._explained(erratum, backend, case, cell, outcome):
                return f"{erratum.text}; {failed}"
        return ""

    def _explained(self, erratum: Erratum, backend: _Backend, case: CaseData, cell: Cell, outcome: Outcome) -> bool:
        """Whether a failure may come from the change of a rule."""
        ran = backend.stored.get(_place_of(case, cell.model))
        if ran is None:
            return False
        if ran.failure is not None:
            return erratum.refused(ran.failure)
        wrong = verdict_of(case, ran, loose=backend.fast_math).outputs
        return outcome.symptom is Symptom.MISMATCH and erratum.explains(wrong)

    def _skewed(self, cell: Cell, backend: _Backend, case: CaseData, outcome: Outcome, reason: str) -> Outcome:
        """The outcome of a case that does not fit the tool's version, with what its converted form gave beside it."""
        numbers, ran = dict(outcome.numbers), backend.stored.get(_place_of(case, cell.model))
        if outcome.symptom is Symptom.VERSION_SKEW or newer(case.row, backend.opset, backend.ir):
            converted = self._converted_verdict(cell, backend, case)
            numbers["converted"] = converted
            if newer(case.row, backend.opset, backend.ir):
                reason = f"{reason}; {skew.beside_converted(outcome.reason, converted)}"
        return replace(
            outcome, status=Status.VERSION_SKEW, symptom=Symptom.VERSION_SKEW, stage=outcome.stage or Stage.COMPILE,
            reason=reason, numbers=numbers, reusable=ran is None or lasting(ran.failure),
        )  # fmt: skip

    def _converted_verdict(self, cell: Cell, backend: _Backend, case: CaseData) -> dict[str, Any]:
        """The verdict on the case converted to an opset that the backend reads, as plain data for the row."""
        converted = self._converted(cell, backend, case)
        if isinstance(converted, str):
            return {"status": "", "reason": converted}
        name = f"{cell.model}@{backend.opset}-{backend.ir}"
        outcome = self._settled(cell, backend, converted, name, CellLog({}))
        opset, ir = converted.row["opsets"].get("ai.onnx", 0), converted.row["ir"]
        return {"opset": opset, "ir": ir, "status": str(outcome.status), "reason": outcome.reason}

    def _settled(self, cell: Cell, backend: _Backend, data: CaseData, name: str, log: CellLog) -> Outcome:
        """The verdict on a result. One of used processes that is a mismatch is made again with fresh ones, which count.

        What two fresh processes give is compared for every mismatch, and for a sample of what passes.
        """
        types = sorted(set(needed_kinds(data)) - backend.values)
        if types:
            return self._compiled_only(cell, backend, data, name, log, types)
        ran = self._ran(cell, backend, data, name)
        outcome = _outcome(backend, data, ran, log)
        if ran.failure is not None or ran.deterministic is not None or data.rule.kind == "random":
            return outcome
        if outcome.symptom is not Symptom.MISMATCH:
            return self._steady(cell, backend, data, name, ran, outcome, log)
        again = _outcome(backend, data, self._confirmed(cell, backend, data, name, ran), log)
        return again if ran.fresh else with_repeat(again, outcome)

    def _compiled_only(
        self, cell: Cell, backend: _Backend, data: CaseData, name: str, log: CellLog, types: list[str]
    ) -> Outcome:
        """The outcome of a case with values of ``types`` that cannot be handed to the tool, so that it cannot be run.

        A tool that does not compile it has given its verdict; of one that does, nothing is known, nor where it is our
        adapter that fails.
        """
        reason = f"harness: our adapter of {cell.compiler} hands over no values of type {', '.join(types)}"
        if self._tasks.in_one_process(self._offered(cell), short=True):
            return log.unverified(Unverified.HARNESS, reason)
        place = _place_of(data, f"{name}#compile")
        ran = backend.stored.get(place)
        if ran is None:
            ran = self._made(cell, backend, data, compile_only=True)
            backend.stored.add(place, ran)
        if ran.failure is None:
            return log.unverified(Unverified.HARNESS, f"{reason}; {cell.compiler} compiles the case")
        outcome = _outcome(backend, data, ran, log)
        if ran.failure.symptom is Symptom.EXCEPTION and ran.failure.cause is not Cause.TOOL:
            return log.unverified(Unverified.HARNESS, f"{reason}; its adapter fails: {outcome.reason}")
        return outcome

    def _steady(
        self, cell: Cell, backend: _Backend, data: CaseData, name: str, ran: CaseRun, outcome: Outcome, log: CellLog
    ) -> Outcome:
        """The outcome of a result that is no mismatch, after a second run if it belongs to the sample."""
        if not sampled(cell.model, self._parts.settings.selection.profile):
            return outcome
        second = self._made(cell, backend, data)
        if same_bits(ran, second):
            counted = replace(ran, deterministic=True)
        else:
            counted = replace(self._two_fresh(cell, backend, data), deterministic=False)
        backend.stored.add(_place_of(data, name), counted)
        return _outcome(backend, data, counted, log)

    def _confirmed(self, cell: Cell, backend: _Backend, data: CaseData, name: str, ran: CaseRun) -> CaseRun:
        """The result of a fresh process, which a second one has to repeat unless it is that of the used one too."""
        first = ran if ran.fresh else self._made(cell, backend, data, fresh=True)
        if not ran.fresh and same_bits(ran, first):
            counted = replace(first, deterministic=True)
        else:
            counted = self._two_fresh(cell, backend, data, first)
        backend.stored.add(_place_of(data, name), counted)
        return counted

    def _two_fresh(self, cell: Cell, backend: _Backend, data: CaseData, first: CaseRun | None = None) -> CaseRun:
        """The result of a fresh process (``first`` if it was made already) compared with that of a second one."""
        one = first or self._made(cell, backend, data, fresh=True)
        if one.failure is not None:
            return one
        return compared(data, one, self._made(cell, backend, data, fresh=True), loose=backend.fast_math)

    def _converted(self, cell: Cell, backend: _Backend, data: CaseData) -> CaseData | str:
        """The case converted to an opset that the backend reads, or why it cannot be converted."""
        if not newer(data.row, backend.opset, backend.ir):
            return "the adapter does not declare what its tool takes"
        with self._lock:
            found = self._corpus(cell).converted(cell.model, backend.opset, backend.ir)
        return f"cannot be converted: {found}" if isinstance(found, str) else found

    def _ran(self, cell: Cell, backend: _Backend, data: CaseData, name: str) -> CaseRun:
        place = _place_of(data, name)
        ran = backend.stored.get(place)
        if ran is None:
            ran = self._made(cell, backend, data)
            backend.stored.add(place, ran)
        return ran

    def _made(
        self, cell: Cell, backend: _Backend, data: CaseData, *, fresh: bool = False, compile_only: bool = False
    ) -> CaseRun:
        """Compile the case and, unless it is ``compile_only``, run it, in ``fresh`` processes if asked."""
        found = backend.compile_run.run(
            self._offered(cell), of_case(data), backend.limits, fresh=fresh, stored=True, compile_only=compile_only
        )
        outputs = outputs_of(found.ran) if found.ran else []
        return CaseRun(
            failure=found.failure, outputs=outputs, seconds=found.seconds, peak=found.peak, meta=found.meta,
            fresh=found.fresh, retry=found.retry,
        )  # fmt: skip

    def _corpus(self, cell: Cell) -> Corpus:
        return self._corpora[maker_of(cell.model)]

    def _offered(self, cell: Cell) -> Cell:
        """The cell as its adapter is asked for it: a tool that has no precision of few bits is given the file alone."""
        graphs = self._tasks.adapter(cell).graphs.get(cell.precision, ())
        return cell if (cell.graph or ORIGINAL) in graphs else _plain(cell)

    def _backend(self, cell: Cell) -> _Backend:
        if cell.compiler not in self._backends:
            workspace = self._parts.workspace
            adapter = self._tasks.adapter(cell)
            declaration, toolchain = adapter.declaration, self._tasks.toolchain(cell)
            key = recipe(
                stage="operators", agent=agent_digest(), tools=workspace.fingerprints.digest(adapter.name, toolchain),
                corpus=self._corpora[CORPUS].key,
                settings=self._tasks.settings(_plain(cell)),
            )  # fmt: skip
            self._backends[cell.compiler] = _Backend(
                CompileRun(self._parts.pool, self._tasks, name=f"operators-{cell.compiler}"),
                StoredRuns(self._parts.cache, key, refresh=self._parts.settings.refresh),
                Limits(SECONDS, int(workspace.toolchains.memory_gb(toolchain) * GIB), WALL_SECONDS),
                int(declaration.get("opsets", [0, 0])[0]),
                int(declaration.get("opsets", [0, 0])[1]),
                int(declaration.get("ir", [0, 0])[1]),
                frozenset(declaration.get("values", ())),
                self._tasks.fast_math(_plain(cell)),
            )
        return self._backends[cell.compiler]

    @cached_property
    def _scratch(self) -> Path:
        return scratch_folder("operators")


def _plain(cell: Cell) -> Cell:
    """The same cell at the precision that every tool offers."""
    return replace(cell, precision="fp32", graph="")


def _place_of(data: CaseData, name: str) -> str:
    """Where the result of a case is stored; with its content, because a corpus that is made again may differ."""
    return f"{name}:{content_of(data)[:16]}"


def _outcome(backend: _Backend, data: CaseData, ran: CaseRun, log: CellLog) -> Outcome:
    """The outcome of a result, with a log of its own that begins as ``log`` is."""
    own = CellLog(log.versions)
    own.numbers.update(log.numbers)
    own.reusable = lasting(ran.failure)
    return judged(data, ran, own, loose=backend.fast_math)


def _range(backend: _Backend) -> str:
    """What a backend takes, in words."""
    words = f"opset {backend.lowest} to {backend.opset}" if backend.opset else f"opset {backend.lowest} and later"
    return f"{words}, IR {backend.ir}" if backend.ir else words


def checker(parts: Parts) -> Checker:
    """The checker of this folder, for registry.py."""
    return Operators(parts)
