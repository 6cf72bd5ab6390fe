"""The judge of quantised models, on hand-made finished stages: the layers, the whole, and what may lie between."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from bench_plugin.compare.chosen import Chosen
from bench_plugin.compare.noise import Noise
from bench_plugin.compare.quantised import accumulated, compare_layers, compare_stable
from bench_plugin.compare.strength import FAR
from bench_plugin.compare.table import DEFAULTS
from bench_plugin.compare.verdict import AGREE, MISMATCH, UNVERIFIED, Comparison
from bench_plugin.domain.outcome import Unverified
from bench_plugin.pipeline.judging.judge import ReferenceOutputs
from bench_plugin.pipeline.judging.judge_quantised import (
    LayerResults,
    bounded_by_exposed,
    judge_prequantised,
    mistakes_in_whole,
    mutants_of_layers,
    numbered,
    perturbed,
    with_single_rounding,
)
from bench_plugin.pipeline.stages import Done

Array = np.ndarray[Any, Any]
RNG = np.random.default_rng(0)
SCALE = 0.25
INTEGERS = RNG.integers(-100, 100, (10, 100)).astype(np.int8)
GRAPH = INTEGERS * SCALE  # what the quantised graph gives
PLAIN = GRAPH + RNG.uniform(-0.5, 0.5, GRAPH.shape) * SCALE  # and the unrounded model
RIGHT = LayerResults({"conv": INTEGERS + 0.501}, {"conv": INTEGERS})  # right, and not every integer the nearest one
EXACT = LayerResults({"conv": INTEGERS + 0.49}, {"conv": INTEGERS})
WRONG = LayerResults({"conv": INTEGERS + 1.2}, {"conv": INTEGERS})
NO_LAYERS = LayerResults({}, {})


def done(**arrays: Array) -> Done:
    return Done(failure=None, arrays={name.replace("_", ":"): values for name, values in arrays.items()})


def judged(
    actual: Array,
    layers: LayerResults | None = RIGHT,
    *,
    truth: Done | None = None,
    plain: Array = PLAIN,
    table: Any = DEFAULTS,
) -> Comparison:
    reference = done(out0=GRAPH) if truth is None else truth
    return judge_prequantised({"y": plain}, reference, done(out0=actual), [SCALE], layers, table)


def moved(share: float, by: float = 1.0) -> Array:
    """The result of the graph with a share of its elements so many steps off, up and down."""
    flat = GRAPH.reshape(-1).copy()
    count = round(share * flat.size)
    flat[:count] += by * SCALE * np.resize([1.0, -1.0], count)
    return flat.reshape(GRAPH.shape)


# The whole of a graph, a run with a block left out of it, and a run whose single steps add up


class Net:
    """Three quantised layers with a residual block between the first and the last, in float64 on the same inputs."""

    def __init__(self) -> None:
        rng = np.random.default_rng(5)
        self.x = rng.standard_normal((32, 24))
        self.weights = [rng.standard_normal((24, 24)) * gain / 24**0.5 for gain in (1.0, 1.0, 4.0)]

    def run(self, rounded: Callable[[Array], Array], block: bool = True) -> Array:
        first = rounded(self.x @ self.weights[0])
        middle = rounded(first + rounded(np.maximum(first @ self.weights[1], 0))) if block else first
        return rounded(middle @ self.weights[2])


STEP = 0.05


def to_step(values: Array) -> Array:
    found: Array = np.rint(values / STEP) * STEP
    return found


def coarse(values: Array) -> Array:
    """What the rule of layers permits at most: 1 % of the elements off, and every tie rounded the other way."""
    steps = values / STEP
    other = np.abs(steps - np.floor(steps) - 0.5) < 0.01
    other |= np.random.default_rng(7).random(values.shape) < 0.01
    nearest = np.rint(steps)
    found: Array = np.where(other, nearest + np.where(steps > nearest, 1, -1), nearest) * STEP
    return found


def judged_net(actual: Array) -> Comparison:
    net = Net()
    truth = done(out0=net.run(to_step))
    return judge_prequantised({"y": net.run(lambda x: x)}, truth, done(out0=actual), [STEP], RIGHT, DEFAULTS)


def test_a_block_that_is_missing_between_right_layers_is_a_mismatch() -> None:
    found = judged_net(Net().run(to_step, block=False))
    assert found.status == MISMATCH
    assert found.reason.startswith("every layer is right, but the whole is ")
    assert found.numbers["accumulated"] > 5 and found.numbers["layers_wrong"] == 0


def test_single_steps_that_add_up_stay_within_what_two_roundings_differ_by() -> None:
    found = judged_net(Net().run(coarse))
    assert found.status == AGREE and 0.5 < found.numbers["accumulated"] < 1.42
    [note] = found.notes
    assert note.startswith("single steps add up: out0: ") and "off by more than a step" in note


# Rules, one by one


def test_right_layers_and_a_right_whole_agree() -> None:
    found = judged(GRAPH)
    assert (found.status, found.reason, found.notes) == (AGREE, "", ())
    assert found.numbers["truth"] == "quantised graph in float64, layer by layer, unrounded"
    assert found.numbers["accumulated"] == 0 and found.numbers["layers"] == 1
    assert found.numbers["stable_inputs"] == 10 and found.numbers["end_to_end"][0]["name"] == "out0"


def test_without_layers_the_whole_decides() -> None:
    assert judged(GRAPH, None).status == AGREE
    assert judged(GRAPH, None).numbers["truth"] == "quantised graph in float64"
    assert judged(GRAPH, None).numbers["stable_inputs"] == 10
    assert "layers" not in judged(GRAPH, None).numbers
    assert judged(moved(0.02, 1.5), None).status == MISMATCH


def test_a_wrong_layer_is_a_mismatch_whatever_the_whole() -> None:
    for actual in (GRAPH, moved(0.02, 1.5)):
        found = judged(actual, WRONG)
        assert found.status == MISMATCH and found.reason.startswith("layer conv: 100.0% of 1000")
        assert found.numbers["layers_wrong"] == 1 and found.numbers["stable_inputs"] == 10
        assert found.numbers["accumulated"] is not None


def test_steps_of_layers_that_are_right_add_up() -> None:
    found = judged(moved(0.02, 1.5), RIGHT)
    text = "out0: 2.0% off by more than a step, up to 1.5"
    assert (found.status, found.reason, found.notes) == (AGREE, "", (f"single steps add up: {text}",))
    assert found.numbers["layers"] == 1 and found.numbers["end_to_end"][0]["largest_steps"] == pytest.approx(1.5)


def test_where_every_integer_is_the_nearest_one_a_different_whole_proves_nothing() -> None:
    found = judged(moved(0.02, 1.5), EXACT)
    assert (found.status, found.kind, found.notes) == (UNVERIFIED, Unverified.ILL_CONDITIONED, ())
    assert found.reason.startswith("every layer is right to the last integer, but not the whole")
    assert found.reason.endswith(": out0: 2.0% off by more than a step, up to 1.5") and found.numbers["layers"] == 1
    far = judged(GRAPH + 3 * (GRAPH - PLAIN), EXACT)
    assert far.status == MISMATCH and far.numbers["accumulated"] == pytest.approx(3), (
        "further than quantisation changes"
    )


def off_in_a_few(by: float) -> LayerResults:
    """Layers of which the second has one of 1,000 elements so many steps from the unrounded result."""
    unrounded = INTEGERS + 0.501
    unrounded[0, 0] = INTEGERS[0, 0] + by
    both = {"conv": INTEGERS, "norm": INTEGERS}
    return LayerResults({"conv": INTEGERS + 0.501, "norm": unrounded}, both)


@pytest.mark.parametrize(("by", "status"), [(0.509, AGREE), (0.511, MISMATCH), (0.7, MISMATCH)])
def test_what_is_more_than_a_rounding_off_does_not_add_up(by: float, status: str) -> None:
    layers = off_in_a_few(by)
    assert judged(GRAPH, layers).status == AGREE, "one element of a layer may be as far off"
    found = judged(moved(0.02, 1.5), layers)
    assert found.status == status
    if status == MISMATCH:
        text = f"layer norm is up to {by:.3g} steps from its unrounded result, more than a rounding, and that adds up"
        assert found.reason == f"{text}: out0: 2.0% off by more than a step, up to 1.5"
        assert found.numbers["layers_wrong"] == 0 and found.numbers["accumulated"] > 0


def test_what_has_no_defined_result_is_no_more_than_a_rounding_off() -> None:
    layers = off_in_a_few(0.505)
    name, values = next(iter(layers.unrounded.items()))
    values = values.copy()
    values[0, 0] = np.nan
    layers = replace(layers, unrounded={**layers.unrounded, name: values})
    assert layers.beyond_rounding(DEFAULTS) == "" and judged(moved(0.02, 1.5), layers).status == AGREE
    assert replace(layers, unrounded={name: values * np.nan}).beyond_rounding(DEFAULTS) == ""


def test_where_no_input_is_stable_layers_that_are_more_than_a_rounding_off_prove_nothing() -> None:
    shaken = done(out0=GRAPH, perturbed0_out0=GRAPH + SCALE)
    found = judged(moved(0.02, 1.5), off_in_a_few(0.505), truth=shaken)
    assert found.status == AGREE and found.notes == ("end to end: no input whose rounding is stable",)
    found = judged(moved(0.02, 1.5), off_in_a_few(0.7), truth=shaken)
    assert (found.status, found.kind) == (UNVERIFIED, Unverified.ILL_CONDITIONED)
    text = "layer norm is up to 0.7 steps from its unrounded result, more than a rounding"
    assert found.reason == f"{text}, and what that adds up to is not known: no input whose rounding is stable"


@pytest.mark.parametrize(("ratio", "status"), [(1.99, AGREE), (2.01, MISMATCH)])
def test_steps_add_up_to_twice_what_the_quantisation_changes_and_no_further(ratio: float, status: str) -> None:
    rounding = np.linalg.norm(PLAIN - GRAPH)
    actual = GRAPH.copy()
    actual[0] += ratio * rounding / 10  # of 100 elements
    found = judged(actual)
    assert found.status == status and found.numbers["accumulated"] == pytest.approx(ratio)
    if status == MISMATCH:
        assert found.reason.startswith(
            "every layer is right, but the whole is 2.01 times as far from its quantised graph as that is from the "
            "unrounded model (2 permitted): out0: "
        )
        wider = judged(actual, table=replace(DEFAULTS, quantised_sum=2.1))
        assert wider.status == AGREE


def test_nothing_bounds_the_single_steps_of_a_file_that_was_quantised_before() -> None:
    found = judge_prequantised({"y": GRAPH}, done(out0=GRAPH), done(out0=moved(0.02, 1.5)), [SCALE], RIGHT, DEFAULTS)
    assert (found.status, found.kind) == (UNVERIFIED, Unverified.ILL_CONDITIONED)
    assert found.reason.endswith("because the file was quantised before: out0: 2.0% off by more than a step, up to 1.5")
    broken = done(out0=np.full((10, 100), np.nan))
    assert judge_prequantised({"y": GRAPH}, done(out0=GRAPH), broken, [SCALE], RIGHT, DEFAULTS).status == MISMATCH
    same = judge_prequantised({"y": GRAPH}, done(out0=GRAPH), done(out0=GRAPH), [SCALE], RIGHT, DEFAULTS)
    assert same.status == AGREE


@pytest.mark.parametrize("broken", [np.zeros((10, 99)), np.full((10, 100), np.nan), np.full((10, 100), np.inf)])
def test_a_broken_whole_is_never_excused_by_right_layers(broken: Array) -> None:
    found = judged(broken)
    assert found.status == MISMATCH and found.numbers["accumulated"] is None


def test_a_missing_output_is_never_excused_by_right_layers() -> None:
    found = judge_prequantised({"y": PLAIN}, done(out0=GRAPH), done(other=GRAPH), [SCALE], RIGHT, DEFAULTS)
    assert found.status == MISMATCH and "0 outputs where 1 are needed" in found.reason


def test_where_no_input_is_stable_the_bound_still_holds() -> None:
    unstable = done(out0=GRAPH, perturbed0_out0=GRAPH + 1.0)
    found = judged(GRAPH, truth=unstable)
    assert found.status == AGREE and found.notes == ("end to end: no input whose rounding is stable",)
    far = judged(-GRAPH, truth=unstable)
    assert far.status == MISMATCH and far.reason.endswith("(2 permitted): no input whose rounding is stable")


def test_where_no_layer_could_be_compared_a_wrong_whole_is_a_mismatch() -> None:
    assert judged(moved(0.02, 1.5), NO_LAYERS).status == MISMATCH
    found = judged(GRAPH, NO_LAYERS)
    assert (found.status, found.kind) == (UNVERIFIED, Unverified.NO_REFERENCE)


def test_perturbed_runs_say_which_inputs_are_stable() -> None:
    nudged = GRAPH.copy()
    nudged[3] += 0.5 * SCALE
    truth = done(out0=GRAPH, perturbed0_out0=GRAPH, perturbed1_out0=nudged, default_out0=GRAPH + 5)
    assert judged(GRAPH, truth=truth).numbers["stable_inputs"] == 9
    assert [list(run) for run in perturbed(truth)] == [["out0"], ["out0"]]
    assert np.array_equal(perturbed(truth)[1]["out0"], nudged)
    assert list(numbered(truth.arrays)) == ["out0"]


# The sum of single steps, by hand


def test_the_sum_of_steps_by_hand() -> None:
    truth, plain = np.array([[0.0, 0.0], [1.0, 1.0]]), np.array([[3.0, 0.0], [1.0, 5.0]])  # 5 apart
    run = np.array([[0.0, 6.0], [9.0, 1.0]])  # 10 apart
    assert accumulated({"y": plain}, {"y": truth}, {"out0": run}) == pytest.approx(2.0)
    assert accumulated({"y": plain}, {"y": truth}, {"out0": truth}) == 0.0
    assert accumulated({"y": truth}, {"y": truth}, {"out0": truth}) == 0.0
    assert accumulated({"y": truth}, {"y": truth}, {"out0": run}) == np.inf


def test_the_sum_of_steps_is_that_of_the_worst_output() -> None:
    truth, plain = np.zeros((2, 2)), np.ones((2, 2))
    three = {"a": truth, "labels": np.arange(2), "b": truth, "c": truth}
    rounded = {"a": plain, "labels": np.arange(2), "b": plain, "c": plain}
    run = {"out0": plain, "out1": np.arange(2) + 7, "out2": plain * 3, "out3": truth}
    assert accumulated(rounded, three, run) == pytest.approx(3.0)
    assert accumulated(rounded, three, dict(list(run.items())[:3])) == np.inf
    assert accumulated(dict(list(rounded.items())[:3]), three, run) == np.inf
    assert accumulated(rounded | {"c": plain[:1]}, three, run) == np.inf
    assert accumulated(rounded, three, run | {"out3": truth[:1]}) == np.inf
    assert accumulated(rounded, three, run | {"out3": truth * np.nan}) == np.inf
    endless = three | {"a": truth + np.inf}
    assert accumulated(rounded, endless, run) == pytest.approx(3.0)


# Exact layers


EVEN = np.array([[-4, -2, 0, 2]])


@pytest.mark.parametrize(
    ("unrounded", "actual", "exact"),
    [
        ({"a": INTEGERS + 0.499}, {"a": INTEGERS}, True), ({"a": INTEGERS - 0.499}, {"a": INTEGERS}, True),
        ({"a": EVEN + 0.5}, {"a": EVEN}, True), ({"a": EVEN - 0.5}, {"a": EVEN}, True),
        ({"a": EVEN + 0.5}, {"a": EVEN + 1}, False), ({"a": EVEN + 1.5}, {"a": EVEN + 1}, False),
        ({"a": INTEGERS + 0.501}, {"a": INTEGERS}, False), ({"a": INTEGERS - 0.501}, {"a": INTEGERS}, False),
        ({"a": INTEGERS}, {}, False), ({"a": INTEGERS}, {"a": INTEGERS[:1]}, False), ({}, {}, True),
        ({"a": INTEGERS, "b": INTEGERS + 0.6}, {"a": INTEGERS, "b": INTEGERS}, False),
    ],
)  # fmt: skip
def test_layers_are_exact_where_every_integer_is_the_nearest_and_a_tie_goes_to_the_even_one(
    unrounded: Mapping[str, Array], actual: Mapping[str, Array], exact: bool
) -> None:
    assert LayerResults(unrounded, actual).exact is exact


# Mutants of the layers


def with_error(truth: Array, e: float) -> Array:
    error = np.random.default_rng(2).standard_normal(truth.shape)
    moved: Array = truth + error * (e * np.linalg.norm(truth - truth.mean(axis=0)) / np.linalg.norm(error))
    return moved


def test_every_mutant_of_a_layer_is_judged_by_the_rule_of_its_layer() -> None:
    real = np.random.default_rng(1).standard_normal((8, 50))
    unrounded = {"a": INTEGERS.astype(float), "fc": real, "d": real, "p": INTEGERS.astype(float), "lost": real}
    actual = {"a": INTEGERS, "fc": real, "d": real, "p": INTEGERS.astype(np.uint8)}
    layers = LayerResults(unrounded, actual, {"p": "double rounding"}, frozenset({"d"}))
    arrays = {
        "bias dropped:out0": INTEGERS[:4] + 1.0,
        "same:out0": INTEGERS[:4].astype(float),
        "nothing:out0": INTEGERS[:4] + 0.3,
        "small:out1": with_error(real, 1.5e-4),
        "dynamic:out2": with_error(real, 1.5e-4),
        "pool:out3": INTEGERS + 1.0,
        "lost:out4": with_error(real, 1.5e-4),
        "a:b:out1": with_error(real, 0.1),
    }
    found = mutants_of_layers(layers, Done(failure=None, arrays=arrays), DEFAULTS)
    assert {name: row["killed"] for name, row in found.items()} == {
        "bias dropped": True, "nothing": False, "small": True, "dynamic": False, "pool": True, "lost": True,
        "a:b": True,
    }  # fmt: skip
    assert found["bias dropped"]["ratio"] == pytest.approx(1 / 0.75)
    assert found["small"]["ratio"] == pytest.approx(1.5, rel=1e-3)
    assert found["dynamic"]["ratio"] == pytest.approx(0.75, rel=1e-3)


def test_mutants_of_layers_are_judged_by_the_table_of_the_test() -> None:
    unrounded = INTEGERS + 0.4
    arrays = {"m:out0": np.round(unrounded) + 0.0}  # rounded down: 0.4 step off
    layers = LayerResults({"a": unrounded}, {"a": INTEGERS})
    strict = replace(DEFAULTS, quantised_near=0.3)
    mutated = Done(failure=None, arrays=arrays)
    assert not mutants_of_layers(layers, mutated, DEFAULTS)["m"]["killed"]
    assert mutants_of_layers(layers, mutated, strict)["m"]["killed"]
    real = LayerResults({"a": unrounded}, {"a": INTEGERS.astype(float)}, dynamic=frozenset({"a"}))
    near = Done(failure=None, arrays={"m:out0": with_error(unrounded, 1.5e-4)})
    assert not mutants_of_layers(real, near, DEFAULTS)["m"]["killed"]
    assert mutants_of_layers(real, near, replace(DEFAULTS, quantised_dynamic=1e-4))["m"]["killed"]


def test_what_a_rounding_of_the_inputs_changes_is_noise_of_dynamic_layers_alone() -> None:
    real = np.random.default_rng(1).standard_normal((8, 50))
    layers = LayerResults({"a": real, "d": real}, {"a": real, "d": real}, dynamic=frozenset({"d"}))
    noisy = layers.with_noise([with_error(real, 3e-4), with_error(real, 2e-4)], [real, with_error(real, 1e-4)])
    assert noisy.noise == {"d": pytest.approx(2e-4, rel=1e-3)}
    assert noisy.with_noise([real] * 2, [real, with_error(real, 1e-4)]).noise == noisy.noise, "the largest one counts"
    undefined = [real, np.where(real > 2, np.nan, real)]
    assert layers.with_noise(undefined, undefined).noise == {}  # not a noise that permits anything
    far = Done(failure=None, arrays={"m:out1": with_error(real, 5e-4)})
    assert mutants_of_layers(layers, far, DEFAULTS)["m"]["killed"]
    assert not mutants_of_layers(noisy, far, DEFAULTS)["m"]["killed"]


def test_what_ties_inside_a_layer_change_is_permitted_in_its_integers_alone() -> None:
    real = np.tile(np.arange(50) * 2.0, (8, 1))
    found = real.astype("int64")
    found[0, 3] += 1  # as where one tensor inside is rounded to the other side
    layers = LayerResults({"a": real, "d": real}, {"a": real.astype("int64"), "d": found}, dynamic=frozenset({"d"}))
    assert compared(layers).status == "mismatch"
    towards, back = real.copy(), real.copy()
    towards[0, 3] += 0.6  # two ties that change one element, each found by one of the two runs
    back[0, 3] -= 0.2
    noisy = layers.with_noise([real, towards], [real, back])
    assert noisy.ties["d"][0, 3] == pytest.approx(0.8) and not noisy.ties["d"][1:].any() and set(noisy.ties) == {"d"}
    assert compared(noisy).status == "agree"
    found[1, 3] += 1
    wrong = replace(noisy, actual={**noisy.actual, "d": found})
    assert compared(wrong).reason.startswith("layer d: 0.2% of 400 more than 0.51 step"), "no tie is there"
    assert compared(replace(wrong, actual={**wrong.actual, "d": found - 2})).status == "mismatch"


def compared(layers: LayerResults) -> Comparison:
    return compare_layers(layers.unrounded, layers.actual, dynamic=layers.dynamic, noise=layers.noise, ties=layers.ties)


def test_the_whole_notices_a_mutant_of_the_structure_that_changes_more_than_its_limit() -> None:
    truth = np.arange(32.0).reshape(8, 4)
    noise = {"y": Noise(1e-3, 1e-3, 1)}
    plain = ReferenceOutputs({"y": truth, "label": np.arange(8)}, "file in float64", noise, {}, {})
    effects = {
        "residual branch zeroed": 0.1,
        "parallel branch zeroed": 0.3,
        "bias dropped": 9.0,
        "input ignored": np.nan,
        "layernorm eps 1e-3": 0.1,
        "gelu erf or tanh": 1e-5,
        "batchnorm eps 1e-3": 0.1,
    }
    label = np.arange(4)
    arrays = {"original:out0": truth[:4], "original:out1": label}
    for name, effect in effects.items():
        arrays |= {f"{name}:out0": truth[:4] + effect, f"{name}:out1": label + 1}
    rows = [{"name": "residual branch zeroed", "site": "Add r"}]
    mutants = Done(failure=None, arrays=arrays, meta={"mutate": {"samples": 4, "mutants": rows, "unchanged": []}})
    norm = np.linalg.norm(truth[:4] - truth[:4].mean(axis=0))  # of what the inputs change
    found = mistakes_in_whole(plain, mutants, 0.2 * 4 / norm)
    assert set(found) == {
        "residual branch zeroed",
        "parallel branch zeroed",
        "input ignored",
        "mean output",
        "rows permuted",
        "layernorm eps 1e-3",
        "gelu erf or tanh",
    }
    missed = {name: row["noticeable"] for name, row in found.items() if not row["killed"]}
    assert missed == {"residual branch zeroed": True, "layernorm eps 1e-3": True, "gelu erf or tanh": False}
    said = {"killed": False, "ratio": pytest.approx(0.5), "noticeable": True, "site": "Add r"}
    assert found["residual branch zeroed"] == said
    uncompared = mistakes_in_whole(plain, mutants, 0.2 * 4 / norm, biases=False)
    assert set(uncompared) == {*found, "bias dropped"} and uncompared["bias dropped"]["killed"]
    assert found["parallel branch zeroed"]["ratio"] == pytest.approx(1.5) and found["input ignored"]["ratio"] == FAR


def test_the_whole_notices_a_mutant_by_the_elements_that_it_chooses() -> None:
    scores = np.array([[4.0, 1.0, 3.9], [0.0, 2.0, 1.9], [3.0, 1.0, 2.9], [0.0, 5.0, 4.9]])
    index = scores.argmax(axis=1)
    arrays = {"original:out0": index, "residual branch zeroed:out0": index * 0 + 2, "input ignored:out0": index * 0}
    mutants = Done(failure=None, arrays=arrays, meta={"mutate": {"samples": 4, "mutants": [], "unchanged": []}})
    plain = ReferenceOutputs({"label": index}, "file in float64", {}, {}, {})
    found = mistakes_in_whole(plain, mutants, 0.2, chosen={"label": Chosen(scores, index, -1)})
    unit = np.sqrt(np.mean((scores - scores.mean(axis=0)) ** 2))
    assert found["residual branch zeroed"] == {
        "killed": False, "ratio": pytest.approx(0.1 / unit / 0.2), "noticeable": True,
    }  # fmt: skip
    assert found["input ignored"]["killed"], "it chooses elements that are much smaller"


def test_a_quantised_graph_is_judged_by_the_table_of_the_test() -> None:
    coarse = LayerResults({"conv": INTEGERS + 0.6}, {"conv": INTEGERS})
    assert judged(GRAPH, coarse).status == MISMATCH
    assert judged(GRAPH, coarse, table=replace(DEFAULTS, quantised_near=0.61)).status == AGREE
    assert judged(GRAPH, RIGHT, table=replace(DEFAULTS, quantised_near=0.5)).status == MISMATCH
    assert judged(moved(0.02, 1.5), None, table=replace(DEFAULTS, quantised_share=0.9)).status == AGREE


def test_an_input_that_rounding_to_float32_changes_is_not_stable() -> None:
    emulated, wrong = GRAPH[:4].copy(), GRAPH.copy()
    emulated[1] += 0.6 * SCALE
    emulated[2] += 0.4 * SCALE  # less than half a step
    wrong[1] += 5 * SCALE
    truth = with_single_rounding(done(out0=GRAPH), done(fp32_out0=emulated, fp16_out0=emulated + 9))
    excused = judged(wrong, None, truth=truth)
    assert (excused.status, excused.numbers["stable_inputs"]) == (AGREE, 9)
    assert judged(wrong, None).status == MISMATCH
    wrong[7] += 5 * SCALE  # which was not emulated, and counts as before
    assert judged(wrong, None, truth=truth).status == MISMATCH


@pytest.mark.parametrize("kind", ["fp32-up", "fp32-down"])
def test_an_input_whose_integers_lie_between_two_is_not_stable(kind: str) -> None:
    nudged, wrong = GRAPH[:4].copy(), GRAPH.copy()
    nudged[1] += 0.6 * SCALE
    wrong[1] += 5 * SCALE
    emulated = Done(failure=None, arrays={"fp32:out0": GRAPH[:4], f"{kind}:out0": nudged})
    excused = judged(wrong, None, truth=with_single_rounding(done(out0=GRAPH), emulated))
    assert (excused.status, excused.numbers["stable_inputs"]) == (AGREE, 3)
    wrong[7] += 5 * SCALE  # which was not reached, so that nobody knows whether its integers lie between two
    assert judged(wrong, None, truth=with_single_rounding(done(out0=GRAPH), emulated)).status == AGREE
    wrong[3] += 5 * SCALE
    assert judged(wrong, None, truth=with_single_rounding(done(out0=GRAPH), emulated)).status == MISMATCH


@pytest.mark.parametrize("values", [np.arange(10), np.arange(10) % 2 == 0])
def test_an_input_that_was_not_reached_is_not_stable_in_other_types_either(values: Array) -> None:
    outputs = np.repeat(values[:, None, None], 4, axis=2)
    emulated = Done(failure=None, arrays={"fp32:out0": outputs[:4], "fp32-up:out0": outputs[:4]})
    truth = with_single_rounding(done(out0=outputs), emulated)
    assert compare_stable({"out0": outputs}, perturbed(truth), {"out0": outputs}, [None]).numbers["stable_inputs"] == 4


def judged_two(actual: Array, layers: LayerResults | None = RIGHT, first: Array = GRAPH) -> Comparison:
    """Of two outputs the second one has no stable input; ``actual`` is what the run has there."""
    truth = done(out0=GRAPH, out1=GRAPH, perturbed0_out0=GRAPH, perturbed0_out1=GRAPH + SCALE)
    plain = {"y": PLAIN, "z": PLAIN}
    return judge_prequantised(plain, truth, done(out0=first, out1=actual), [SCALE, SCALE], layers, DEFAULTS)


def test_an_output_without_a_stable_input_is_compared_with_what_the_quantisation_changes() -> None:
    assert judged_two(moved(0.1)).status == AGREE
    turned = judged_two(-GRAPH)
    assert turned.status == MISMATCH and "times as far from its quantised graph" in turned.reason
    assert "no input whose rounding is stable in out1" in turned.reason
    alone = judged_two(-GRAPH, None)
    assert (alone.status, alone.kind) == (UNVERIFIED, Unverified.ILL_CONDITIONED)


def test_beside_an_output_that_is_wrong_all_of_them_count() -> None:
    found = judged_two(GRAPH, EXACT, first=-GRAPH)
    assert found.status == MISMATCH and found.numbers["accumulated"] > DEFAULTS.quantised_sum


@pytest.mark.parametrize(("tie", "said"), [(0.0, "conv is up to 1.2"), (0.7, ""), (0.5, "conv is up to 0.7")])
def test_what_a_tie_inside_a_layer_changes_is_no_more_than_a_rounding(tie: float, said: str) -> None:
    results = LayerResults({"conv": np.array([3.2, 7.0])}, {"conv": np.array([2, 7], dtype=np.int8)})
    found = replace(results, ties={"conv": np.array([tie, 0.0])}) if tie else results
    assert found.beyond_rounding(DEFAULTS).startswith(said) and bool(found.beyond_rounding(DEFAULTS)) == bool(said)
    assert (found.compared(DEFAULTS).status == AGREE) == (tie == 0.7)


@pytest.mark.parametrize(
    ("own", "exposed", "status"),
    [
        (0.09, None, AGREE),  # little, whatever the other run gives
        (0.9, 0.5, AGREE),
        (0.9, 0.4, UNVERIFIED),
        (0.9, None, UNVERIFIED),  # it does not run
        (0.9, math.inf, UNVERIFIED),
    ],
)
def test_what_adds_up_is_bounded_by_the_same_model_with_its_tensors_as_outputs(
    own: float, exposed: float | None, status: str
) -> None:
    agreed = Comparison(AGREE, numbers={"accumulated": own})
    off = np.nan if exposed is not None and math.isinf(exposed) else exposed or 0.0
    outputs = {} if exposed is None else {"out0": (GRAPH + off * (PLAIN - GRAPH))[:4].reshape(4, 1, -1)}
    found = bounded_by_exposed(agreed, {"y": PLAIN}, done(out0=GRAPH), outputs, DEFAULTS)
    assert found.status == status
    if status == UNVERIFIED:
        assert found.kind is Unverified.ILL_CONDITIONED and "cannot be ruled out" in found.reason
        assert ("it does not run" in found.reason) == (exposed is None)


def test_what_has_nothing_in_common_with_its_graph_is_a_mismatch_without_any_bound() -> None:
    unstable = done(out0=GRAPH, perturbed0_out0=GRAPH + 3 * SCALE)
    other = np.roll(GRAPH, 1, axis=0)
    excused = judged(other, truth=unstable, plain=GRAPH)
    assert (excused.status, excused.kind) == (UNVERIFIED, Unverified.ILL_CONDITIONED)
    found = judged(GRAPH + 3 * (GRAPH - other), truth=unstable, plain=GRAPH)
    assert found.status == MISMATCH and "two results that have nothing in common" in found.reason
