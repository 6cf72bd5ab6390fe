"""The check of single operators: every case of ONNX's own tests in every backend, by the rules of its operator.

======================================  =======================================================
event                                   status
======================================  =======================================================
within the operator's rule              supported
another value, shape or type            mismatch
exception, crash, timeout, memory       ERROR
the tool says "not implemented"         unsupported
backend older than the opset or IR      version skew; tried again converted, beside the status
our harness cannot hand it the values   unverified: ``harness: ...``
======================================  =======================================================
"""

from __future__ import annotations

import shutil
import tempfile
import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench_plugin.checks.operators.ahead import Ahead
from bench_plugin.compare import operator_rules as rules
from bench_plugin.domain.cell import Cell, Check
from bench_plugin.domain.errors import EnvironmentMissing
from bench_plugin.domain.outcome import Outcome, Stage, Status, Symptom
from bench_plugin.domain.paths import cache_root
from bench_plugin.domain.precision import ORIGINAL
from bench_plugin.domain.recipes import recipe
from bench_plugin.inventory.workspace import Workspace
from bench_plugin.pipeline.backend import ROLES, Backend, Kept, Ran
from bench_plugin.pipeline.cache import Cache
from bench_plugin.pipeline.cell_log import Trail
from bench_plugin.pipeline.corpus import CaseData, Corpus, CorpusFailed, needed_kinds, newer
from bench_plugin.pipeline.stages import Stages
from bench_plugin.reach.processes.client import Limits
from bench_plugin.reach.processes.supervisor import AgentPool
from bench_plugin.reach.processes.zipapp import agent_digest

SECONDS = 60.0  # for one stage of one case
THREADS = 1  # a case is too small for more, and starting a pool of them takes longer than most
GIB = 2**30


@dataclass
class _Line:
    """One compiler's backend, what it gave before, and what every row of it says."""

    backend: Backend
    kept: Kept
    versions: Mapping[str, str]
    opset: int
    ir: int
    values: frozenset[str]
    loose: bool


class Operators:
    """Carries operator cells through compile, run and compare."""

    checks = frozenset({Check.OPERATOR})

    def __init__(
        self, workspace: Workspace, stages: Stages, pool: AgentPool, cache: Cache, *, jobs: int, refresh: bool
    ) -> None:
        self._workspace = workspace
        self._pool = pool
        self._cache = cache
        self._jobs = jobs
        self._refresh = refresh
        self._corpus = Corpus(stages)
        self._lines: dict[str, _Line] = {}
        self._scratch: Path | None = None
        self._ahead: Ahead | None = None
        self._judging: ThreadPoolExecutor | None = None
        self._lock = threading.RLock()

    def plan(self, cells: Sequence[Cell]) -> None:
        """Work ahead where there are several compilers: each of a few threads takes one compiler's cases at a time."""
        by_compiler: dict[str, list[str]] = {}
        for cell in cells:
            by_compiler.setdefault(cell.compiler, []).append(cell.model)
        if len(by_compiler) < 2 or self._jobs < 2:
            return  # one compiler keeps up with the thread that asks, and costs less there
        self._ahead = Ahead(by_compiler, self._run_ahead, self._line_ended, jobs=self._jobs)
        self._judging = ThreadPoolExecutor(1, thread_name_prefix="bench-operators")

    def run(self, cell: Cell, overrides: Mapping[str, float]) -> Outcome:
        """Compute the cell."""
        try:
            if self._ahead is not None:
                self._ahead.wait(cell.compiler, cell.model)
            with self._lock:
                line = self._line(cell.compiler)
            return self._checked(cell, line, Trail(line.versions))
        except EnvironmentMissing as missing:
            return Trail({}).outcome(Status.NOT_PROVIDED, str(missing))
        except CorpusFailed as error:
            return Trail({}).outcome(Status.UNVERIFIED, f"the corpus could not be made: {error}")

    def future(self, cell: Cell) -> Future[Outcome]:
        """The cell's outcome: computed now, or awaited in a thread of its own."""
        if self._judging is not None:
            return self._judging.submit(self.run, cell, {})
        future: Future[Outcome] = Future()
        try:
            future.set_result(self.run(cell, {}))
        except Exception as error:
            future.set_exception(error)
        return future

    def stop(self) -> None:
        """Take no further case; whoever runs one ends with it, or with its agent."""
        if self._ahead is not None:
            self._ahead.stop()
        if self._judging is not None:
            self._judging.shutdown(wait=False, cancel_futures=True)

    def close(self) -> None:
        """Store what was run."""
        if self._ahead is not None:
            self._ahead.join(seconds=5)
        for line in self._lines.values():
            line.kept.save(self._folder())
        self._lines.clear()
        if self._scratch is not None:
            shutil.rmtree(self._scratch, ignore_errors=True)

    def _run_ahead(self, compiler: str, case: str) -> None:
        """Compile and run a case, so that its result is there when it is asked for; failures are told then."""
        try:
            with self._lock:
                line = self._line(compiler)
            self._given(Cell(Check.OPERATOR, case, "onnx", compiler=compiler), line)
        except (EnvironmentMissing, CorpusFailed):
            return

    def _line_ended(self, compiler: str) -> None:
        """All cases of a compiler were run: its agents go, its results stay."""
        line = self._lines.get(compiler)
        if line is not None:
            line.backend.close()
            line.kept.save(self._folder())

    def _given(self, cell: Cell, line: _Line) -> tuple[CaseData, Ran | None, str]:
        """A case, what the backend made of it, and why it is skew; None where it is not even tried."""
        data = self._case(cell.model)
        if set(needed_kinds(data)) - line.values:
            return data, None, ""
        row = data.row
        if newer(row, line.opset, line.ir):
            needs = f"opset {row['opsets'].get('ai.onnx', 0)}, IR {row['ir']}"
            skew = f"{needs}; {cell.compiler} takes opset {line.opset}, IR {line.ir}"
        else:
            ran = self._ran(line, data, cell.model)
            if ran.failure is None or ran.failure.symptom is not Symptom.VERSION_SKEW:
                return data, ran, ""
            skew = ran.failure.message
        converted = self._converted(cell, line)
        if isinstance(converted, str):
            return data, None, skew
        return converted, self._ran(line, converted, f"{cell.model}@{line.opset}-{line.ir}"), skew

    def _checked(self, cell: Cell, line: _Line, trail: Trail) -> Outcome:
        data, ran, skew = self._given(cell, line)
        row = self._case(cell.model).row
        trail.numbers.update(
            category=row["category"], operators=row["operators"], opset=row["opsets"].get("ai.onnx", 0), ir=row["ir"]
        )
        if skew:
            trail.numbers["converted"] = self._again(cell, line, data, ran)
            return trail.outcome(Status.VERSION_SKEW, skew, stage=Stage.COMPILE, symptom=Symptom.VERSION_SKEW)
        if ran is None:
            limits = ", ".join(sorted(set(needed_kinds(data)) - line.values))
            return trail.outcome(Status.UNVERIFIED, f"harness: {cell.compiler} is not handed {limits}")
        return self._judged(line, data, ran, trail)

    def _again(self, cell: Cell, line: _Line, data: CaseData, ran: Ran | None) -> dict[str, Any]:
        """The verdict on a case rewritten to what the backend takes, as plain data."""
        if ran is None:
            return {"status": "", "reason": str(self._converted(cell, line))}
        outcome = self._judged(line, data, ran, Trail({}))
        opset = data.row["opsets"].get("ai.onnx", 0)
        return {"opset": opset, "ir": data.row["ir"], "status": str(outcome.status), "reason": outcome.reason}

    def _converted(self, cell: Cell, line: _Line) -> CaseData | str:
        """The case rewritten to what the backend takes, or why it cannot be."""
        if not newer(self._case(cell.model).row, line.opset, line.ir):
            return "the adapter does not declare what its tool takes"
        with self._lock:
            data = self._corpus.converted(cell.model, line.opset, line.ir)
        return f"cannot be converted: {data}" if isinstance(data, str) else data

    def _case(self, name: str) -> CaseData:
        with self._lock:
            return self._corpus.case(name)

    def _ran(self, line: _Line, data: CaseData, name: str) -> Ran:
        ran = line.kept.get(name)
        if ran is None:
            ran = line.backend.run(data)
            line.kept.add(name, ran)
        return ran

    def _judged(self, line: _Line, data: CaseData, ran: Ran, trail: Trail) -> Outcome:
        trail.timings.update(ran.seconds)
        trail.placement.update(ran.meta.get("placement", {}))
        trail.retry = dict(ran.retry)
        if ran.peak:
            trail.peaks["run"] = ran.peak
        for shim in ran.meta.get("shims", []):
            trail.flag(f"shim: {shim}")
        if ran.cached:
            trail.cached.append("run")
        if ran.failure is not None:
            if ran.failure.symptom is Symptom.HARNESS:
                return trail.outcome(Status.UNVERIFIED, f"harness: {ran.failure.message}", log=ran.failure.log)
            return trail.failed(ran.failure)
        trail.converted = True
        expected = data.expected
        stock = rules.stock(expected, ran.outputs, rtol=data.row["rtol"], atol=data.row["atol"])
        strict = stock
        if not data.no_truth or data.rule.need != "spread":
            strict = rules.strict(expected, ran.outputs, data.truths, data.rule, loose=line.loose)
        trail.numbers.update(
            rule=data.rule.text, strict="pass" if strict.passed else "fail", stock="pass" if stock.passed else "fail"
        )
        if strict.ratio is not None:
            trail.numbers["ratio"] = float(f"{strict.ratio:.3g}")
        if data.no_truth:
            trail.numbers["truth"] = f"the test's own: {data.no_truth}"
        for note in strict.notes:
            trail.flag(note)
        if strict.passed:
            return trail.outcome(Status.SUPPORTED)
        return trail.outcome(Status.MISMATCH, strict.reason, stage=Stage.COMPARE, symptom=Symptom.MISMATCH)

    def _line(self, compiler: str) -> _Line:
        if compiler not in self._lines:
            workspace = self._workspace
            adapter, backend = workspace.catalog.compiler(compiler)
            name = adapter.name
            toolchain = adapter.toolchain_for("onnx")
            declared: Mapping[str, list[str]] = adapter.declaration.get("options", {})
            options = {**{key: values[0] for key, values in declared.items()}, **workspace.options.get(name, {})}
            meta = {
                "precision": "fp32", "graph": ORIGINAL, "target": {"name": "local"}, "options": options,
                "backend": backend or next(iter(adapter.backends), ""), "threads": THREADS, "batched": False,
                "binding": {}, "calibration_method": "minmax",
            }  # fmt: skip
            key = recipe(
                stage="operators", adapters=[workspace.catalog[one].digest for one in workspace.catalog.used(name)],
                agent=agent_digest(), lock=workspace.toolchains.lock_hash(toolchain), corpus=self._corpus.key,
                meta=meta,
            )  # fmt: skip
            roles = (f"{ROLES[0]}-{compiler}", f"{ROLES[1]}-{compiler}")  # two compilers may share a toolchain
            memory = int(workspace.toolchains.memory_gb(toolchain) * GIB)
            limits = Limits(SECONDS, memory)
            declaration = adapter.declaration
            self._lines[compiler] = _Line(
                Backend(self._pool, adapter, toolchain, meta, limits, self._folder(), roles),
                Kept(self._cache, key, refresh=self._refresh),
                workspace.operator_versions(compiler),
                int(declaration.get("opsets", [0, 0])[1]),
                int(declaration.get("ir", [0, 0])[1]),
                frozenset(declaration.get("values", ())),
                "fp32" in declaration.get("loose", ()),
            )
        return self._lines[compiler]

    def _folder(self) -> Path:
        if self._scratch is None:
            base = cache_root() / "scratch"
            base.mkdir(parents=True, exist_ok=True)
            self._scratch = Path(tempfile.mkdtemp(prefix="operators-", dir=base))
        return self._scratch
