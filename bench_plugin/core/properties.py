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
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from bench_plugin.compare import operators as rules
from bench_plugin.core.cell import Cell, Check
from bench_plugin.core.corpus import CaseData, Pack
from bench_plugin.core.errors import EnvironmentMissing, UsageError
from bench_plugin.core.expectations import Expectation, Expectations, row_text
from bench_plugin.core.operator_runs import Backend
from bench_plugin.core.outcome import STATUS_OF_SYMPTOM, Outcome, Stage, Status, Symptom
from bench_plugin.core.places import cache_root
from bench_plugin.core.plan_equivalence import ORIGINAL
from bench_plugin.core.trail import Trail
from bench_plugin.core.workspace import Workspace
from bench_plugin.properties.catalogue import GRAPHS
from bench_plugin.properties.graphs import Graph, read_graph
from bench_plugin.properties.search import (
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
    normalised,
    search,
)
from bench_plugin.reach.client import AgentFailure, Limits
from bench_plugin.reach.supervisor import AgentPool

BUILDER = "onnx_build"
ROLES = ("properties-compile", "properties-run")
BUILD_ROLE = "properties-build"
DRAWN = "drawn"  # what the builder calls its case
SECONDS = 30.0  # for one stage of one example
GIB = 2**30


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
        from bench_plugin.properties import strategies

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


@dataclass(frozen=True)
class _Built:
    """What the builder made of a graph: the case, or why there is none."""

    case: CaseData | None
    model: bytes
    tried: Tried | None


class Bench:
    """One compiler with the builder of ONNX files: takes a graph, says what came of it."""

    def __init__(self, workspace: Workspace, pool: AgentPool, cell: Cell, threads: int, scratch: Path) -> None:
        adapter, backend = workspace.catalog.compiler(cell.compiler)
        toolchain = adapter.toolchain_for("onnx")
        declared: Mapping[str, list[str]] = adapter.declaration.get("options", {})
        options = {**{key: values[0] for key, values in declared.items()}, **workspace.options.get(adapter.name, {})}
        meta = {
            "precision": "fp32", "graph": ORIGINAL, "target": {"name": "local"}, "options": options,
            "backend": backend or next(iter(adapter.backends), ""), "threads": threads, "batched": False,
            "binding": {}, "calibration_method": "minmax",
        }  # fmt: skip
        limits = Limits(SECONDS, int(workspace.toolchains.memory_gb(toolchain) * GIB))
        self.placement: dict[str, Any] = {}
        self._backend = Backend(pool, adapter, toolchain, meta, limits, scratch, roles=ROLES)
        self._pool = pool
        self._builder = workspace.catalog[BUILDER].toolchain
        self._building = Limits(SECONDS, int(workspace.toolchains.memory_gb(self._builder) * GIB))
        self._loose = "fp32" in adapter.declaration.get("loose", ())

    def close(self) -> None:
        """Give the compiler's agents back."""
        self._backend.close()

    def attempt(self, graph: Graph) -> Tried:
        """Build the graph, compile it, run it and judge it by its operators' rules."""
        built = self.build(graph)
        if built.tried is not None or built.case is None:
            return built.tried or Tried(SILENT)
        ran = self._backend.run(built.case)
        if ran.failure is not None:
            failure = ran.failure
            if failure.symptom is Symptom.UNSUPPORTED:
                return Tried(REFUSED, failure.message)
            if failure.symptom in (Symptom.VERSION_SKEW, Symptom.HARNESS):
                return Tried(SILENT, f"{failure.symptom}: {failure.message}")
            kind = failure.types[0].rpartition(".")[2] if failure.types else ""
            text = f"{kind}: {failure.message}" if kind else failure.message
            return self._wrong(graph, str(failure.stage), str(failure.symptom), text, failure.log)
        self.placement.update(ran.meta.get("placement", {}))
        case = built.case
        verdict = rules.strict(case.expected, ran.outputs, case.truths, case.rule, loose=self._loose)
        if verdict.passed:
            return Tried(AGREED)
        return self._wrong(graph, str(Stage.COMPARE), str(Symptom.MISMATCH), verdict.reason, "")

    def build(self, graph: Graph) -> _Built:
        """The graph as a case with its float64 truth."""
        values = {f"in:{one.port.name}": one.values for one in graph.sources}
        rule = rules.rule_of(graph.operators, len(graph.nodes), len(values))
        files: list[Path] = []
        try:
            with self._pool.lease(self._builder, role=BUILD_ROLE, sticky=BUILDER) as agent:
                meta = {"graph": graph.structure(), "need": rule.need}
                answer = agent.call(BUILDER, "build", meta, arrays=values, limits=self._building)
            files = list(answer.files.values())
            model = answer.files["model.onnx"].read_bytes()
            if "objection" in answer.meta:
                return _Built(None, model, Tried(INVALID, str(answer.meta["objection"])))
            if "silent" in answer.meta:
                return _Built(None, model, Tried(SILENT, str(answer.meta["silent"])))
            case = _case(answer.files, rule)
        except AgentFailure as error:
            return _Built(None, b"", Tried(SILENT, f"the reference: {error.symptom}: {error.message}"))
        finally:
            for file in files:
                file.unlink(missing_ok=True)
        floats = any(port.dtype in rules.FORMATS for port in graph.outputs)
        if rule.need and floats and case.no_truth:
            return _Built(None, model, Tried(SILENT, f"no float64 result: {case.no_truth}"))
        if len(graph.nodes) > 1 and _has_nan(case):
            return _Built(None, model, Tried(SILENT, "NaN in between, of which not every operator's rule speaks"))
        return _Built(case, model, None)

    def _wrong(self, graph: Graph, stage: str, symptom: str, text: str, log: str) -> Tried:
        message = normalised(text if symptom != Symptom.MISMATCH else _short(text))
        return Tried(FAILED, text, Signature(stage, symptom, graph.operators, message), log)


def _case(files: Mapping[str, Path], rule: rules.Rule) -> CaseData:
    cases = Pack(files["cases.json"], files["cases.bin"])
    row = cases.rows[DRAWN]
    truths: tuple[rules.Truth, ...] = ()
    missing = ""
    if "truths.json" in files:
        pack = Pack(files["truths.json"], files["truths.bin"])
        found = pack.rows[DRAWN]
        missing = str(found.get("error", ""))
        count = len(found.get("outputs", ()))
        sums, spread = found.get("sums", [None] * count), found.get("spread", [None] * count)
        truths = tuple(
            rules.Truth(
                None if value is None else pack.reader.value(value),
                None if total is None else pack.reader.value(total), reach,
            )
            for value, total, reach in zip(found.get("outputs", ()), sums, spread, strict=True)
        )  # fmt: skip
    case = CaseData(DRAWN, row, cases.reader, rule, truths, missing)
    return replace(case, truths=tuple(map(_wider, truths, case.expected)))


def _has_nan(case: CaseData) -> bool:
    import numpy as np

    floats = [one.values for one in case.expected if isinstance(one, rules.Tensor) and one.values.dtype.kind == "f"]
    return any(bool(np.isnan(values).any()) for values in floats)


def _wider(truth: rules.Truth, expected: rules.Value) -> rules.Truth:
    """Of composites, the spread at least as wide as what float32 itself costs the reference evaluator: rounded inputs
    say nothing of rounded results in between.
    """
    import numpy as np

    if truth.spread is None or truth.values is None or not isinstance(expected, rules.Tensor):
        return truth
    with np.errstate(all="ignore"):
        errors = np.abs(expected.values.astype(np.float64) - truth.values)
    return replace(truth, spread=max(truth.spread, float(errors[np.isfinite(errors)].max(initial=0.0))))


def _short(reason: str) -> str:
    """A mismatch without its figures: ``NaN in other places``, ``out of 4 ULP``, ``shape [#], expected [#]``."""
    rest = reason.partition(": ")[2]
    if not rest:
        return reason
    if "elements differ" in rest:
        return "elements differ"
    return rest.split(":")[0] if not rest.startswith(("shape", "type")) else rest


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
