"""One generated graph in a compiler: built as ONNX with its float64 reference, compiled, run and judged."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from bench_plugin.checks.protocol import Parts
from bench_plugin.compare.operators.bounds import Truth
from bench_plugin.compare.operators.rules import Rule, rule_of
from bench_plugin.compare.operators.strict import strict
from bench_plugin.compare.operators.values import FORMATS, Tensor, Value
from bench_plugin.domain.cell import Cell
from bench_plugin.domain.outcome import STATUS_OF_SYMPTOM, Failure, Outcome, Stage, Symptom
from bench_plugin.domain.texts.messages import EMPTY, normalised
from bench_plugin.generation.graphs import Graph
from bench_plugin.generation.search import AGREED, FAILED, INVALID, REFUSED, SILENT, Signature, Tried
from bench_plugin.pipeline.compile_run import CompiledRun, CompileRun
from bench_plugin.pipeline.stages import failure_of
from bench_plugin.pipeline.tasks.case_subjects import of_case, outputs_of
from bench_plugin.pipeline.tasks.corpus import CaseData, Pack
from bench_plugin.reach.processes.leased_agent import AgentFailure, Limits
from bench_plugin.results.signature import signature_of

BUILDER = "onnx_build"
BUILD_ROLE = "properties-build"
GENERATED = "drawn"  # the name that the builder gives its case
SECONDS = 30.0  # of processor time for one stage of one example
WALL_SECONDS = 10 * SECONDS  # on the clock, for what waits and computes nothing
GIB = 2**30


@dataclass(frozen=True)
class Built:
    """What the builder made of a graph: the case with the bytes of its model, or in ``tried`` why there is none."""

    case: CaseData | None
    model: bytes
    tried: Tried | None


class Bench:
    """One compiler with the builder of ONNX files. It must be closed after use. ``met`` is told of every failure."""

    def __init__(self, parts: Parts, cell: Cell, met: Callable[[Failure], None]) -> None:
        workspace, tasks = parts.workspace, parts.compile_tasks
        self.placement: dict[str, Any] = {}
        self._cell = cell
        self._met = met
        self._compile_run = CompileRun(parts.pool, tasks, name="properties")
        memory = int(workspace.toolchains.memory_gb(tasks.toolchain(cell)) * GIB)
        self._limits = Limits(SECONDS, memory, WALL_SECONDS)
        self._pool = parts.pool
        self._builder = workspace.catalog[BUILDER].toolchain
        self._building = Limits(SECONDS, int(workspace.toolchains.memory_gb(self._builder) * GIB))
        self._fast_math = tasks.fast_math(cell)

    def close(self) -> None:
        """Return the compiler's agents to the pool."""
        self._compile_run.close()

    def attempt(self, graph: Graph, *, fresh: bool = False) -> Tried:
        """Build the graph, compile it, run it (in ``fresh`` processes if asked) and judge it by its operators' rules.

        Raises EnvironmentMissing when a toolchain cannot be installed.
        """
        built = self.build(graph)
        if built.tried is not None or built.case is None:
            return built.tried or Tried(SILENT)
        ran = self._ran(built.case, fresh=fresh)
        if ran.failure is not None:
            failure = ran.failure
            self._met(failure)
            if failure.symptom is Symptom.UNSUPPORTED:
                return Tried(REFUSED, failure.message)
            if failure.symptom in (Symptom.VERSION_SKEW, Symptom.HARNESS) or failure.not_provided:
                return Tried(SILENT, f"{failure.symptom}: {failure.message}")
            kind = failure.types[0].rpartition(".")[2] if failure.types else ""
            text = f"{kind}: {failure.message}" if kind else failure.message
            return self._wrong(graph, replace(failure, message=text))
        self.placement.update(ran.meta.get("placement", {}))
        case = built.case
        outputs = outputs_of(ran.ran) if ran.ran else []
        verdict = strict(case.expected, outputs, case.truths, case.rule, loose=self._fast_math)
        if verdict.passed:
            return Tried(AGREED)
        return self._wrong(graph, Failure(Stage.COMPARE, Symptom.MISMATCH, verdict.reason))

    def _ran(self, case: CaseData, *, fresh: bool) -> CompiledRun:
        return self._compile_run.run(self._cell, of_case(case), self._limits, fresh=fresh)

    def build(self, graph: Graph) -> Built:
        """The graph as a case with its float64 reference."""
        values = {f"in:{one.port.name}": one.values for one in graph.sources}
        rule = rule_of(graph.operators, len(graph.nodes), len(values))
        files: list[Path] = []
        try:
            with self._pool.lease(self._builder, role=BUILD_ROLE, affinity=BUILDER) as agent:
                meta = {"graph": graph.structure(), "need": rule.need}
                answer = agent.call(BUILDER, "build", meta, arrays=values, limits=self._building)
            files = list(answer.files.values())
            model = answer.files["model.onnx"].read_bytes()
            if "objection" in answer.meta:
                return Built(None, model, Tried(INVALID, str(answer.meta["objection"])))
            if "silent" in answer.meta:
                return Built(None, model, Tried(SILENT, str(answer.meta["silent"])))
            case = _case(answer.files, rule)
        except AgentFailure as error:
            self._met(failure_of(error, Stage.REFERENCE))
            return Built(None, b"", Tried(SILENT, f"the reference: {error.symptom}: {error.message}"))
        finally:
            for file in files:
                file.unlink(missing_ok=True)
        floats = any(port.dtype in FORMATS for port in graph.outputs)
        if rule.need and floats and case.no_truth:
            return Built(None, model, Tried(SILENT, f"no float64 result: {case.no_truth}"))
        if len(graph.nodes) > 1 and _has_nan(case):
            return Built(None, model, Tried(SILENT, "NaN in between, of which not every operator's rule speaks"))
        return Built(case, model, None)

    def _wrong(self, graph: Graph, failure: Failure) -> Tried:
        status, text = STATUS_OF_SYMPTOM[failure.symptom], failure.message
        outcome = Outcome(status, failure.stage, failure.symptom, text, failure.detail)
        message = signature_of(outcome, graph.names).text or normalised(text, graph.names)
        if graph.has_empty_tensor:
            message += f" {EMPTY}"
        signature = Signature(str(failure.stage), str(failure.symptom), graph.operators, message)
        return Tried(FAILED, text, signature, failure.log)


def _case(files: Mapping[str, Path], rule: Rule) -> CaseData:
    cases = Pack(files["cases.json"], files["cases.bin"])
    row = cases.rows[GENERATED]
    truths: tuple[Truth, ...] = ()
    missing = ""
    if "truths.json" in files:
        pack = Pack(files["truths.json"], files["truths.bin"])
        found = pack.rows[GENERATED]
        missing = str(found.get("error", ""))
        count = len(found.get("outputs", ()))
        sums, spread = found.get("sums", [None] * count), found.get("spread", [None] * count)
        truths = tuple(
            Truth(
                None if value is None else pack.reader.value(value),
                None if total is None else pack.reader.value(total), reach, int(found.get("terms", 1)),
            )
            for value, total, reach in zip(found.get("outputs", ()), sums, spread, strict=True)
        )  # fmt: skip
    case = CaseData(GENERATED, row, cases.reader, rule, truths, missing)
    return replace(case, truths=tuple(map(_wider, truths, case.expected)))


def _has_nan(case: CaseData) -> bool:
    floats = [one.values for one in case.expected if isinstance(one, Tensor) and one.values.dtype.kind == "f"]
    return any(bool(np.isnan(values).any()) for values in floats)


def _wider(truth: Truth, expected: Value) -> Truth:
    """The reference with a spread that is at least the error of the reference evaluator in float32.

    The spread comes from rounded inputs only, but a composite operator rounds intermediate results too.
    """
    if truth.spread is None or truth.values is None or not isinstance(expected, Tensor):
        return truth
    with np.errstate(all="ignore"):
        errors = np.abs(expected.values.astype(np.float64) - truth.values)
    return replace(truth, spread=max(truth.spread, float(errors[np.isfinite(errors)].max(initial=0.0))))
