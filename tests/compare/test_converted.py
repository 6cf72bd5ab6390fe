"""What a converter wrote, against the file that it was given: what the row and the reason say, and what is skipped."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from bench_plugin.compare.converted import compare_constants, compare_floats, compare_ranges
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
