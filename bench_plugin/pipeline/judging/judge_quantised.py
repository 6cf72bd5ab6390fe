"""The judge of quantised models: from the arrays of finished stages to distances in steps and a verdict."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from bench_plugin.compare.chosen import Chosen
from bench_plugin.compare.measures import distance, scale_of, scale_of_first
from bench_plugin.compare.quantised import (
    KINDS,
    accumulated,
    compare_layers,
    compare_stable,
    killed_in_layer,
    nearest,
    steps,
)
from bench_plugin.compare.strength import FAR, located, with_faults
from bench_plugin.compare.table import Kind, Table, kind_of
from bench_plugin.compare.verdict import AGREE, FLAT, MISMATCH, Comparison, unverified
from bench_plugin.domain.outcome import Unverified
from bench_plugin.pipeline.judging.judge import NUDGED, ORIGINAL, ReferenceOutputs, of_mutants, sites_of
from bench_plugin.pipeline.stages import Done
from bench_plugin.pipeline.tasks.inputs import stack_names

Array = np.ndarray[Any, Any]

DROPPED = "bias dropped"  # the mutant

# What shows of a pre-quantised model that no layer of it is missing, and none is in a wrong place.
BY_STABLE_INPUTS = "stable inputs"
BY_DISTANCE = "distance from the quantised graph"
IN_PLACE = "layers in place"
LAYER_BY_LAYER = "quantised graph in float64, layer by layer, unrounded"


@dataclass(frozen=True)
class LayerResults:
    """The layers of a quantised model after the same integers went into the tool's layers and into the float64 ones.

    ``unrounded`` holds the float64 result [N, ...] of each layer by name, clamped and not rounded, ``actual`` what the
    tool made of it; ``exceptions`` names the rounding of kernels that have one of their own, ``dynamic`` the layers
    that round something as they run, and ``noise`` and ``ties`` are what one rounding to float32 changes in them: the E
    of those that end in floating point, and the steps [N, ...] of those that end in integers (:func:`compare_layers`).
    """

    unrounded: Mapping[str, Array]
    actual: Mapping[str, Array]
    exceptions: Mapping[str, str] = field(default_factory=dict)
    dynamic: frozenset[str] = frozenset()
    noise: Mapping[str, float] = field(default_factory=dict)
    ties: Mapping[str, Array] = field(default_factory=dict)

    @property
    def exact(self) -> bool:
        """Whether every integer is the nearest one, as in the float64 graph: of a tie the even one.

        A tie that goes to the other side is right too, but what comes after it differs from that graph.
        """
        return all(
            name in self.actual
            and self.actual[name].shape == values.shape
            and np.array_equal(self.actual[name], np.rint(values))
            for name, values in self.unrounded.items()
        )

    def with_noise(self, perturbed: Sequence[Array], opposite: Sequence[Array]) -> LayerResults:
        """The same with the noise of dynamic layers; ``perturbed`` are all layers, one rounding of their inputs off.

        In ``opposite`` they are off by as much the other way, so that one of both moves an element across its tie.
        What several ties change in one element is at most the sum of both. The largest noise counts, where there is
        one already.
        """
        both = zip(self.unrounded.items(), perturbed, opposite, strict=True)
        noise, ties = dict(self.noise), dict(self.ties)
        for (name, values), moved, back in both:
            if name not in self.dynamic:
                continue
            if name in self.actual and self.actual[name].dtype.kind in KINDS:
                off = np.nan_to_num(np.abs(moved - values) + np.abs(back - values))
                ties[name] = np.maximum(ties.get(name, 0.0), off)
                continue
            shares = [share for other in (moved, back) if math.isfinite(share := _share(other, values))]
            if shares:
                noise[name] = max(*shares, noise.get(name, 0.0))
        return replace(self, noise=noise, ties=ties)

    def compared(self, table: Table) -> Comparison:
        """The verdict on the layers (:func:`compare_layers`)."""
        return compare_layers(
            self.unrounded, self.actual, self.exceptions,
            dynamic=self.dynamic, noise=self.noise, ties=self.ties, table=table,
        )  # fmt: skip

    def beyond_rounding(self, table: Table) -> str:
        """Which layer has an element that is more than a rounding off, and how far; the furthest one, else empty.

        A rounding is at most ``table.quantised_near`` steps. A layer may have a few elements beyond and still be right.
        """
        far: list[tuple[float, str]] = []
        for name, values in self.unrounded.items():
            found = self.actual.get(name)
            if found is None or found.dtype.kind not in KINDS or found.shape != values.shape or not values.size:
                continue
            known, allowed = ~np.isnan(values), nearest(values, found, self.ties.get(name))
            largest = steps(found[known], allowed[known]).largest if known.any() else 0.0
            if not largest <= table.quantised_near:
                far.append((largest, name))
        return "{1} is up to {0:.3g} steps from its unrounded result".format(*max(far)) if far else ""


def judge_prequantised(
    plain: Mapping[str, Array],
    truth: Done,
    ran: Done,
    scales: Sequence[float | None],
    layers: LayerResults | None,
    table: Table,
) -> Comparison:
    """The verdict on a quantised graph: layer by layer where the layers could be run, and end to end.

    ``truth`` and ``ran`` hold the outputs [N, ...]; ``scales`` has the step of each, or None. ``plain`` holds the
    outputs [N, ...] of the unrounded model: the single steps of layers that are right add up, but not to more than
    ``table.quantised_sum`` times what the quantisation itself changes. What is beyond lies between the layers. Nor do
    steps add up where a layer has elements that are more than a rounding off: what adds up is its mistake. Outputs
    without a stable input are held to the same bound. Where no
    layer is off at all, or where no input is stable to see what adds up, such a model is ill-conditioned. ``whole_by``
    of the row says what shows that no layer is missing: the stable inputs, or that distance.
    """
    whole = compare_stable(numbered(truth.arrays), perturbed(truth), numbered(ran.arrays), scales, table=table)
    if layers is None:
        return replace(whole, numbers={**whole.numbers, "truth": "quantised graph in float64"})
    apart = layers.compared(table)
    added = accumulated(*_not_compared(whole, plain, numbered(truth.arrays), numbered(ran.arrays)))
    numbers = {**whole.numbers, **apart.numbers, "truth": LAYER_BY_LAYER}
    numbers["accumulated"] = added if np.isfinite(added) else None
    numbers["whole_by"] = BY_STABLE_INPUTS if whole.status == AGREE else BY_DISTANCE
    if apart.status == MISMATCH or whole.status == AGREE:
        return replace(apart, numbers=numbers)
    if whole.status == MISMATCH and apart.status != AGREE:
        return replace(whole, numbers=numbers)
    coarse = layers.beyond_rounding(table)
    if whole.status == MISMATCH and coarse:
        reason = f"layer {coarse}, more than a rounding, and that adds up: {whole.reason}"
        return Comparison(MISMATCH, reason, numbers)
    if coarse and apart.status == AGREE:
        reason = f"layer {coarse}, more than a rounding, and what that adds up to is not known: {whole.reason}"
        return unverified(Unverified.ILL_CONDITIONED, reason, numbers)
    if whole.status == MISMATCH and layers.exact:
        if added > table.quantised_sum:
            return replace(whole, numbers=numbers)
        reason = (
            "every layer is right to the last integer, but not the whole: a rounding that the tool leaves out between "
            f"layers cannot be told from a mistake there: {whole.reason}"
        )
        return unverified(Unverified.ILL_CONDITIONED, reason, numbers)
    if added > table.quantised_sum and _without_bound(plain, numbered(truth.arrays), numbered(ran.arrays)):
        far = _furthest(numbered(truth.arrays), numbered(ran.arrays))
        if far > table.quantised_apart:
            reason = (
                f"E {far:.2g} from the quantised graph, where two results that have nothing in common are 1.4 apart"
            )
            return Comparison(MISMATCH, f"{reason}: {whole.reason}", numbers)
        reason = (
            "every layer is right, and nothing bounds what their single steps add up to, because the file was "
            f"quantised before: {whole.reason}"
        )
        return unverified(Unverified.ILL_CONDITIONED, reason, numbers)
    if added > table.quantised_sum:
        reason = (
            f"every layer is right, but the whole is {added:.3g} times as far from its quantised graph as that is "
            f"from the unrounded model ({table.quantised_sum:g} permitted): {whole.reason}"
        )
        return Comparison(MISMATCH, reason, numbers)
    why = "single steps add up" if whole.status == MISMATCH else "end to end"
    return replace(apart, numbers=numbers, notes=(f"{why}: {whole.reason}",))


def bounded_by_exposed(
    comparison: Comparison, plain: Mapping[str, Array], truth: Done, exposed: Mapping[str, Array], table: Table
) -> Comparison:  # fmt: skip
    """A verdict by distance, unless the run is much further off than the same model with its tensors as outputs.

    ``exposed`` are the outputs [n, ...] of that model, whose result is another one; they are empty where it does not
    run. How far single steps add up in it is how far they do for this tool: what the run is off beyond
    ``table.quantised_exposed`` times that, and beyond ``table.quantised_little``, may be a mistake that is made only
    where the tensors are no outputs.
    """
    count = min((len(values) for values in exposed.values()), default=0)
    unrounded, graph = ({name: x[:count] for name, x in one.items()} for one in (plain, numbered(truth.arrays)))
    alike = {name: x.reshape(t.shape) for (name, x), t in zip(exposed.items(), graph.values(), strict=False)}
    usual = accumulated(unrounded, graph, alike) if count else 0.0
    usual = usual if math.isfinite(usual) else 0.0
    own = comparison.numbers["accumulated"]
    if own is not None and own <= max(table.quantised_exposed * usual, table.quantised_little):
        return comparison
    beside = (
        f"with its tensors as outputs it is at {usual:.2g}" if count else "with its tensors as outputs it does not run"
    )
    reason = (
        f"every layer is right apart from the model, whose outputs are {own:.2g} times as far from the quantised graph "
        f"as that is from the unrounded model; {beside}, so that a mistake between the layers cannot be ruled out"
    )
    return unverified(Unverified.ILL_CONDITIONED, reason, comparison.numbers)


def _furthest(truth: Mapping[str, Array], actual: Mapping[str, Array]) -> float:
    """The largest E of an output in floating point [N, ...] that changes over its inputs."""
    found = [0.0]
    for expected, values in zip(truth.values(), actual.values(), strict=False):
        scale = scale_of(expected) if expected.dtype.kind == "f" and np.isfinite(expected).all() else None
        if scale is not None and values.shape == expected.shape and len(expected) > 1:
            t, y = np.asarray(expected, np.float64), np.asarray(values, np.float64)
            if scale.norm > FLAT * float(np.linalg.norm(t)) and np.isfinite(y).all():
                found.append(distance(y, t, scale).E)
    return max(found)


def _not_compared(whole: Comparison, *sets: Mapping[str, Array]) -> list[Mapping[str, Array]]:
    """The outputs of several sets, the second of which has the names of ``whole``, that have no stable input.

    All of them where each has one, or where one that was compared is wrong.
    """
    left = () if whole.status == MISMATCH else whole.numbers.get("not_stable", ())
    places = [place for place, name in enumerate(sets[1]) if name in left]
    if not places:
        return list(sets)
    return [{name: x for place, (name, x) in enumerate(one.items()) if place in places} for one in sets]


def _without_bound(plain: Mapping[str, Array], rounded: Mapping[str, Array], actual: Mapping[str, Array]) -> bool:
    """Whether the unrounded model is the quantised graph itself, and the run differs from it in finite values alone."""
    shapes = [values.shape for values in rounded.values()]
    finite = shapes == [values.shape for values in actual.values() if np.isfinite(values).all()]
    return finite and len(plain) == len(rounded) and all(map(np.array_equal, plain.values(), rounded.values()))


def mutants_of_layers(layers: LayerResults, mutated: Done, table: Table) -> dict[str, Any]:
    """For each mutant of a layer, whether the rule of quantised layers would detect it, and by how much.

    ``mutated`` holds ``<mutant>:out<number of the layer>`` [n, ...] over the first n samples. A mutant that changes no
    element of the layer is not applicable and left out.
    """
    found: dict[str, Any] = {}
    names = list(layers.unrounded)
    for key, values in mutated.arrays.items():
        mutant, _, output = key.rpartition(":out")
        layer = names[int(output)]
        expected = layers.unrounded[layer][: len(values)]
        if np.array_equal(expected, values):
            continue
        integers = layer in layers.actual and layers.actual[layer].dtype.kind in "iu"
        found[mutant] = killed_in_layer(
            expected, values, integers,
            dynamic=layer in layers.dynamic, noise=layers.noise.get(layer, 0.0), table=table,
        )  # fmt: skip
    return found


def only_in_whole(mutant: str, *, biases: bool) -> bool:
    """Whether layers that are right one by one, with the constants of the file, say nothing of a mutant.

    These are what lies between the layers, and numbers that are no constants of quantised layers: an epsilon, which
    BatchNormalization alone has in the weights, another GELU, and biases unless these are compared (``biases``).
    """
    kind = kind_of(mutant)
    detail = kind is Kind.DETAIL and not mutant.startswith("batchnorm")
    return kind is Kind.STRUCTURE or detail or (mutant == DROPPED and not biases)


def mistakes_in_whole(
    plain: ReferenceOutputs, mutants: Done, limit: float, *, biases: bool = True,
    chosen: Mapping[str, Chosen] | None = None,
) -> dict[str, dict[str, Any]]:  # fmt: skip
    """For each mutant that only the whole shows, whether an artefact's layers with it are too far from the model.

    ``limit`` is the E that the layers as one whole may be off in the worst output, without any rounding. ``biases`` are
    those of :func:`only_in_whole`, ``chosen`` has what outputs of integers are chosen from. What is below the noise of
    float32 is not noticeable.
    """
    outputs = of_mutants(mutants, reduced=True)
    original = outputs.pop(ORIGINAL)
    count = int(mutants.meta["mutate"]["samples"])
    first = {name: values[:count] for name, values in plain.outputs.items()}
    found: dict[str, dict[str, Any]] = {}
    for mutant, faulty in with_faults(first, first, original, outputs).items():
        if not only_in_whole(mutant, biases=biases):
            continue
        errors = {
            name: _share(values, plain.outputs[name])
            for name, values in faulty.items() if first[name].dtype.kind == "f"
        }  # fmt: skip
        errors |= {name: one.error(faulty[name]) for name, one in (chosen or {}).items() if name in faulty}
        ratio = max(errors.values(), default=0.0) / limit
        seen = any(one > (plain.noise[name].E if name in plain.noise else 0.0) for name, one in errors.items())
        found[mutant] = {"killed": ratio > 1, "ratio": min(ratio, FAR), "noticeable": seen}
    return located(found, sites_of(mutants))


def _share(values: Array, truth: Array) -> float:
    """E of one output [n, ...] for the first n inputs of ``truth`` [N, ...], infinite where it cannot be measured."""
    first = truth[: len(values)]
    if values.shape != first.shape or not np.isfinite(values).all():
        return math.inf
    return distance(values, first, scale_of_first(first, truth)).E


def numbered(arrays: Mapping[str, Array]) -> dict[str, Array]:
    """The outputs ``out0``, ``out1`` ... of a run."""
    return {name: value for name, value in arrays.items() if name.startswith("out")}


def perturbed(done: Done) -> list[dict[str, Array]]:
    """The outputs of each run with inputs and weights perturbed by one ULP."""
    kinds = sorted({name.split(":")[0] for name in done.arrays if name.startswith("perturbed")})
    return [stack_names(done.arrays, kind) for kind in kinds]


def with_single_rounding(truth: Done, emulated: Done) -> Done:
    """The reference of a quantised graph with more perturbed runs: every result rounded to float32.

    Perturbed inputs and weights do not show what is lost between: a small number that is added to a large one and
    taken from it again. Nor do two such runs find every integer that lies in the middle between two, so that those of
    a graph that rounds as it runs are also rounded up and down. Of such a graph, inputs that ``emulated`` does not
    reach are not stable, for nothing tells whether they are; of any other they count as they were.
    """
    arrays = dict(truth.arrays)
    for kind in ("fp32", *NUDGED):
        for name, values in stack_names(emulated.arrays, kind).items():
            if name in truth.arrays and values.shape[1:] == truth.arrays[name].shape[1:]:
                rest = truth.arrays[name][len(values) :]
                arrays[f"perturbed-{kind}:{name}"] = np.concatenate([values, _other(rest) if kind in NUDGED else rest])
    return replace(truth, arrays=arrays)


def _other(values: Array) -> Array:
    """Something else in place of each of the values: no number, another integer."""
    if values.dtype.kind == "f":
        return np.full_like(values, np.nan)
    return ~values if values.dtype.kind == "b" else values + 1
