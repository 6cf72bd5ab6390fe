"""Ranking, greedy assignment of bits, lists of excluded layers, and the gap between simulated and deployed integers."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping

import numpy as np
import pytest

from bench_plugin.characterise.sensitivity.assignment import Bound, excluding, greedy
from bench_plugin.characterise.sensitivity.deployed import Deployed, beyond_rounding, by_depth
from bench_plugin.characterise.sensitivity.exclusion import CannotExclude, written
from bench_plugin.characterise.sensitivity.findings import (
    Assignment,
    Effect,
    Finding,
    Kind,
    Layer,
    Part,
    bits_saved,
    parts_of,
    ranked,
)
from bench_plugin.characterise.sensitivity.gap import Gap, gap, growth
from bench_plugin.compare.quality import Drop

WIDTHS = (8, 4, 2)
LAYERS = [
    Layer("first", True, "Conv", 100, 1000), Layer("second", True, "MatMul", 5000, 100),
    Layer("product", True, "MatMul", 0, 200),
]  # fmt: skip
# What each part costs at 8, 4 and 2 bits, by hand: the first layer is the sensitive one.
COSTS: dict[Part, dict[int, float]] = {
    Part(0, Kind.WEIGHTS): {8: 0.01, 4: 0.3, 2: 0.9}, Part(0, Kind.ACTIVATIONS): {8: 0.02, 4: 0.2, 2: 0.8},
    Part(1, Kind.WEIGHTS): {8: 0.001, 4: 0.01, 2: 0.05}, Part(1, Kind.ACTIVATIONS): {8: 0.001, 4: 0.02, 2: 0.3},
    Part(2, Kind.ACTIVATIONS): {8: 0.001, 4: 0.02, 2: 0.06},
}  # fmt: skip


def drop(top1: float, upper: float) -> Drop:
    return Drop(top1, top1 - (upper - top1), upper, 1.0, 1.0)


def findings(costs: Mapping[Part, Mapping[int, float]] = COSTS) -> list[Finding]:
    return [
        Finding(part, bits, Effect(cost), bits_saved(LAYERS[part.layer], part.kind, bits))
        for part, rows in costs.items() for bits, cost in rows.items()
    ]  # fmt: skip


def summed(assignment: Assignment) -> Effect:
    """Effects that add up, which makes the greedy order easy to follow by hand."""
    return Effect(sum(COSTS[part][bits] for part, bits in assignment.items()))


def test_a_product_of_two_activations_has_no_weights() -> None:
    assert parts_of(LAYERS) == list(COSTS)


def test_the_ranking_is_by_drop_and_of_equal_drops_by_error() -> None:
    rows = [
        Finding(Part(0, Kind.WEIGHTS), 8, Effect(0.5, drop(-0.02, 0.0)), 1),
        Finding(Part(1, Kind.WEIGHTS), 8, Effect(0.1, drop(0.03, 0.05)), 1),
        Finding(Part(0, Kind.ACTIVATIONS), 8, Effect(0.6, drop(0.0, 0.0)), 1),
        Finding(Part(1, Kind.ACTIVATIONS), 8, Effect(math.inf, drop(0.0, 0.0)), 1),
    ]
    assert [rows.index(one) for one in ranked(rows)] == [1, 3, 2, 0]  # a gain counts as no drop


def test_the_greedy_order_is_loss_per_bit_saved() -> None:
    seen: list[Assignment] = []

    def measure(assignment: Assignment) -> Effect:
        seen.append(dict(assignment))
        return summed(assignment)

    found = greedy(LAYERS, findings(), Bound(max_error=0.2), measure)
    assert seen[0] == dict.fromkeys(COSTS, 8)  # all at the widest first: 0.033
    # Per bit saved: 0.009/(5000*4) is the least, then 0.04/(5000*2), 0.019/(200*4), 0.019/(100*4), 0.18/(1000*4) ...
    changes = [{part: bits for part, bits in after.items() if part not in seen[0] or bits != 8} for after in seen[1:4]]
    assert changes[0] == {Part(1, Kind.WEIGHTS): 4}
    assert changes[1] == {Part(1, Kind.WEIGHTS): 2}
    assert changes[2] == {Part(1, Kind.WEIGHTS): 2, Part(2, Kind.ACTIVATIONS): 4}
    assert found.effect.error <= 0.2 and found.measured == len(seen)
    assert found.bits[Part(0, Kind.WEIGHTS)] == 8 and found.bits[Part(1, Kind.WEIGHTS)] == 2
    assert {part for part, _ in found.refused} >= {Part(0, Kind.WEIGHTS), Part(0, Kind.ACTIVATIONS)}


def test_no_reduction_that_was_refused_is_in_the_assignment_and_no_other_fits() -> None:
    found = greedy(LAYERS, findings(), Bound(max_error=0.1), summed)
    assert summed({part: bits for part, bits in found.bits.items() if bits < 32}) == found.effect
    for part, bits in found.bits.items():
        narrower = next((one for one in WIDTHS if one < bits), None)
        if narrower is not None:
            before = COSTS[part].get(bits, 0.0)
            assert found.effect.error - before + COSTS[part][narrower] > 0.1


def test_a_bound_that_nothing_meets_leaves_everything_in_floating_point() -> None:
    found = greedy(LAYERS, findings(), Bound(max_error=0.0), summed)
    assert set(found.bits.values()) == {32} and found.effect == Effect(0.0)
    assert excluding(LAYERS, findings(), Bound(max_error=0.0), summed).layers == (0, 1, 2)


def test_layers_are_left_out_as_a_whole_by_what_they_cost_per_bit_saved() -> None:
    # At 8 bits, by hand: (.01 + .02) / (1100 * 24) is the most, then .001 / (200 * 24), then .002 / (5100 * 24).
    for most, layers, effect in (
        (0.04, (), 0.033),
        (0.01, (0,), 0.003),
        (0.0025, (0, 2), 0.002),
        (0.0, (0, 1, 2), 0.0),
    ):
        found = excluding(LAYERS, findings(), Bound(max_error=most), summed)
        assert (found.layers, found.bits, found.effect.error) == (layers, 8, pytest.approx(effect))
        assert found.measured == min(len(layers) + 1, 3)


def test_a_bound_on_the_drop_counts_the_upper_end_of_its_interval() -> None:
    bound = Bound(max_drop=0.01)
    assert bound.holds(Effect(9.0, drop(0.004, 0.009)))
    assert not bound.holds(Effect(0.0, drop(0.004, 0.011)))
    assert not bound.holds(Effect(0.0))  # no task
    assert not Bound(max_error=0.5).holds(Effect(math.nan))


def test_memory_is_counted_in_bits() -> None:
    found = greedy(LAYERS, findings(), Bound(max_error=99.0), summed)
    assert set(found.bits.values()) == {2}
    assert found.memory(LAYERS) == {"weights": 5100 * 2 // 8, "activations": 1300 * 2 // 8}


def test_the_forms_of_the_tools() -> None:
    layers = [Layer("/0/Conv.1", True, "Conv", 9, 9), Layer("fc", True, "MatMul", 9, 9)]
    assert json.loads(written("onnxruntime", layers)) == {"nodes_to_exclude": ["/0/Conv.1", "fc", "fc/MatMulAddFusion"]}
    [conv, product] = json.loads(written("nncf", layers))["patterns"]
    assert re.match(conv, "/0/Conv.1") and re.match(conv, "/0/Conv.1/WithoutBiases")
    assert not re.match(conv, "/0/Conv.12") and not re.match(conv, "/0/Conv-1") and re.match(product, "fc")
    assert written("tensorrt", layers).splitlines() == [
        "--precisionConstraints=obey", "--layerPrecisions=/0/Conv.1:fp32,fc:fp32"
    ]  # fmt: skip
    assert written("tensorrt", []) == ""


def test_a_layer_that_a_tool_cannot_be_told_of_is_named() -> None:
    with pytest.raises(CannotExclude, match=r"gives no name to 1 of the layers to exclude \(the first makes 'y'\)"):
        written("onnxruntime", [Layer("y", False, "Conv", 9, 9)])
    with pytest.raises(CannotExclude, match="cannot name 'a:b'"):
        written("tensorrt", [Layer("a:b", True, "Conv", 9, 9)])


def test_the_gap_counts_steps_without_ties_and_clamps_what_is_simulated() -> None:
    unrounded = np.array([[-3.0, 0.2], [7.496, 7.6], [255.4, 300.0]])
    found = gap(unrounded, np.array([[0, 0], [8, 9], [255, 255]]))
    assert (found.elements, found.ties) == (6, 1)  # 7.496 may be 7 or 8
    assert (found.off, found.mean, found.largest, found.found) == (1 / 5, 1 / 5, 1.0, True)
    with pytest.raises(ValueError, match=r"integers of shape \[2\] where \[3, 2\] are simulated"):
        gap(unrounded, np.array([0, 0]))


def test_growth_is_the_rank_correlation_with_depth() -> None:
    def gaps(*means: float) -> list[Gap]:
        return [Gap(9, 0, 0.0, mean, 0.0) for mean in means]

    assert growth(gaps(0.3, 0.2, 0.1)) == -1.0 and growth(gaps(0.0, 0.5, 0.5)) == pytest.approx(math.sqrt(3) / 2)
    assert growth(gaps(0.1, 0.2)) is None and growth(gaps(0.1, 0.1, 0.1)) is None


def test_gaps_beyond_rounding_are_named_with_their_compiler() -> None:
    fine, wrong = Gap(100, 1, 0.005, 0.005, 1.0), Gap(100, 1, 0.5, 0.7, 3.0)
    alone = [
        Deployed("tool", (number,), 4, Effect(0.1), gaps={number: one}) for number, one in enumerate((fine, wrong))
    ]
    assert beyond_rounding(alone) == [("tool", 1)]
    whole = by_depth(Deployed("tool", (0, 1, 2), 4, Effect(0.1), gaps={2: wrong, 0: fine, 1: fine}))
    assert whole.growth == pytest.approx(math.sqrt(3) / 2)
