"""The verdict on a part of a graph: by the rules of whole models, or for one sample by those of operators.

Parts of a quantised graph are judged in steps: two right kernels may round one tie differently, and so differ by one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from bench_plugin.compare.measures import scale_of
from bench_plugin.compare.noise import Noise, measure_noise, tolerance
from bench_plugin.compare.operators.bounds import Truth, limits
from bench_plugin.compare.operators.rules import COMPOSITE
from bench_plugin.compare.operators.strict import strict
from bench_plugin.compare.operators.values import FORMATS, SINGLE, Tensor
from bench_plugin.compare.table import DEFAULTS
from bench_plugin.compare.verdict import MISMATCH, compare
from bench_plugin.diagnosis.parts import Part, Ran
from bench_plugin.domain.cell import Cell
from bench_plugin.domain.precision import PRECISIONS

Array = np.ndarray[Any, Any]

VALUES = "values"  # what is wrong in an output that is right in shape, type, NaN and Inf
NOISE_RUNS = 2
MOST_STEPS = 1.25  # of a quantised output: one step for a tie, and what a dequantisation in float32 adds
MOST_LEVELS = 256  # of an output of eight bits
ROUNDINGS = 4  # of float32, by which two values of one level may differ
ON_THE_GRID = 1e-3  # share of a step by which a value may lie beside its level


class References(Protocol):
    """What a part is compared with: its float64 outputs [N, ...] by name, and the same under an emulation.

    ``loose`` says that the tool declares fast math.
    """

    @property
    def cell(self) -> Cell:
        """The cell whose part it is."""

    @property
    def loose(self) -> bool:
        """Whether the tool declares fast math at the cell's precision."""

    def truth(self, part: Part, perturb: int | None = None) -> Mapping[str, Array]:
        """The float64 outputs, with inputs and weights perturbed by that seed if it is given."""

    def emulated(self, part: Part) -> Mapping[str, Array]:
        """The outputs under the emulation of the cell's precision."""


@dataclass(frozen=True)
class OutputVerdict:
    """The verdict on one output. ``ratio`` is its error in tolerances; ``limit`` is the permitted error of an element,
    ``rms`` the permitted root mean square, both in the unit of the output.
    """

    name: str
    wrong: str  # "" | shape | type | NaN | Inf | values
    reason: str
    E: float | None
    ratio: float
    limit: float
    rms: float


def judged(trials: References, part: Part, ran: Ran) -> list[OutputVerdict]:
    """The verdict on every output [N, ...] of a part, compared with its float64 reference on the same inputs."""
    truth = trials.truth(part)
    actual = dict(zip(truth, ran.outputs, strict=False))
    if len(actual) < len(truth):
        return [OutputVerdict("", "shape", f"{len(actual)} of {len(truth)} outputs came", None, np.inf, 0.0, 0.0)]
    precision = PRECISIONS[trials.cell.precision].tolerance_row
    with np.errstate(all="ignore"):  # a reference that is not finite is reported and not computed with
        found = _verdicts(trials, truth, actual, None, precision)
        if not any(one.wrong for one in found):
            return found  # right within the smallest tolerance, so the noise need not be measured
        if PRECISIONS[precision].reduced:
            runs = [trials.emulated(part)]
        else:
            runs = [trials.truth(part, perturb=seed) for seed in range(1, 1 + NOISE_RUNS)]
        return _verdicts(trials, truth, actual, runs, precision)


def _verdicts(
    trials: References, truth: Mapping[str, Array], actual: Mapping[str, Array],
    runs: Sequence[Mapping[str, Array]] | None, precision: str,
) -> list[OutputVerdict]:  # fmt: skip
    few = all(len(values) < 2 for values in truth.values())
    found = []
    for name, want in truth.items():
        others = [run[name] for run in runs or ()]
        step = step_of(want) if trials.cell.types.quantised else None
        if step is not None:
            found.append(_in_steps(name, want, actual[name], step))
        elif few:
            found.append(_single(name, want, actual[name], others, PRECISIONS[precision].reduced))
        else:
            noise = Noise(0.0, 0.0, 1) if runs is None else measure_noise(want, others)
            found.append(_several(name, want, actual[name], noise, precision, trials.loose))
    return found


def step_of(values: Array) -> float | None:
    """The step between the levels of a quantised tensor [...]; None for one that is not quantised.

    Integers of eight bits have a step of 1. Floating-point values have one where they are few and evenly spaced.
    """
    if values.dtype.kind in "iu":
        return 1.0 if values.dtype.itemsize == 1 else None
    if values.dtype.kind != "f" or not np.isfinite(values).all():
        return None
    levels = np.unique(values.astype(np.float64))
    # What differs by roundings of float32 alone, as sums of the same integers do, is one level.
    apart = np.diff(levels, prepend=-np.inf) > ROUNDINGS * np.finfo(np.float32).eps * np.abs(levels).max(initial=0.0)
    levels = levels[apart]
    if not 2 < len(levels) <= MOST_LEVELS:
        return None
    step = float(np.diff(levels).min())
    places = (levels - levels[0]) / step
    return step if np.abs(places - np.rint(places)).max() < ON_THE_GRID else None


def _in_steps(name: str, want: Array, have: Array, step: float) -> OutputVerdict:
    wrong, reason, worst = _kind(want, have), "", np.inf
    if wrong == VALUES:  # they may differ
        worst = float(np.abs(have.astype(np.float64) - want).max(initial=0.0)) / step
        wrong = VALUES if not worst <= MOST_STEPS else ""
        reason = f"{worst:.3g} steps of {step:.3g} off" if wrong else ""
    reach = MOST_STEPS * step
    return OutputVerdict(name, wrong, reason or wrong, None, worst / MOST_STEPS, reach, reach)


def _several(name: str, want: Array, have: Array, noise: Noise, precision: str, loose: bool) -> OutputVerdict:
    found = compare({name: want}, {name: have}, {name: noise}, precision=precision, loose=loose)
    limit = tolerance(noise, DEFAULTS.row(precision, loose=loose))
    unit = scale_of(want).rms if _real(want) else 0.0
    unit = unit if np.isfinite(unit) else 0.0
    numbers: Mapping[str, Any] = found.numbers
    wrong = _kind(want, have) if found.status == MISMATCH else ""
    ratio = float(numbers.get("needed", 0.0 if found.status != MISMATCH else np.inf))
    reason = found.reason.removeprefix(f"{name}: ")
    return OutputVerdict(name, wrong, reason, numbers.get("E"), ratio, limit.M * unit, limit.E * unit)


def _single(name: str, want: Array, have: Array, others: Sequence[Array], emulated: bool) -> OutputVerdict:
    """The verdict on a single sample, which cannot be centred over inputs: by the rule of composite operators.

    ``others`` are right by construction: ``emulated`` with the roundings of a narrower format, else with float32's.
    """
    kind = have.dtype.name if have.dtype.name in FORMATS else "float32"
    spread = max((_farthest(other, want) for other in others if _real(want)), default=0.0)
    if emulated:  # the rule takes a spread of float32 and scales it to the format of the output
        spread *= SINGLE / FORMATS[kind].unit
    truth = Truth(spread=spread)
    expected = Tensor(have.dtype.name if _real(want) and _real(have) else want.dtype.name, want)
    said = strict([expected], [Tensor(have.dtype.name, have)], [truth], COMPOSITE)
    ratio = said.ratio or (0.0 if said.passed else np.inf)
    reach, error = 0.0, None
    if _real(want):
        finite = want[np.isfinite(want)]
        limit, low = limits(kind, finite, finite, truth, COMPOSITE, False)
        reach = float((limit if low is None else low).max(initial=0.0))
        error = _farthest(have, want) if have.shape == want.shape else None
    if said.by_bound and error is not None:  # narrow formats have two limits, and the wider one is permitted
        ratio = error / reach
    wrong = "" if said.passed else _kind(want, have)
    return OutputVerdict(name, wrong, said.reason, error, ratio, reach, reach)


def _farthest(have: Array, want: Array) -> float:
    """The largest error of an element whose truth is finite."""
    return float(np.abs(have - want)[np.isfinite(want)].max(initial=0.0))


def _kind(want: Array, have: Array) -> str:
    if want.shape != have.shape:
        return "shape"
    if (want.dtype.kind == "f") != (have.dtype.kind == "f"):
        return "type"
    if _real(want) and np.isfinite(want).all() and not np.isfinite(have).all():
        return "NaN"
    if _real(want) and (np.isinf(want) != np.isinf(have)).any():
        return "Inf"
    return VALUES


def _real(values: Array) -> bool:
    return bool(values.dtype.kind == "f")
