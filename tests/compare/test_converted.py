"""What a converter wrote, against the file that it was given: what the row and the reason say, and what is skipped."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from bench_plugin.compare.converted import (
    compare_constants,
    compare_corrected,
    compare_floats,
    compare_ranges,
    cut_ranges,
    masked_range,
    measured_ranges,
)
from bench_plugin.compare.table import DEFAULTS
from bench_plugin.compare.verdict import AGREE, MISMATCH, Comparison

CONSTANTS = [{"name": name, "kind": "bias" if name == "b" else "weight", "layer": f"L{name}"} for name in "bwxyz"]


def match(name: str, steps: float, tensor: str = "t") -> dict[str, Any]:
    return {"name": name, "tensor": tensor and f"{tensor}.{name}", "steps": steps}


def test_constants_that_are_right() -> None:
    found = compare_constants(CONSTANTS, [match("b", 0.25), match("w", 0.125)])
    assert found == Comparison(AGREE, "", {"converter": {"constants": 5, "compared": 2, "worst_steps": 0.25}})
    assert compare_constants(CONSTANTS, []).numbers["converter"] == {
        "constants": 5, "compared": 0, "worst_steps": 0.0,
    }  # fmt: skip


def test_a_number_that_need_not_be_the_files_is_not_counted() -> None:
    number = {"name": "n", "kind": "number", "layer": "MINIMUM"}
    found = compare_constants([*CONSTANTS[:1], number], [match("b", 0.25), match("n", 9.0)])
    assert found == Comparison(AGREE, "", {"converter": {"constants": 1, "compared": 1, "worst_steps": 0.25}})


def test_constants_that_are_wrong_are_named_three_at_most() -> None:
    found = compare_constants(CONSTANTS, [match(name, 1.2345) for name in "bwxy"] + [match("z", 0.1)])
    assert found.status == MISMATCH
    assert found.reason == (
        "converter: bias of Lb up to 1.23 steps from t.b of the file; "
        "converter: weight of Lw up to 1.23 steps from t.w of the file; "
        "converter: weight of Lx up to 1.23 steps from t.x of the file"
    )
    assert found.numbers["converter"] == {"constants": 5, "compared": 5, "worst_steps": 1.2345}


def test_what_is_not_compared_does_not_end_the_comparison() -> None:
    matches = [match("w", 9.0, ""), match("x", 0.75)]
    found = compare_constants(CONSTANTS, matches)
    assert (found.status, found.numbers["converter"]["compared"]) == (MISMATCH, 1)
    assert found.reason.startswith("converter: weight of Lx")
    wide = replace(DEFAULTS, converter_weights=0.75)
    assert compare_constants(CONSTANTS, matches, table=wide).status == AGREE


@pytest.mark.parametrize(("bits", "least"), [(8, 31.75), (4, 1.75), (2, 0.25)])
def test_a_weight_has_to_use_a_quarter_of_its_integers(bits: int, least: float) -> None:
    def found(reach: float, name: str = "w", of: int = bits) -> Comparison:
        return compare_constants(CONSTANTS, [match(name, 0.25) | {"reach": reach}], bits=of)

    assert found(least).status == AGREE
    few = found(least - 0.125)
    assert few.status == MISMATCH
    assert few.reason == (
        f"converter: the weight of Lw uses {least - 0.125:.0f} of the {2 ** (bits - 1) - 1} integers on a side of zero"
    )
    assert found(0.0).status == AGREE, "zeros, or no weight of a contraction"
    assert found(0.1, "b").status == AGREE, "a bias"
    assert found(0.1, of=0).status == AGREE, "weights in floating point"
    assert compare_constants(CONSTANTS, [match("w", 0.25)], bits=bits).status == AGREE


def test_constants_in_floating_point_are_judged_by_themselves() -> None:
    floats = [{**row, "floating": row["name"] in "bw"} for row in CONSTANTS]
    matches = [match("b", 0.25), match("w", 9900.0), match("x", 0.125), match("y", 0.25, "")]
    found = compare_floats(floats, matches)
    assert found.status == MISMATCH
    assert found.reason == (
        "converter: weight of Lw in floating point up to 0.99 % of its largest value from t.w of the file"
    )
    said = {"constants": 2, "compared": 2, "worst_millionths": 9900.0}
    assert found.numbers == {"converter_floats": said}
    others = compare_constants(floats, matches)
    assert others == Comparison(AGREE, "", {"converter": {"constants": 3, "compared": 1, "worst_steps": 0.125}})
    none = {"constants": 0, "compared": 0, "worst_millionths": 0.0}
    assert compare_floats(CONSTANTS, matches) == Comparison(AGREE, "", {"converter_floats": none})


def test_biases_that_a_tool_may_have_corrected_are_not_compared_one_by_one() -> None:
    bias = {"name": "b", "kind": "bias", "layer": "Add", "floating": True}
    assert compare_floats([bias], [match("b", 900.0)]).status == MISMATCH
    found = compare_floats([{**bias, "corrected": True}], [match("b", 900.0)])
    assert found.status == AGREE and found.numbers["converter_floats"]["constants"] == 0


@pytest.mark.parametrize(("moved", "status"), [(0, AGREE), (1, MISMATCH), (3, MISMATCH), (4, AGREE), (8, AGREE)])
def test_a_tool_corrects_all_channels_of_a_bias_or_none(moved: int, status: str) -> None:
    bias = {"name": "b", "kind": "bias", "layer": "Add", "floating": True, "corrected": True}
    known = np.linspace(-1, 2, 8)
    own = known + np.where(np.arange(8) < moved, 0.25, 1e-7)
    found = compare_corrected([bias], [match("b", 900.0)], {"b": own}, {"b": known})
    assert found.status == status
    assert found.numbers == {"converter_biases": {"constants": 1, "corrected": int(moved > 0)}}
    if status == MISMATCH:
        said = (
            f"converter: {moved} of 8 numbers of the bias of Add up to 0.25 from t.b of the file, the others equal it"
        )
        assert found.reason == said
    beside_nothing = compare_corrected([bias], [match("b", 9.0, "")], {"b": own}, {})
    assert beside_nothing.status == AGREE, "what the file adds there is not known"
    assert compare_corrected([], [], {}, {}).numbers == {}


def test_what_counts_as_the_same_number_of_a_bias() -> None:
    def corrected(own: list[float], known: list[float]) -> Comparison:
        bias = {"name": "b", "kind": "bias", "layer": "Add", "floating": True, "corrected": True}
        return compare_corrected([bias], [match("b", 1.0)], {"b": np.array(own)}, {"b": np.array(known)})

    assert corrected([4.0, 1 + 3e-6, 2.0, 3.0], [4.0, 1.0, 2.0, 3.0]).numbers["converter_biases"]["corrected"] == 0
    one = corrected([4.0, 1 + 5e-6, 2.0, -3.0], [4.0, 1.0, 2.0, -3.0])
    assert one.status == MISMATCH and "1 of 4 numbers of the bias of Add up to 5e-06 from t.b" in one.reason
    added = corrected([0.1, -0.1, 0.2], [0.0, 0.0, 0.0])
    assert added.status == AGREE and added.numbers["converter_biases"] == {"constants": 1, "corrected": 1}
    assert corrected([0.1, 0.0, 0.0], [0.0, 0.0, 0.0]).status == MISMATCH
    assert corrected([0.0, 0.0, 0.0], [0.0, 0.0, 0.0]).numbers["converter_biases"]["corrected"] == 0


def test_of_wrong_biases_three_are_named_and_all_that_were_corrected_are_counted() -> None:
    rows = [{"name": name, "kind": "bias", "layer": f"L{name}", "corrected": True} for name in "abcde"]
    known = {name: np.arange(4.0) for name in "abcde"}
    own = {name: values + np.array([0, 0, 0, name != "e"]) for name, values in known.items()}
    found = compare_corrected(rows, [match(name, 1.0) for name in "abcde"], own, known)
    assert found.reason.count("; ") == 2 and "La" in found.reason and "Ld" not in found.reason
    assert found.numbers == {"converter_biases": {"constants": 5, "corrected": 4}}


def test_a_part_of_a_concat_is_compared_where_the_file_has_something_like_it() -> None:
    part = {"name": "n", "kind": "part", "layer": "CONCATENATION"}
    right = compare_constants([part], [match("n", 0.25)])
    assert right == Comparison(AGREE, "", {"converter": {"constants": 1, "compared": 1, "worst_steps": 0.25}})
    wrong = compare_constants([part], [match("n", 3.0)])
    assert wrong.status == MISMATCH
    assert wrong.reason == "converter: part of CONCATENATION up to 3 steps from t.n of the file"
    unlike = compare_constants([part], [match("n", 9.0, "")])
    assert unlike == Comparison(AGREE, "", {"converter": {"constants": 0, "compared": 0, "worst_steps": 0.0}})


def test_floats_that_are_wrong_are_named_three_at_most() -> None:
    floats = [{**constant, "floating": True} for constant in CONSTANTS]
    found = compare_floats(floats, [match(name, 12_345.0) for name in "bwxy"] + [match("z", 0.1)])
    assert found.status == MISMATCH
    assert found.reason == (
        "converter: bias of Lb in floating point up to 1.23 % of its largest value from t.b of the file; "
        "converter: weight of Lw in floating point up to 1.23 % of its largest value from t.w of the file; "
        "converter: weight of Lx in floating point up to 1.23 % of its largest value from t.x of the file"
    )
    wide = replace(DEFAULTS, converter_weights=12_345.0)
    assert compare_floats(floats, [match("w", 12_345.0)], table=wide).status == AGREE


def test_a_table_that_is_clipped_is_said_to_be() -> None:
    found = compare_constants(CONSTANTS, [match("w", 6.5) | {"clipped": True}])
    assert found.reason == (
        "converter: weight of Lw up to 6.5 steps from t.w of the file, of which it clips what is beyond its range"
    )
    looked_up = [row | {"layer": "GATHER"} for row in CONSTANTS]
    assert compare_constants(looked_up, [match("w", 6.5) | {"clipped": True}]).reason == (
        "converter: weight of GATHER up to 6.5 steps from t.w of the file, of which it clips what is beyond its range "
        "(that of the rows which the calibration inputs look up: --bench-inputs that look up every row widen it)"
    )
    assert "widen" not in compare_constants(looked_up, [match("w", 6.5)]).reason


@pytest.mark.parametrize(
    ("observed", "clipped", "steps", "status"),
    [
        (True, True, 1.0, AGREE),
        (True, True, 1.01, MISMATCH),
        (True, False, 0.9, MISMATCH),
        (False, True, 0.9, MISMATCH),
    ],
)
def test_what_is_observed_like_an_activation_may_be_cut_off_by_what_its_range_may_be_off(
    observed: bool, clipped: bool, steps: float, status: str
) -> None:
    constants = [{**constant, "observed": observed} for constant in CONSTANTS]
    assert compare_constants(constants, [match("w", steps) | {"clipped": clipped}]).status == status


def test_zeros_in_place_of_a_constant_are_named_without_a_share_of_it() -> None:
    floats = [{**constant, "floating": True} for constant in CONSTANTS]
    found = compare_floats(floats, [match("b", 12_345.0) | {"missing": True}])
    assert found.reason == "converter: bias of Lb in floating point is zeros in place of t.b of the file"


def test_a_slope_that_is_none_of_the_file_is_wrong_and_other_floats_are_not_compared() -> None:
    slopes = [{"name": name, "kind": "slope", "layer": f"L{name}", "floating": True} for name in "mn"]
    floats = [*slopes, {"name": "w", "kind": "weight", "layer": "Lw", "floating": True}]
    found = compare_floats(floats, [match("m", 0.1), match("n", 0.1, "")])
    assert (found.status, found.reason) == (MISMATCH, "converter: the slope of Ln is none of the file")
    assert found.numbers["converter_floats"] == {"constants": 3, "compared": 1, "worst_millionths": 0.1}
    assert compare_floats(floats[:1], [match("m", 0.1)]).status == AGREE
    assert compare_floats(floats[2:], []).status == AGREE


def row(low: float, high: float, real: str = "r", scale: float | None = 0.25) -> dict[str, Any]:
    return {"real": real, "layer": "ADD", "scale": scale, "low": low, "high": high}


def test_ranges_that_are_right() -> None:
    found = compare_ranges([row(-1.0, 3.125)], {"r": (-1.0, 3.0)})
    assert found == Comparison(AGREE, "", {"converter_ranges": {"compared": 1, "worst_steps": 0.5}})
    at_the_limit = compare_ranges([row(-1.25, 3.0)], {"r": (-1.0, 3.0)})
    assert (at_the_limit.status, at_the_limit.numbers["converter_ranges"]["worst_steps"]) == (AGREE, 1.0)
    assert compare_ranges([], {}) == Comparison(AGREE, "", {"converter_ranges": {"compared": 0, "worst_steps": 0.0}})


def test_ranges_that_are_wrong_are_named_three_at_most() -> None:
    found = compare_ranges([row(-1.0, 4.0)] * 4 + [row(-1.0, 3.0)], {"r": (-1.0, 3.0)})
    one = "converter: the range of ADD is -1 to 4, that of the calibration -1 to 3"
    assert (found.status, found.reason) == (MISMATCH, "; ".join([one] * 3))
    assert found.numbers["converter_ranges"] == {"compared": 5, "worst_steps": 4.0}
    assert (
        compare_ranges([row(-1.0, 4.0)], {"r": (-1.0, 3.0)}, table=replace(DEFAULTS, converter_ranges=4)).reason == ""
    )


def per_channel(*scales: float) -> dict[str, Any]:
    """A result of 8 bits whose channels, the last but one axis, have these scales; the zero point of each is 128."""
    steps = {"scales": list(scales), "zeros": [128] * len(scales), "axis": -2}
    return {"layer": "Relu", "real": "r", "low": 0.0, "high": 255.0, "scale": 1.0, "zero": 0, **steps}


@pytest.mark.parametrize(("second", "wrong"), [(0.5, 0.0), (0.55, 127 - 64 / 0.55), (0.45, 128 / 0.9 - 128)])
def test_each_channel_has_a_range_of_its_own(second: float, wrong: float) -> None:
    """The first range is the largest: one of all channels does not show that the second is too long or too short."""
    ends = np.array([[[-128.0, 127.0], [-128.0, 127.0], [0.0, 0.0]]])  # steps of 2, 0.5 and 9 away from zero
    steps = ends * np.array([2.0, 0.5, 9.0])[:, None] / np.array([2.0, second, 9.0])[:, None] + 128
    rows, measured = measured_ranges([per_channel(2.0, second, 9.0)], {"r": steps, "other": np.array([1.0, 3.0])})
    assert measured["other"] == (1.0, 3.0)
    assert [one["layer"] for one in rows] == ["Relu (channel 0)", "Relu (channel 1)"], (
        "one that is always 0 is left out"
    )
    found = compare_ranges(rows, measured)
    assert found.numbers["converter_ranges"] == {"compared": 2, "worst_steps": pytest.approx(wrong)}
    assert found.status == (MISMATCH if wrong else AGREE)
    if wrong:
        said = f"the range of Relu (channel 1) is {-128 * second:.4g} to {127 * second:.4g}, that of the calibration"
        assert found.reason == f"converter: {said} -64 to 63.5"


def test_a_channel_of_nothing_but_zeros_is_left_out_alone() -> None:
    """With a zero point that is not in the middle, behind a result of one range and in front of others."""
    asymmetric = {**per_channel(9.0, 0.5), "zeros": [0, 55]}
    steps = np.array([[[0.0, 0.0], [5.0, 155.0]]])  # 0, and -25 to 50
    unmeasured = {**per_channel(1.0), "real": "unknown"}
    given = [row(-1.0, 3.0, "s"), asymmetric, unmeasured, row(-2.0, 3.0, "s")]
    rows, measured = measured_ranges(given, {"r": steps, "s": np.array([-1.0, 3.0])})
    assert [one["real"] for one in rows] == ["s", "r, channel 1", "unknown", "s"]
    assert measured == {"r": (0.0, 155.0), "s": (-1.0, 3.0), "r, channel 1": (-25.0, 50.0)}
    assert {key: rows[1][key] for key in ("low", "high", "scale", "zero")} == {
        "low": -27.5, "high": 100.0, "scale": 0.5, "zero": 55,
    }  # fmt: skip
    nearly = np.array([[[1e-9, 0.0], [5.0, 155.0]]])
    assert [one["real"] for one in measured_ranges([asymmetric], {"r": nearly})[0]] == ["r, channel 1"]
    small = np.array([[[-1e-3, 0.0], [5.0, 155.0]]])
    assert len(measured_ranges([asymmetric], {"r": small})[0]) == 2, "a thousandth of a step below zero is a value"


def test_a_result_with_one_range_stays_as_it_is() -> None:
    rows, measured = measured_ranges([row(-1.0, 3.0)], {"r": np.array([[-1.0], [3.0]])})
    assert (rows, measured) == ([row(-1.0, 3.0)], {"r": (-1.0, 3.0)})


def test_ranges_that_nobody_measured_do_not_end_the_comparison() -> None:
    unknown = [row(0.0, 9.0, "other"), row(0.0, 9.0, scale=None), {"real": "r", "layer": "X"}]
    found = compare_ranges([*unknown, row(-1.0, 9.0)], {"r": (-1.0, 3.0)})
    assert (found.status, found.numbers["converter_ranges"]["compared"]) == (MISMATCH, 1)
    assert compare_ranges([row(-1.0, float("nan"))], {"r": (-1.0, 3.0)}).status == MISMATCH


def test_zero_lies_in_every_range() -> None:
    assert compare_ranges([row(-5.0, 0.0)], {"r": (-5.0, -2.0)}).numbers["converter_ranges"]["worst_steps"] == 0.0
    assert compare_ranges([row(0.0, 5.0)], {"r": (2.0, 5.0)}).numbers["converter_ranges"]["worst_steps"] == 0.0
    assert compare_ranges([row(-2.0, 5.0)], {"r": (-2.0, -1.0)}).status == MISMATCH


def test_how_far_a_range_may_be_from_symmetric() -> None:
    # The ends differ by 1.5 steps of 0.25: symmetric, so that only the furthest value of either sign counts.
    assert compare_ranges([row(-4.375, 4.0)], {"r": (-1.0, 4.0)}).numbers["converter_ranges"]["worst_steps"] == 0.0
    assert compare_ranges([row(-4.0, 4.0)], {"r": (-4.0, 1.0)}).status == AGREE
    assert compare_ranges([row(-4.5, 4.0)], {"r": (-1.0, 4.0)}).status == MISMATCH
    narrow = compare_ranges([row(-4.0, 4.0)], {"r": (-5.0, 1.0)})
    assert narrow.numbers["converter_ranges"]["worst_steps"] == 4.0


def test_a_range_may_be_joined_with_that_of_what_is_computed_in_its_place() -> None:
    measured = {"r": (-2.0, 1.0), "next": (0.0, 3.0), "other": (-9.0, 9.0)}
    wide = [row(-2.0, 3.0)]
    assert compare_ranges(wide, measured).status == MISMATCH
    assert compare_ranges(wide, measured, readers={"r": "other", "other": "next"}).status == MISMATCH
    joined = compare_ranges(wide, measured, readers={"r": "next"})
    assert (joined.status, joined.numbers["converter_ranges"]["worst_steps"]) == (AGREE, 0.0)
    assert compare_ranges([row(-2.0, 1.0)], measured, readers={"r": "next"}).status == AGREE, "its own is right too"
    assert compare_ranges([row(-2.0, 2.5)], measured, readers={"r": "next"}).status == MISMATCH, "neither"
    assert compare_ranges(wide, {"r": (-2.0, 1.0)}, readers={"r": "next"}).status == MISMATCH, "nobody measured it"


def shared(low: float, high: float, real: str, scale: float = 0.25, zero: int = 0) -> dict[str, Any]:
    return {**row(low, high, real, scale), "zero": zero, "shared": True}


def test_each_end_of_a_shared_range_is_that_of_one_of_those_that_share_it() -> None:
    measured = {"r": (-4.0, 3.0), "pooled": (-1.0, 2.0), "joined": (-2.0, 7.0)}

    def judged(low: float, high: float, **change: Any) -> str:
        rows = [shared(low, high, name) for name in measured]
        return compare_ranges([{**rows[0], **change}, *rows[1:]], measured).status

    assert judged(-1.0, 2.0) == AGREE, "that of the one that is cut least often"
    assert judged(-4.0, 7.0) == AGREE, "that of all of them"
    assert judged(-1.0, 7.0) == AGREE, "each end of another one"
    assert judged(-1.0, 9.0) == MISMATCH, "wider than any of them"
    assert judged(-0.5, 0.5) == MISMATCH, "narrower than any of them"
    assert judged(-4.0, 7.0, shared=False) == MISMATCH, "what shares nothing has its own range"


def test_a_shared_range_may_be_that_of_one_that_its_reader_is_computed_in_place_of() -> None:
    measured = {"r": (-4.0, 3.0), "chosen": (-2.0, 2.0), "next": (-1.0, 2.5)}
    rows = [shared(-2.0, 2.5, "r"), shared(-2.0, 2.5, "chosen")]
    assert compare_ranges(rows, measured).status == MISMATCH
    assert compare_ranges(rows, measured, readers={"chosen": "next"}).status == AGREE


def test_those_that_share_a_range_have_one_scale_and_zero_point() -> None:
    measured = {"r": (-4.0, 3.0), "other": (-2.0, 7.0)}
    wide = shared(-2.0, 7.0, "r")
    assert compare_ranges([wide, shared(-2.0, 7.0, "other")], measured).status == AGREE
    assert compare_ranges([wide, shared(-2.0, 7.0, "other", zero=1)], measured).status == MISMATCH
    assert compare_ranges([wide, shared(-2.0, 7.0, "other", scale=0.26)], measured).status == MISMATCH
    assert compare_ranges([wide, row(-2.0, 7.0, "other")], measured).status == MISMATCH


def test_a_symmetric_range_that_is_shared_reaches_to_the_furthest_value_of_all() -> None:
    measured = {"r": (-4.0, 3.0), "other": (-2.0, 1.0)}
    assert compare_ranges([shared(-4.25, 4.0, name) for name in measured], measured).status == AGREE
    assert compare_ranges([shared(-3.25, 3.0, name) for name in measured], measured).status == MISMATCH


def test_a_shared_range_is_widened_for_zero_as_that_of_all_of_them_is() -> None:
    """NNCF takes one range for all that a Concat joins, and moves one end of that until zero is a whole step away."""
    measured = {"low": (-1.2, 1.0), "high": (0.0, 10.0), "next": (-5.0, 30.0)}
    step = 1.2 / 27
    rows = [{**shared(-1.2, 228 * step, name, step), "zero": 27} for name in ("low", "high")]
    assert abs(rows[0]["high"] - 10) / step > 2, "one end is moved by more than the ends of a range may be off"
    assert compare_ranges(rows, measured).status == AGREE
    assert compare_ranges(rows, measured, readers={"high": "next"}).status == AGREE, "what its reader has is not shared"
    apart = [{**one, "shared": False} for one in rows]
    assert compare_ranges(apart, measured).status == MISMATCH


def test_a_tensor_of_zeros_has_the_smallest_range_that_a_tool_gives() -> None:
    least = row(-1.004e-6, 9.961e-7, scale=2e-6 / 255)
    assert compare_ranges([least], {"r": (-0.0, 0.0)}).status == AGREE
    assert compare_ranges([least], {"r": (0.0, 4e-6)}).status == MISMATCH, "small values have a range, too"
    assert compare_ranges([row(-1e-4, 1e-4, scale=2e-4 / 255)], {"r": (0.0, 0.0)}).status == MISMATCH


def test_both_ends_of_a_range_that_is_too_narrow_are_moved_by_as_much() -> None:
    measured = {"r": (0.0025, 0.0032)}
    narrow = {**row(0.0, 0.004, scale=0.004 / 255), "narrowest": 8e-4}
    assert compare_ranges([narrow], measured).status == AGREE
    assert compare_ranges([{**narrow, "narrowest": 0.0}], measured).status == MISMATCH
    assert compare_ranges([narrow], {"r": (0.0020, 0.0032)}).status == MISMATCH, "wider than that it stays as it is"
    assert compare_ranges([{**narrow, "high": 0.0032}], {"r": (0.0020, 0.0032)}).status == AGREE


def test_a_range_that_was_narrowed_lies_inside_that_of_the_calibration() -> None:
    measured = {"r": (-4.0, 4.0), "other": (-9.0, 9.0)}
    narrow = {**row(-1.0, 1.0), "narrowed": True}
    assert compare_ranges([narrow], measured).status == AGREE
    assert compare_ranges([row(-1.0, 1.0)], measured).status == MISMATCH
    wide = {**row(-1.0, 5.5), "narrowed": True}
    assert compare_ranges([wide], measured).status == MISMATCH
    assert compare_ranges([{**row(-5.5, 1.0), "narrowed": True}], measured).status == MISMATCH
    found = compare_ranges([{**narrow, "high": 4.125}], measured)
    assert found.numbers["converter_ranges"]["worst_steps"] == 0.5
    both = [{**one, "zero": 0, "shared": True} for one in (wide, {**wide, "real": "other"})]
    assert compare_ranges(both, measured).status == AGREE, "what shares it reaches as far"


def test_what_a_right_range_leaves_out_is_found_and_the_worst_comes_first() -> None:
    measured = {"r": (-4.0, 3.0), "pooled": (-1.0, 2.0), "far": (-9.0, 2.0), "above": (-1.0, 4.0)}
    rows = [shared(-1.0, 2.0, name) for name in measured]
    assert [one["real"] for one in cut_ranges(rows, measured)] == ["far", "r", "above"]
    assert cut_ranges([row(-1.0, 2.0)], measured) == [], "what is not shared has the range of the calibration"
    assert [one["real"] for one in cut_ranges([{**row(-1.0, 2.0), "narrowed": True}], measured)] == ["r"]
    assert cut_ranges([shared(-3.75, 3.0, "r")], measured) == [], "a step is permitted"
    unknown = [shared(0.0, 1.0, "other"), {**shared(0.0, 1.0, "r"), "scale": None}]
    assert cut_ranges(unknown, measured) == []
    assert cut_ranges([shared(0.0, 5.0, "r")], {"r": (1.0, 5.0)}) == [], "a range holds zero, not the smallest value"
    wide = replace(DEFAULTS, converter_ranges=12)
    assert [one["real"] for one in cut_ranges(rows, measured, table=wide)] == ["far"]


def test_a_range_that_is_widened_for_zero_keeps_one_end_and_the_place_of_zero() -> None:
    # Of 255 steps zero would lie 1.3 above the lower end: it is one step above it, and the upper end moves 58 steps.
    low, high = -1.3, 253.7
    measured = {"r": (low, high)}
    moved = row(low, 254 * 1.3, scale=1.3)
    found = compare_ranges([moved], measured)
    assert (found.status, found.numbers["converter_ranges"]["worst_steps"] > 50) == (AGREE, True)
    turned = {**moved, "low": -moved["high"], "high": -low}
    assert compare_ranges([turned], {"r": (-high, -low)}).status == AGREE
    assert compare_ranges([{**moved, "low": 3 * low}], measured).status == MISMATCH, "neither end is kept"
    assert compare_ranges([row(low, 253.0 / 2, scale=0.5)], measured).status == MISMATCH, "the other end moved inwards"
    two = row(2 * low, high, scale=1.3)
    assert compare_ranges([two], measured).status == AGREE, "a step is permitted"
    assert compare_ranges([row(-3 * 1.3, 254 * 1.3, scale=1.3)], measured).status == MISMATCH
    assert compare_ranges([row(-0.1, 254 * 0.5, scale=0.5)], {"r": (-0.1, 100.0)}).status == MISMATCH, "kept at zero"


def test_a_range_that_begins_or_ends_at_zero_has_no_other_end_to_move() -> None:
    for factor in (1.1, 4, 16):
        wide = row(0.0, 3.0 * factor, scale=3.0 * factor / 255)
        assert compare_ranges([wide], {"r": (0.0, 3.0)}).status == MISMATCH, factor
        assert compare_ranges([wide], {"r": (-0.01, 3.0)}).status == MISMATCH, "less than a step below zero"
        turned = {**wide, "low": -wide["high"], "high": 0.0}
        assert compare_ranges([turned], {"r": (-3.0, 0.0)}).status == MISMATCH, factor
    assert compare_ranges([row(0.0, 3.0, scale=3.0 / 255)], {"r": (0.0, 3.0)}).status == AGREE


def test_of_wrong_ranges_the_three_that_are_furthest_off_are_named() -> None:
    rows = [{**row(-1.0, 2.0 + off), "layer": f"L{off}", "real": f"r{off}"} for off in (4, 9, 3, 7)]
    found = compare_ranges(rows, {one["real"]: (-1.0, 2.0) for one in rows})
    assert found.status == MISMATCH
    assert [said.split()[4] for said in found.reason.split("; ")] == ["L9", "L7", "L4"]


def test_a_range_that_a_mask_makes_is_named() -> None:
    plain, masked = row(-1.0, 2.0), {**row(-3.4e38, 2.0, scale=1.3e36), "layer": "SELECT 5"}
    assert masked_range([plain, {"scale": None}]) == ""
    assert masked_range([plain, masked]) == (
        "the range of SELECT 5 is -3.4e+38 to 2, as a mask makes it: its step is 1.3e+36, so that all that is not "
        "masked is one integer"
    )
