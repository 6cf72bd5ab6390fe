"""The judge of layers in float16 or bfloat16: each one by the noise of its own roundings, within the model."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from bench_plugin.compare.measures import scale_of
from bench_plugin.compare.noise import Noise, larger, measure_noise
from bench_plugin.compare.strength import FAR
from bench_plugin.compare.table import Kind, Table, kind_of
from bench_plugin.compare.verdict import AGREE, FLAT, MISMATCH, UNVERIFIED, Comparison, compare, unverified
from bench_plugin.domain.outcome import Unverified
from bench_plugin.pipeline.judging.judge_quantised import IN_PLACE, numbered
from bench_plugin.pipeline.stages import Done
from bench_plugin.pipeline.tasks.inputs import stack_names

Array = np.ndarray[Any, Any]

TRUTH = "file in float64, layer by layer"
# From so many elements of a channel on, over all inputs, its error is no chance, and from so many that make most of it.
ELEMENTS, LEAST = 64, 16
STEP = "result one step on"  # a mutant of layers in integers alone


@dataclass(frozen=True)
class NarrowLayers:
    """The layers of a model, each of which was given in float64 what the tool itself gave it.

    ``exact`` holds their results [N, ...] by name, ``actual`` what the tool made of it, ``noise`` what the roundings of
    ``precision``, fp16 or bf16, change in each alone. ``channels`` holds how far that moves each channel [C], as the
    Euclidean norm over all inputs, of those layers that have channels (:func:`_by_channel`).
    """

    exact: Mapping[str, Array]
    actual: Mapping[str, Array]
    noise: Mapping[str, Noise]
    precision: str
    table: Table
    channels: Mapping[str, Array] = field(default_factory=dict)

    def with_noise(self, emulated: Done, kind: str) -> NarrowLayers:
        """The same with the larger one of its noise and that of an emulation, whose results are ``<kind>:out0`` ..."""
        runs = dict(zip(self.exact, numbered(stack_names(emulated.arrays, kind)).values(), strict=True))
        found = {name: measure_noise(self.exact[name], [run], ()) for name, run in runs.items()}
        channels = {}
        for name, run in runs.items():
            errors = _by_channel(run - self.exact[name])
            if errors is not None:
                channels[name] = np.maximum(_spread(errors), self.channels.get(name, 0.0))
        return replace(self, noise=larger(self.noise, found), channels=channels)

    def judged(self, name: str, actual: Array) -> Comparison:
        """The verdict on a result [n, ...] of one layer for the first n inputs, by the row of the precision."""
        expected = self.exact[name][: len(actual)]
        found = compare(
            {name: expected}, {name: actual}, {name: self.noise[name]}, precision=self.precision, table=self.table,
            whole=self.exact,
        )  # fmt: skip
        return found if found.status != AGREE or name not in self.channels else self._with_channels(name, actual, found)

    def _with_channels(self, name: str, actual: Array, found: Comparison) -> Comparison:
        """A verdict on a result [n, ...] that agrees as a whole, unless a channel is wrong by its own noise."""
        expected = self.exact[name][: len(actual)]
        errors, sizes = _norms(_by_channel(actual - expected)), _norms(_by_channel(expected))
        if errors is None or sizes is None:
            return found
        usual = self.channels[name] * (len(actual) / len(self.exact[name])) ** 0.5
        limits = np.maximum(self.table.narrow_channel * usual, self.table.row(self.precision).floor * sizes)
        needed = np.divide(errors, limits, out=np.zeros_like(errors), where=limits > 0)  # 0: zeros alone, not judged
        worst = int(needed.argmax())
        numbers = {**found.numbers, "needed": max(float(found.numbers.get("needed", 0.0)), float(needed[worst]))}
        if needed[worst] <= 1:
            return replace(found, numbers=numbers)
        reason = f"{name}: channel {worst} of {len(needed)} is {needed[worst]:.2g} times as far off as it may be"
        return Comparison(MISMATCH, reason, numbers)

    def compared(self) -> Comparison:
        """The verdict on all layers: one that is wrong decides, and then one whose own noise leaves no room.

        A result that is the same for all inputs shows no more than that it is that result, and none may be missing.
        """
        if set(self.exact) - set(self.actual):
            return Comparison(MISMATCH, f"{len(self.actual)} layers where {len(self.exact)} are needed")
        found = {name: self.judged(name, self.actual[name]) for name in self.exact}
        found = {name: self._constant(name) or one for name, one in found.items()}
        found = {name: one for name, one in found.items() if one.kind is not Unverified.NOT_SENSITIVE}
        wrong = [one.reason for one in found.values() if one.status == MISMATCH]
        numbers = {
            "layers": len(found), "layer_inputs": min((len(values) for values in self.exact.values()), default=0),
            "layers_wrong": len(wrong), "per_layer": [_row(name, one) for name, one in found.items()],
            "needed": max((float(one.numbers.get("needed", 0.0)) for one in found.values()), default=0.0),
        }  # fmt: skip
        if wrong:
            return Comparison(MISMATCH, "; ".join(f"layer {reason}" for reason in wrong[:3]), numbers)
        open_ones = [one for one in found.values() if one.status == UNVERIFIED]
        if open_ones:
            first = open_ones[0]
            return unverified(first.kind or Unverified.NO_REFERENCE, f"layer {first.reason}", numbers)
        if not found:
            return unverified(Unverified.NO_REFERENCE, "no layer to compare", numbers)
        return Comparison(AGREE, "", {**numbers, "truth": TRUTH, "whole_by": IN_PLACE})

    def _constant(self, name: str) -> Comparison | None:
        """What is wrong with a result that is the same for all inputs, as a share of itself; None for any other."""
        exact, actual = self.exact[name], self.actual[name]
        size = float(np.linalg.norm(exact))
        if exact.shape != actual.shape or scale_of(exact).norm > FLAT * size:
            return None
        off = float(np.linalg.norm(actual - exact)) / size if size else float(np.abs(actual).max(initial=0.0))
        if off <= self.table.narrow_constant:
            return None
        return Comparison(MISMATCH, f"{name}: {off:.2g} of it is off, and it is the same for all inputs")

    def mutants(self, mutated: Done) -> tuple[dict[str, dict[str, Any]], list[str]]:
        """For each mutant of a layer, whether it would be noticed in the result that the tool itself gave.

        Of those of the structure the faintest of each name counts, as in the comparison end to end. And the names of
        those of the structure that change nothing.

        ``mutated`` holds ``<mutant>:out<number of the layer>`` [n, ...] over the first n samples. The effect of a
        mistake is added and taken away, and both have to be mismatches: a tool that makes it may give either.
        """
        names = list(self.exact)
        found: dict[str, dict[str, Any]] = {}
        unchanged: list[str] = []
        for key, values in mutated.arrays.items():
            mutant, _, output = key.rpartition(":out")
            name = names[int(output)]
            effect = values - self.exact[name][: len(values)]
            if mutant.startswith(STEP) or not effect.any():
                unchanged += [mutant] * (kind_of(mutant) is Kind.STRUCTURE)
                continue
            both = list(self._with(name, effect))
            ratio = min(min(float(one.numbers.get("needed") or FAR), FAR) for one in both)
            found[mutant] = {"killed": all(one.status == MISMATCH for one in both), "ratio": ratio}
        return _faintest(found), unchanged

    def _with(self, name: str, effect: Array) -> Iterator[Comparison]:
        own = self.actual[name][: len(effect)].astype(np.float64)
        for sign in (1, -1):
            yield self.judged(name, own + sign * effect)


def _faintest(found: Mapping[str, Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    """The mutants, of those of the structure only the one of each name that is noticed least."""
    kept: dict[str, str] = {}
    for mutant in sorted(found, key=lambda one: (found[one]["killed"], found[one]["ratio"])):
        name = mutant.partition(" at ")[0] if kind_of(mutant) is Kind.STRUCTURE else mutant
        kept.setdefault(name, mutant)
    return {mutant: dict(row) for mutant, row in found.items() if mutant in kept.values()}


def _by_channel(values: Array) -> Array | None:
    """A result [N, 1, C, ...] with a channel in each row [C, ...]; None where a channel has too few elements."""
    if values.ndim < 4 or values.shape[1] != 1 or values[:, :, 0].size < ELEMENTS:
        return None
    return np.moveaxis(np.asarray(values, np.float64), 2, 0).reshape(values.shape[2], -1)


def _spread(errors: Array) -> Array:
    """The norm [C] of the errors of each channel; infinite where a few of its numbers make most of it.

    Of a channel that is nearly always 0 the error of the few others is chance, and so is that of a channel that repeats
    a few numbers, such as one that a pooling over the whole image has made and a Resize has enlarged.
    """
    squares = errors**2
    total, fourth = squares.sum(axis=1), (squares**2).sum(axis=1)
    count = np.divide(total**2, fourth, out=np.zeros_like(total), where=fourth > 0)
    few = np.minimum(count, _different(errors)) < LEAST
    return np.where(few & (total > 0), np.inf, np.sqrt(total))


def _different(errors: Array) -> Array:
    """How many errors of each channel [C] differ by more than a millionth of the largest one."""
    largest = np.abs(errors).max(axis=1, keepdims=True)
    places = np.sort(np.rint(1e6 * errors / np.where(largest > 0, largest, 1.0)), axis=1)
    steps: Array = np.diff(places, axis=1) != 0
    different: Array = 1 + steps.sum(axis=1)
    return different


def _norms(rows: Array | None) -> Array | None:
    found: Array | None = None if rows is None else np.linalg.norm(rows, axis=1)
    return found


def narrow_layers(
    exact: Mapping[str, Array], actual: Mapping[str, Array], precision: str, table: Table
) -> NarrowLayers:  # fmt: skip
    """The layers without any noise yet; results of the tool come in whatever floating point it gives them."""
    single = {
        name: values.astype(np.float32) if values.dtype.kind == "f" else values for name, values in actual.items()
    }
    return NarrowLayers(exact, single, {name: Noise(0.0, 0.0, 0) for name in exact}, precision, table)


def _row(name: str, found: Comparison) -> dict[str, Any]:
    return {"name": name} | {key: found.numbers[key] for key in ("E", "tolerance_E", "noise_E") if key in found.numbers}
