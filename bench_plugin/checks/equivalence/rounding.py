"""The ways in which a tool may round weights by itself: each is right, and the row says which one fits."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from bench_plugin.checks.compiled.compiling import Compiled
from bench_plugin.checks.sums import ONE_BY_ONE
from bench_plugin.compare.constants import chosen, named, without_cross_terms
from bench_plugin.compare.measures import scale_of
from bench_plugin.compare.operators.strict import LOW_ACCUMULATOR
from bench_plugin.compare.verdict import AGREE, MISMATCH, UNVERIFIED, Comparison
from bench_plugin.pipeline.cell_run import CellRun
from bench_plugin.pipeline.judging.judge import ReferenceOutputs
from bench_plugin.pipeline.stages import Done
from bench_plugin.pipeline.tasks import graph_tasks
from bench_plugin.pipeline.tasks.inputs import stack_names

RECURRENT = frozenset({"LSTM", "GRU", "RNN"})
# Layers that a product behind them can become a part of.
SCALED = frozenset({"Conv", "ConvTranspose", "Gemm", "MatMul"})
FACTORS = frozenset({"Mul", "Div", "Gemm"})  # which has its alpha and beta
AS_WRITTEN = "as written"
# The last step of a graph that says which constants are rounded, as bits of a hexadecimal number.
ONLY = "+only-"
WIDER = frozenset({"loose", ONE_BY_ONE, LOW_ACCUMULATOR})  # notes of comparisons that agree by a wider tolerance
CHOICES = 3  # of constants, each by what the one before gives
FITTED = 3  # ways of preparing the weights for which the constants are looked for, the nearest first


def roundings(base: str, operators: Collection[str]) -> Iterator[tuple[str, str]]:
    """The graphs to compare with, by their names and in words, for a file that has these operators.

    ``base`` says which weights are rounded (``rounds`` of an adapter). The file as it was written comes first.
    """
    summed = bool(RECURRENT.intersection(operators))
    folded = "BatchNormalization" in operators
    yield base, AS_WRITTEN
    if summed:
        yield f"{base}+computed", "weights computed, biases as well"
        yield f"{base}+summed", "biases summed"
    if folded:
        yield f"{base}+folded", "BatchNormalization folded"
    if not FACTORS.isdisjoint(operators) and not SCALED.isdisjoint(operators):
        yield f"{base}+scaled", "products behind layers folded"
    if summed and folded:
        yield f"{base}+folded+summed", "BatchNormalization folded, biases summed"


def fitting(
    candidates: Iterable[tuple[str, str]], compare: Callable[[str], Comparison],
    choose: Callable[[str], Iterable[tuple[str, str]]],
) -> tuple[Comparison, str]:  # fmt: skip
    """The first comparison that agrees and what it is called; where none does, the nearest mismatch.

    Where no candidate agrees, ``choose`` gives graphs whose rounded constants are those that the outputs of the tool
    point to, and what they are called. A comparison that agrees by a wider tolerance alone (fast math, long sums) may
    be of another rounding than the tool's, so it counts only where no other agrees. A comparison that proves nothing
    ends the search: what hides there would hide in the others too.
    """
    tried: list[tuple[float, Comparison, str, str]] = []
    wider: list[tuple[Comparison, str]] = []
    for graph, words in candidates:
        found = compare(graph)
        if found.status == AGREE and not WIDER.isdisjoint(found.notes):
            wider.append((found, words))
        elif found.status != MISMATCH and (found.status == AGREE or not tried):
            return found, words
        tried.append((_needed(found) if found.status != UNVERIFIED else float("inf"), found, graph, words))
    tried.sort(key=lambda one: one[0])
    for _, _, graph, words in tried[:FITTED]:
        for other, said in choose(graph):
            found, both = compare(other), said if words == AS_WRITTEN else f"{words}, {said}"
            if found.status == AGREE and WIDER.isdisjoint(found.notes):
                return found, both
            if found.status == AGREE:
                wider.append((found, both))
    return wider[0] if wider else (tried[0][1], tried[0][3])


def pointed(
    run: CellRun, found: Compiled, ran: Done, plain: ReferenceOutputs, graph: str,
    rounded: Callable[[str], ReferenceOutputs | Comparison],
) -> Iterator[tuple[str, str]]:  # fmt: skip
    """The graphs, made of ``graph``, with those constants rounded that the outputs of the run point to, and in words.

    The first choice goes by what each constant changes alone, the next ones by what the choice before gives, which
    ``rounded`` computes: the float64 reference of a graph by its name. There is none, with a flag of the cell where
    there is a reason to tell, where nothing can be read from the outputs, or where no weight of a layer would be
    rounded: a tool that leaves all of them as they are does not do what it was asked to.
    """
    if run.model.detections:
        return
    effects = run.obtain("graph", graph_tasks.effects(run.tasks, run.model, found.original, graph))
    if effects.failure:
        run.log.flag(f"which constants are rounded is not known: {effects.failure.message}")
        return
    rows: list[Mapping[str, Any]] = effects.meta["prepare"]["constants"]
    places, exact = stack_names(effects.arrays, "places"), stack_names(effects.arrays, "exact")
    given = [np.asarray(values).reshape(-1) for name, values in ran.arrays.items() if ":" not in name]
    numbered = {f"out{index}": values for index, values in enumerate(given)}
    if any(name not in numbered or where.max() >= numbered[name].size for name, where in places.items()):
        return  # the outputs have other shapes, which no rounding explains
    scales = {f"out{index}": scale_of(values).rms for index, values in enumerate(plain.outputs.values())}
    apart = {index: stack_names(effects.arrays, str(index)) for index in range(len(rows))}
    changes = {index: values for index, values in apart.items() if values}
    own = {name: numbered[name][where] for name, where in places.items()}
    wanted, seen = own, set()
    for _ in range(CHOICES):
        numbers = chosen(exact, changes, wanted, scales)
        if numbers is None:
            run.log.flag("which constants are rounded is not known: the outputs have too few values")
            return
        if numbers in seen or not any(rows[index]["weight"] for index in numbers):
            return
        seen.add(numbers)
        name = f"{graph}{ONLY}{sum(1 << index for index in numbers):x}"
        yield name, named(rows, numbers)
        reference = rounded(name)
        if isinstance(reference, Comparison):
            return
        values = {f"out{index}": one.reshape(-1) for index, one in enumerate(reference.outputs.values())}
        together = {output: values[output][where] for output, where in places.items()}
        wanted = without_cross_terms(exact, changes, own, numbers, together)


def from_unrounded(plain: Mapping[str, Any], rounded: Mapping[str, Any], actual: Mapping[str, Any]) -> float:
    """How far a run is from the unrounded file, over how far the file with rounded weights is; no unit.

    ``plain`` and ``rounded`` are float64 [N, ...] and matched by position with the outputs of the run. The distance is
    the Euclidean norm, and the output where the ratio is largest counts. It is infinite where an output of the run has
    another shape or type or is not finite, and where the rounding changes nothing that the run changes.
    """
    worst = 0.0
    found = [np.asarray(values) for name, values in actual.items() if ":" not in name]
    if len(found) < len(plain):
        return math.inf
    for exact, expected, values in zip(plain.values(), rounded.values(), found, strict=False):
        if values.shape != exact.shape or not np.isfinite(values).all():
            return math.inf
        run, rounding = (float(np.linalg.norm(np.float64(each) - exact)) for each in (values, expected))
        if run:
            worst = max(worst, run / rounding if rounding else math.inf)
    return worst


def _needed(comparison: Comparison) -> float:
    """By how many tolerances the result differs; infinite where that has no measure, as for a wrong shape."""
    return float(comparison.numbers.get("needed") or float("inf"))
