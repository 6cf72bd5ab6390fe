"""The two checks of a round trip: export (and a run in onnxruntime), and import (and a run in the framework).

What happened, and the statuses of the two cells (docs/vocabulary.md):

====================================  =====================  ==========================
event                                 export cell            import cell
====================================  =====================  ==========================
framework has no such converter       unsupported            unsupported
export failed                         ERROR                  unverified
checker objects, runtime agrees       supported, ``invalid`` attempted
onnxruntime cannot run it             evaluator decides      attempted
numbers wrong                         mismatch               attempted
====================================  =====================  ==========================
"""

from __future__ import annotations

from bench_plugin.checks import emulating
from bench_plugin.checks.protocol import Checker, Parts, Request
from bench_plugin.checks.sensitivity import insensitive
from bench_plugin.checks.sums import compared_with_sums
from bench_plugin.compare.strength import Strength
from bench_plugin.compare.verdict import AGREE
from bench_plugin.domain.cell import Cell, Check
from bench_plugin.domain.outcome import Failure, Outcome, Stage, Status, Symptom, Unverified
from bench_plugin.domain.precision import PRECISIONS
from bench_plugin.pipeline.cell_run import CellRun, OnnxFile
from bench_plugin.pipeline.judging.judge import FILE, OWN, ReferenceOutputs
from bench_plugin.pipeline.schedule import Need
from bench_plugin.pipeline.stages import Done
from bench_plugin.pipeline.tasks.generated_inputs import GeneratedInputs
from bench_plugin.pipeline.tasks.subjects import of_file

# onnxruntime refuses these, but computed nothing wrong, so another evaluator may decide.
REFUSALS = frozenset({Symptom.VERSION_SKEW, Symptom.UNSUPPORTED})


class RoundTrip:
    """Runs export and import cells through their stages. ``run`` is safe to call from several threads."""

    checks = frozenset({Check.EXPORT, Check.IMPORT})

    def __init__(self, parts: Parts) -> None:
        self._parts = parts

    def need(self, cell: Cell) -> Need:
        """The toolchain of the framework that does most of the work, and the model's memory."""
        return self._parts.tasks.need(cell, self._parts.tasks.toolchain(cell.importer_framework or cell.framework))

    def run(self, request: Request) -> Outcome:
        """Compute the cell. Failed stages and missing environments are outcomes; only our own faults raise."""
        return self._parts.computed(request, _export if request.cell.check is Check.EXPORT else _import)


def checker(parts: Parts) -> Checker:
    """The checker of this folder, for registry.py."""
    return RoundTrip(parts)


def _export(run: CellRun) -> Outcome:
    file = run.file()
    if isinstance(file, Failure):
        return run.failed(file)
    run.log.converted = True
    reference = None
    if run.model.onnx is None:  # after the export: without a file there is nothing to compare
        reference = run.obtain("reference", run.reference(file))
        if reference.failure:
            return run.failed(reference.failure)
    inputs = run.inputs(file)
    if (outcome := run.without_inputs(inputs)) is not None:
        return outcome
    expected = _export_reference(run, reference, file, inputs)
    if isinstance(expected, Outcome):
        return expected
    ran = run.obtain("run", run.tasks.run(file.given, file.origin, run.model, inputs))
    if ran.failure and ran.failure.symptom not in REFUSALS:
        return run.failed(ran.failure)
    if ran.failure:
        run.log.flag(f"onnxruntime: {ran.failure.symptom}: {ran.failure.message}")
        ran = run.evaluate(file.given, file.origin, inputs)
        if ran.failure:
            reason = f"neither onnxruntime nor the evaluator runs it: {ran.failure.message}"
            return run.log.unverified(Unverified.NO_REFERENCE, reason)
    run.log.placement.update(ran.meta.get("run", {}).get("placement", {}))
    return _judged(run, expected, file, inputs, ran)


def _import(run: CellRun) -> Outcome:
    file = run.file()
    if isinstance(file, Failure):
        what = "the file is not valid" if run.model.onnx is not None else "export failed"
        reason = f"{what}: {file.symptom} at {file.stage}: {file.message}"
        return run.log.unverified(Unverified.BLOCKED, reason)
    inputs = run.inputs(file)
    if (outcome := run.without_inputs(inputs)) is not None:
        return outcome
    imported = run.obtain("import", run.tasks.import_run(file.given, file.origin, run.cell, run.model, inputs))
    if imported.failure:
        run.log.converted = imported.failure.stage is not Stage.IMPORT
        return run.failed_on_inputs(imported.failure, file, inputs)
    run.log.converted = True
    expected = _file_reference(run, file, inputs)
    if expected is None:
        reason = "nothing to compare with: neither the evaluator nor onnxruntime runs the file"
        return run.log.unverified(Unverified.NO_REFERENCE, reason)
    return _judged(run, expected, file, inputs, imported)


def _export_reference(
    run: CellRun, reference: Done | None, file: OnnxFile, inputs: GeneratedInputs
) -> ReferenceOutputs | Outcome:
    """The reference of an export: the framework's own float64 result, else that of the file."""
    if reference is not None:
        expected = run.judge.framework_reference(run.model, reference)
        if expected is not None:
            return expected
    evaluated = run.evaluate(file.given, file.origin, inputs, perturbed=1)
    if evaluated.failure is None:
        return run.judge.file_reference(run.model, evaluated, reference)
    if reference is not None:
        return run.judge.single_precision_reference(run.model, reference)
    if evaluated.failure.symptom is Symptom.EXCEPTION:
        return run.without_reference(evaluated.failure)
    return run.log.unverified(Unverified.NO_REFERENCE, f"nothing to compare with: {evaluated.failure.message}")


def _file_reference(run: CellRun, file: OnnxFile, inputs: GeneratedInputs) -> ReferenceOutputs | None:
    """The reference of an import: the file in float64, so that a fault of the export is not counted twice.

    The framework's own result is kept beside it for the end-to-end error.
    """
    reference = None
    if run.model.onnx is None:
        done = run.uncredited(run.reference(file))
        reference = None if done.failure else done
    if not run.model.detections:  # the evaluator's NonMaxSuppression takes hours
        evaluated = run.evaluate(file.given, file.origin, inputs, perturbed=int(reference is None))
        if evaluated.failure is None:
            return run.judge.file_reference(run.model, evaluated, reference)
        run.log.flag(f"no float64 reference of the file: {evaluated.failure.message}")
    ran = run.obtain("run", run.tasks.run(file.given, file.origin, run.model, inputs))
    return None if ran.failure else run.judge.runtime_reference(run.model, ran, reference)


def _judged(
    run: CellRun, expected: ReferenceOutputs, file: OnnxFile, inputs: GeneratedInputs, done: Done
) -> Outcome:  # fmt: skip
    """The outcome of a run: supported only where its numbers agree, and the comparison would notice the mutants."""
    own = expected
    if PRECISIONS[file.computes].reduced and not run.model.detections:  # the file's own types set noise and tolerance
        emulated = emulating.emulated(run, of_file(run.cell, run.model, file, inputs), file.check, OWN)
        if emulated.failure:
            reason = f"{file.computes} could not be emulated: {emulated.failure.message}"
            return run.log.unverified(Unverified.NO_REFERENCE, reason)
        own = run.judge.at_precision(expected, emulated, OWN)
    comparison = run.judge.compare(run.model, own, done, precision=file.computes)
    if comparison.status != AGREE and own is expected and run.model.onnx is not None and not run.model.detections:
        # The noise of a user's file is that of perturbed inputs and weights, without what float32 loses between them.
        emulated = emulating.emulated(run, of_file(run.cell, run.model, file, inputs), file.check)
        if emulated.failure:
            run.log.flag(f"what rounding to float32 adds to the noise is not known: {emulated.failure.message}")
        else:
            own = run.judge.with_single_rounding(expected, expected, emulated)
            comparison = run.judge.compare(run.model, own, done)
    if expected.origin == FILE:  # beside a framework's reference the emulation would have what is wrong with the file
        comparison = compared_with_sums(
            run, of_file(run.cell, run.model, file, inputs), file.check, own, expected, comparison, file.computes,
            lambda wider: run.judge.compare(run.model, wider, done, precision=file.computes),
            own=PRECISIONS[file.computes].reduced,
        )  # fmt: skip
    run.log.note_comparison(comparison)
    if comparison.status != AGREE:
        return run.log.compared(comparison)
    _dynamic(run, own, file, done)

    def measured(mutants: Done) -> Strength:
        reduced = PRECISIONS[file.computes].reduced
        return run.judge.strength(comparison, done, mutants, expected.noise, reduced=reduced)

    blind = insensitive(run, file, inputs, measured)
    return blind or run.log.outcome(Status.SUPPORTED)


def _dynamic(run: CellRun, expected: ReferenceOutputs, file: OnnxFile, done: Done) -> None:
    """Record, beside the status, whether symbolic dimensions are preserved at the second binding."""
    text = run.judge.dynamic(expected, file.check.meta["check"], done)
    if text:
        run.log.numbers["dynamic"] = text
        if not text.startswith("preserved"):
            run.log.flag(f"dynamic: {text}")
