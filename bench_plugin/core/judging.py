"""From recorded arrays to numbers and verdicts: truth and noise of a file, comparison, dynamic shapes, mutants."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bench_plugin.compare.discriminate import Discrimination, discriminate
from bench_plugin.compare.noise import Noise, measure_noise
from bench_plugin.compare.table import DEFAULTS, with_overrides
from bench_plugin.compare.verdict import Comparison, compare
from bench_plugin.core.inputs import stack_names
from bench_plugin.core.models import Model
from bench_plugin.core.stages import Done

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, Any]

NOISE_KINDS = ("default", "variant", "perturbed")


@dataclass(frozen=True)
class Truth:
    """What a run is compared with: outputs by name ([N, ...] each), where they come from, the noise at fp32.

    ``whole`` are the outputs at the second binding; ``end_to_end`` the framework's own truth, for a third number.
    """

    outputs: Mapping[str, Array]
    origin: str
    noise: Mapping[str, Noise]
    whole: Mapping[str, Array]
    end_to_end: Mapping[str, Array]


class Judge:
    """The numerical judgement of one cell, under its tolerances."""

    def __init__(self, overrides: Mapping[str, float]) -> None:
        self._table = with_overrides(**overrides) if overrides else DEFAULTS

    def framework_truth(self, model: Model, reference: Done) -> Truth | None:
        """The framework's own float64 result; None where the framework could not compute in float64."""
        outputs = stack_names(reference.arrays, "truth")
        if not outputs:
            return None
        return Truth(outputs, reference.meta["reference"]["truth"], _noise(outputs, reference), _whole(reference), {})

    def file_truth(self, model: Model, evaluated: Done, reference: Done | None) -> Truth:
        """The file's own function in float64, with the framework's noise where it was measured."""
        outputs = _numbered(evaluated.arrays)
        if reference is not None:
            own = stack_names(reference.arrays, "truth")
            noise = _by_position(_noise(own, reference), outputs) if own else {}
            return Truth(outputs, "file in float64", noise, _by_position(_whole(reference), outputs), own)
        perturbed = _numbered(stack_names(evaluated.arrays, "perturbed"))
        noise = {name: measure_noise(outputs[name], [perturbed[name]]) for name in outputs if name in perturbed}
        return Truth(outputs, "file in float64", noise, {}, {})

    def single_precision_truth(self, model: Model, reference: Done) -> Truth:
        """The framework's default run, where nothing can be had in float64."""
        outputs = stack_names(reference.arrays, "default")
        variant = stack_names(reference.arrays, "variant")
        noise = {name: measure_noise(outputs[name], [variant[name]]) for name in outputs if name in variant}
        return Truth(outputs, "framework in float32", noise, {}, {})

    def runtime_truth(self, model: Model, ran: Done, reference: Done | None) -> Truth:
        """onnxruntime's result of the file, where no evaluator takes the file in float64."""
        outputs = _numbered(ran.arrays)
        noise = {}
        if reference is not None:
            own = stack_names(reference.arrays, "truth") or stack_names(reference.arrays, "default")
            noise = _by_position(_noise(own, reference), outputs)
        return Truth(outputs, "onnxruntime in float32", noise, {}, {})

    def compare(self, truth: Truth, done: Done) -> Comparison:
        """Every output of a run against the truth."""
        raise SystemError

    def dynamic(self, truth: Truth, declared: Mapping[str, Any], done: Done) -> str:
        """``preserved``, ``frozen`` or ``error: ...`` for the second binding; empty for a static model."""
        raise SystemError

    def discrimination(self, truth: Truth, mutants: Done) -> Discrimination:
        """Whether this model could show an error at all."""
        raise SystemError


def _noise(truth: Mapping[str, Array], reference: Done) -> dict[str, Noise]:
    runs = [stack_names(reference.arrays, kind) for kind in NOISE_KINDS]
    return {name: measure_noise(values, [run[name] for run in runs if name in run]) for name, values in truth.items()}


def _whole(reference: Done) -> dict[str, Array]:
    return stack_names(reference.arrays, "alt")


def _numbered(arrays: Mapping[str, Array]) -> dict[str, Array]:
    return {name: value for name, value in arrays.items() if name.startswith("out")}


def _by_position(values: Mapping[str, Any], names: Mapping[str, Any]) -> dict[str, Any]:
    return dict(zip(names, values.values(), strict=False))
