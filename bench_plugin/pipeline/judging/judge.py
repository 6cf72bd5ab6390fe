"""The judge of a cell: from the arrays of its stages to reference, noise, numbers and verdict."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from bench_plugin.compare.detecting.detections import compare_detections
from bench_plugin.compare.measures import distance, scale_of
from bench_plugin.compare.noise import Noise, larger, measure_noise, tolerance
from bench_plugin.compare.parts import parts_of
from bench_plugin.compare.precision import LIKE, LIKE_WEIGHTS, WEIGHTS, effective_by_error, emulated_errors, likeness
from bench_plugin.compare.quantised import accumulated, killed_in_steps, sqnr
from bench_plugin.compare.strength import FAR, Strength, located, rated, strength, with_faults
from bench_plugin.compare.table import DEFAULTS, Kind, Table, kind_of, with_overrides
from bench_plugin.compare.verdict import Comparison, compare
from bench_plugin.inventory.models import Model
from bench_plugin.pipeline.stages import Done
from bench_plugin.pipeline.tasks.inputs import stack_names

Array = np.ndarray[Any, Any]

NOISE_KINDS = ("default", "variant", "perturbed")
OWN = "own"  # the emulation that rounds to the types that a file itself has
STEPS = ("steps-up", "steps-down")  # emulations of float32 in which what is rounded to integers is moved
NUDGED = ("fp32-up", "fp32-down")  # emulations of float32 that only find integers which may be rounded to either side
FILE = "file in float64"  # the origin of a reference that the file itself gave
ORIGINAL = "original"  # among the mutants: the outputs of the file as it is, from the same runtime


@dataclass(frozen=True)
class ReferenceOutputs:
    """What a run is compared with: ``outputs`` by name, [N, ...] each over N inputs, float64 unless ``origin`` differs.

    ``noise`` is by output, that of fp32 unless replaced. ``second_binding`` holds the outputs [...] of one run at the
    second binding of the symbols; ``end_to_end`` the framework's own float64 outputs [N, ...]; ``own_runs`` outputs
    [N, ...] of the framework's own runs, of detections alone: a detection that one of them loses is not stable.
    """

    outputs: Mapping[str, Array]
    origin: str
    noise: Mapping[str, Noise]
    second_binding: Mapping[str, Array]
    end_to_end: Mapping[str, Array]
    own_runs: Sequence[Mapping[str, Array]] = ()


class Judge:
    """Judges the numbers of one cell. ``overrides`` are the marker's tolerances, ``k``, ``floor`` and ``cap``."""

    def __init__(self, overrides: Mapping[str, float]) -> None:
        self._table = with_overrides(**overrides) if overrides else DEFAULTS

    @property
    def table(self) -> Table:
        """The tolerances of this cell, with the marker's in place of the defaults."""
        return self._table

    def framework_reference(self, model: Model, reference: Done) -> ReferenceOutputs | None:
        """The float64 result of the framework itself; None where the framework could not compute in float64."""
        outputs = stack_names(reference.arrays, "truth")
        if not outputs:
            return None
        origin = reference.meta["reference"]["truth"]
        if model.detections:
            return ReferenceOutputs(outputs, origin, {}, {}, {}, _rounded_runs(reference))
        return ReferenceOutputs(outputs, origin, _noise(outputs, reference), _second_binding(reference), {})

    def file_reference(self, model: Model, evaluated: Done, reference: Done | None) -> ReferenceOutputs:
        """The file evaluated in float64, with the framework's noise where measured, else that of a perturbed run."""
        outputs = _numbered(evaluated.arrays)
        if reference is not None:
            own = stack_names(reference.arrays, "truth")
            noise = by_position(_noise(own, reference), outputs) if own else {}
            return ReferenceOutputs(outputs, FILE, noise, by_position(_second_binding(reference), outputs), own)
        perturbed = _numbered(stack_names(evaluated.arrays, "perturbed"))
        noise = {name: measure_noise(outputs[name], [perturbed[name]]) for name in outputs if name in perturbed}
        return ReferenceOutputs(outputs, FILE, noise, {}, {})

    def single_precision_reference(self, model: Model, reference: Done) -> ReferenceOutputs:
        """The framework's default run in float32, for models that nothing can evaluate in float64."""
        outputs = stack_names(reference.arrays, "default")
        variant = stack_names(reference.arrays, "variant")
        noise = {name: measure_noise(outputs[name], [variant[name]]) for name in outputs if name in variant}
        return ReferenceOutputs(outputs, "framework in float32", noise, {}, {})

    def runtime_reference(self, model: Model, ran: Done, reference: Done | None) -> ReferenceOutputs:
        """onnxruntime's float32 result of the file, for files that cannot be evaluated in float64.

        The framework's runs say which detections are stable, because they compute the same function.
        """
        outputs = _numbered(ran.arrays)
        if model.detections:
            runs: list[dict[str, Array]] = []
            if reference is not None:
                truth, runs = stack_names(reference.arrays, "truth"), _rounded_runs(reference)
                runs = [truth, *runs] if truth and runs else runs
            return ReferenceOutputs(outputs, "onnxruntime in float32", {}, {}, {}, runs)
        noise: dict[str, Noise] = {}
        if reference is not None:
            own = stack_names(reference.arrays, "truth") or stack_names(reference.arrays, "default")
            noise = by_position(_noise(own, reference), outputs)
        return ReferenceOutputs(outputs, "onnxruntime in float32", noise, {}, {})

    def at_precision(self, expected: ReferenceOutputs, emulated: Done, precision: str) -> ReferenceOutputs:
        """The same reference with the noise of the emulation of ``precision``, or OWN, in place of that of fp32."""
        runs = by_position(stack_names(emulated.arrays, precision), expected.outputs)
        noise = {name: measure_noise(expected.outputs[name], [run]) for name, run in runs.items()}
        return replace(expected, noise=noise)

    def with_own_types(self, expected: ReferenceOutputs, plain: ReferenceOutputs, emulated: Done) -> ReferenceOutputs:
        """The same reference with the larger one of its noise and that of the types that the emulated file has.

        ``plain`` is the reference of that file: what ``expected`` rounds beside it is no noise.
        """
        return self._with_emulation(expected, plain, emulated, OWN)

    def overflows(self, emulated: Done, precision: str) -> bool:
        """Whether the emulation of ``precision`` gives NaN or Inf, in an output of floats."""
        runs = stack_names(emulated.arrays, precision).values()
        return any(run.dtype.kind == "f" and not np.isfinite(run).all() for run in runs)

    def with_sums(
        self, expected: ReferenceOutputs, plain: ReferenceOutputs, emulated: Done, precision: str
    ) -> ReferenceOutputs:
        """The same reference with the larger one of its noise and that of sums in ``precision`` itself, of every draw.

        ``plain`` is the reference of the emulated file.
        """
        for kind in _kinds(emulated):
            if kind.startswith(f"{precision}-sums"):
                expected = self._with_emulation(expected, plain, emulated, kind)
        return expected

    def with_single_rounding(
        self, expected: ReferenceOutputs, plain: ReferenceOutputs, emulated: Done
    ) -> ReferenceOutputs:
        """The same reference with the larger one of its noise and that of rounding every result to float32.

        The runs of a file are perturbed at its inputs and weights, which does not show what is lost between: a small
        number that is added to a large one and taken from it again. ``plain`` is the reference of the emulated file.
        """
        return self._with_emulation(expected, plain, emulated, "fp32")

    def with_moved_steps(
        self, expected: ReferenceOutputs, plain: ReferenceOutputs, emulated: Done, kind: str
    ) -> ReferenceOutputs:
        """The same reference with the larger one of its noise and that of one of STEPS.

        ``plain`` is the reference of the emulated file.
        """
        return self._with_emulation(expected, plain, emulated, kind)

    def _with_emulation(
        self, expected: ReferenceOutputs, plain: ReferenceOutputs, emulated: Done, kind: str
    ) -> ReferenceOutputs:
        runs = stack_names(emulated.arrays, kind).values()
        found = {}
        for name, truth, run in zip(expected.outputs, plain.outputs.values(), runs, strict=False):
            parts = expected.noise[name].parts if name in expected.noise else ()
            found[name] = measure_noise(truth, [run], parts)
        return replace(expected, noise=larger(expected.noise, found))

    def inferred_precision(self, expected: ReferenceOutputs, emulated: Done, done: Done) -> str:
        """The inferred precision of a run (compare/precision.py), "" where none can be inferred."""
        emulations = {
            kind: stack_names(emulated.arrays, kind) for kind in _kinds(emulated) if kind not in (*NUDGED, OWN)
        }
        count = int(emulated.meta["emulate"]["samples"])
        errors = emulated_errors(expected.outputs, emulations)
        return effective_by_error(expected.outputs, _numbered(done.arrays), errors, count)

    def resembles(self, expected: ReferenceOutputs, emulated: Done, done: Done, precision: str) -> bool:
        """Whether the errors of a run are alike those of the emulation of ``precision``, not only as large."""
        runs = stack_names(emulated.arrays, precision)
        found = likeness(expected.outputs, _numbered(done.arrays), runs)
        return found >= (LIKE_WEIGHTS if precision in WEIGHTS else LIKE)

    def approximation(self, expected: ReferenceOutputs, done: Done) -> dict[str, Any]:
        """How near a run comes to the unrounded model: the largest E and the smallest SQNR (dB) over its outputs.

        Parts of an output that are judged by themselves count as outputs do; ``part`` names one that has the largest E.
        """
        pairs = [(t, y) for t, y in zip(expected.outputs.values(), _numbered(done.arrays).values(), strict=False)]
        usable = [(t, y) for t, y in pairs if t.shape == y.shape and t.dtype.kind == "f" and np.isfinite(y).all()]
        places = [("", t, y) for t, y in usable]
        places += [(str(part), part.of(t), part.of(y)) for t, y in usable for part in parts_of(t)]
        ratios = [ratio for ratio in (sqnr(y, t) for _, t, y in places) if ratio is not None]
        errors = [(distance(y, t, scale_of(t)).E, place) for place, t, y in places]
        error, where = max(errors, key=lambda one: one[0], default=(None, ""))
        found = {"E": error, "sqnr_db": min(ratios, default=None), "truth": expected.origin}
        return found | ({"part": where} if where else {})

    def compare(
        self, model: Model, expected: ReferenceOutputs, done: Done, *, precision: str = "fp32", loose: bool = False
    ) -> Comparison:
        """The verdict on every output of a run; ``loose`` permits the fast-math tolerance."""
        actual = _numbered(done.arrays)
        if model.detections:
            roles = [str(row["name"]) for row in model.outputs]
            found = compare_detections(expected.outputs, expected.own_runs, actual, roles, table=self._table)
            return replace(found, numbers={**found.numbers, "truth": expected.origin})
        found = compare(expected.outputs, actual, expected.noise, precision=precision, loose=loose, table=self._table)
        numbers = {**found.numbers, "truth": expected.origin}
        numbers |= _end_to_end(expected.end_to_end, actual)
        return replace(found, numbers=numbers)

    def dynamic(self, expected: ReferenceOutputs, declared: Mapping[str, Any], done: Done) -> str:
        """``preserved``, ``frozen`` or ``error: ...`` for the second binding of symbols; empty for a static model.

        The second binding is a single run and cannot be centred over inputs. So its largest error is measured in
        units of the root mean square by which the outputs change over the inputs of the first binding.
        """
        if not expected.second_binding:
            return ""
        symbolic = any(not isinstance(dim, int) for row in declared["inputs"] for dim in row["shape"])
        failed = [meta["failure"] for name, meta in done.meta.items() if name.startswith("alt:") and "failure" in meta]
        if failed:
            return f"error: {failed[0]}" if symbolic else "frozen"
        actual = _numbered(stack_names(done.arrays, "alt"))
        for (name, want), have in zip(expected.second_binding.items(), actual.values(), strict=False):
            if want.shape != have.shape:
                return f"error: {name} has shape {list(have.shape)}, expected {list(want.shape)}"
            reach = tolerance(expected.noise[name], self._table.row("fp32")).M * scale_of(expected.outputs[name]).rms
            worst = float(abs(have - want).max(initial=0.0)) if want.dtype.kind == "f" else float((have != want).sum())
            if not worst <= (reach if want.dtype.kind == "f" else 0.0):
                return f"error: {name} is off by {worst:.2e} at the second binding"
        return (
            "preserved"
            if len(actual) >= len(expected.second_binding)
            else "error: outputs are missing at the second binding"
        )

    def strength_in_steps(self, expected: ReferenceOutputs, mutants: Done, scales: Sequence[float | None]) -> Strength:
        """What the rule of quantised graphs would notice at the outputs, whose steps are ``scales``."""
        outputs = of_mutants(mutants, reduced=True)
        count = int(mutants.meta["mutate"]["samples"])
        part = {name: values[:count] for name, values in expected.outputs.items()}
        original = outputs.pop(ORIGINAL)
        faults = with_faults(part, part, original, outputs)
        found = {name: killed_in_steps(part, one, scales, self._table) for name, one in faults.items()}
        rows = {name: row for name, row in found.items() if row is not None}
        rows = located(rows, sites_of(mutants))
        return rated(rows, unchanged=unchanged(mutants), exact=False, table=self._table)

    def strength_by_distance(self, expected: ReferenceOutputs, quantised: Done, ran: Done, mutants: Done) -> Strength:
        """What the distance from the ``quantised`` graph would notice in the run that was judged by it."""
        outputs = of_mutants(mutants, reduced=True)
        count = int(mutants.meta["mutate"]["samples"])
        plain, truth, actual = (
            {name: values[:count] for name, values in one.items()}
            for one in (expected.outputs, _numbered(quantised.arrays), _numbered(ran.arrays))
        )
        faults = with_faults(plain, actual, outputs.pop(ORIGINAL), outputs)
        rows = {name: self._beyond_distance(plain, truth, one) for name, one in faults.items()}
        return rated(located(rows, sites_of(mutants)), unchanged=unchanged(mutants), exact=False, table=self._table)

    def _beyond_distance(
        self, plain: Mapping[str, Array], truth: Mapping[str, Array], actual: Mapping[str, Array]
    ) -> dict[str, Any]:
        ratio = min(accumulated(plain, truth, actual) / self._table.quantised_sum, FAR)
        return {"killed": ratio > 1, "ratio": ratio}

    def strength(
        self, comparison: Comparison, ran: Done, mutants: Done, single: Mapping[str, Noise], *, reduced: bool = False,
        right: Mapping[str, Array] | None = None,
    ) -> Strength:  # fmt: skip
        """What the rule of a comparison would notice in the run that it judged; ``single`` is the noise of float32.

        The mistakes that round to float16 are none where the precision is ``reduced`` anyway. ``right`` are outputs
        [n, ...] of the emulation of that precision, in which a mistake has to be noticed, too; fewer inputs than the
        mutants ran on say nothing. Raises ValueError for a comparison without a rule.
        """
        if comparison.rule is None:
            raise ValueError("this comparison has no rule that could judge mutants")
        outputs = of_mutants(mutants, reduced=reduced)
        count = int(mutants.meta["mutate"]["samples"])
        enough = bool(right) and all(len(values) >= count for values in (right or {}).values())
        return strength(
            comparison.rule, _numbered(ran.arrays), outputs.pop(ORIGINAL), outputs, single,
            unchanged=unchanged(mutants), sites=sites_of(mutants), right=right if enough else None,
        )  # fmt: skip


def of_mutants(mutants: Done, *, reduced: bool) -> dict[str, dict[str, Array]]:
    """The outputs of the file and of each mutant, by its name."""
    outputs: dict[str, dict[str, Array]] = {}
    for name, values in mutants.arrays.items():
        mutant, _, output = name.rpartition(":")
        if not (reduced and kind_of(mutant) is Kind.ROUNDING):
            outputs.setdefault(mutant, {})[output] = values
    return outputs


def unchanged(mutants: Done) -> list[str]:
    """The mutants that change nothing, even in float64, each with its site."""
    return [f"{row['name']} at {row['site']}" for row in mutants.meta["mutate"]["unchanged"]]


def sites_of(mutants: Done) -> dict[str, str]:
    """Where each mutant was made, by its name."""
    return {str(row["name"]): str(row["site"]) for row in mutants.meta["mutate"]["mutants"]}


def _end_to_end(own: Mapping[str, Array], actual: Mapping[str, Array]) -> dict[str, Any]:
    """E against the framework that the file was exported from: the error of export and import together."""
    pairs = [
        (t, y)
        for t, y in zip(own.values(), actual.values(), strict=False)
        if t.shape == y.shape and t.dtype.kind == "f"
    ]
    return {"end_to_end_E": max(distance(y, t, scale_of(t)).E for t, y in pairs)} if pairs else {}


def _noise(truth: Mapping[str, Array], reference: Done) -> dict[str, Noise]:
    runs = [stack_names(reference.arrays, kind) for kind in NOISE_KINDS]
    return {name: measure_noise(values, [run[name] for run in runs if name in run]) for name, values in truth.items()}


def _rounded_runs(done: Done) -> list[dict[str, Array]]:
    """The framework's runs in float32: by default kernels, and with inputs and weights moved by several roundings.

    None where nothing was moved, because the default kernels alone do not show what is stable.
    """
    moved = sorted({name.split(":")[0] for name in done.arrays if name.startswith("perturbed")})
    usual = ["default"] * any(name.startswith("default:") for name in done.arrays)
    return [stack_names(done.arrays, kind) for kind in usual + moved] if moved else []


def _second_binding(reference: Done) -> dict[str, Array]:
    return stack_names(reference.arrays, "alt")


def _numbered(arrays: Mapping[str, Array]) -> dict[str, Array]:
    return {name: value for name, value in arrays.items() if name.startswith("out")}


def _kinds(emulated: Done) -> tuple[str, ...]:
    """The emulations that a reply holds, such as ``fp16``."""
    return tuple(dict.fromkeys(name.split(":")[0] for name in emulated.arrays))


def by_position(values: Mapping[str, Any], names: Mapping[str, Any]) -> dict[str, Any]:
    """The values of outputs by the ``names`` that another run of the model gives them, in the same order."""
    return dict(zip(names, values.values(), strict=False))
