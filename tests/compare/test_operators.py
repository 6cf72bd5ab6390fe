"""The rules of single operators: what is right passes, what is a little wrong fails, row by row of the table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from bench_plugin.compare.operators.bounds import Truth, sum_units
from bench_plugin.compare.operators.rules import COMPOSITE, Rule, rule_of
from bench_plugin.compare.operators.stock import stock
from bench_plugin.compare.operators.strict import Verdict, strict
from bench_plugin.compare.operators.values import FORMATS, Tensor, ulp

RNG = np.random.default_rng(0)
EPSILON = np.finfo(np.float32).eps


def tensor(values: Any, dtype: str = "float32") -> Tensor:
    plain = np.float32 if dtype == "bfloat16" else np.dtype(dtype)
    return Tensor(dtype, np.asarray(values, dtype=plain))


def judged(rule: Rule, want: Any, have: Any, truth: Truth | None = None, dtype: str = "float32") -> Verdict:
    return strict([tensor(want, dtype)], [tensor(have, dtype)], [truth or Truth()], rule)


@pytest.mark.parametrize(
    ("operators", "nodes", "kind"),
    [
        (["Transpose"], 1, "movement"), (["Reshape", "Concat"], 2, "movement"), (["Relu"], 1, "exact"),
        (["Add"], 1, "ulp"), (["MatMul"], 1, "sum"), (["Softmax"], 1, "composite"), (["Mul", "Add"], 2, "composite"),
        (["RandomNormal"], 1, "random"), (["Greater", "RandomUniformLike"], 2, "random"), (["Resize"], 1, "composite"),
    ],
)  # fmt: skip
def test_rule_of(operators: list[str], nodes: int, kind: str) -> None:
    assert rule_of(operators, nodes, 1).kind == kind


def test_dropout_in_training_is_random() -> None:
    assert rule_of(["Dropout"], 1, 1).kind == "movement"
    assert rule_of(["Dropout"], 1, 3).kind == "random"


def test_movement_is_bitwise() -> None:
    rule = Rule("movement")
    assert judged(rule, [1.0, np.nan, -0.0], [1.0, np.nan, -0.0]).passed
    assert not judged(rule, [1.0, -0.0], [1.0, 0.0]).passed
    assert not judged(rule, [1.0], [np.nextafter(np.float32(1), np.float32(2))]).passed


def test_exact_does_not_look_at_the_sign_of_zero() -> None:
    rule = Rule("exact")
    assert judged(rule, [0.0, 2.0], [-0.0, 2.0]).passed
    assert not judged(rule, [0.0, 2.0], [0.0, 2.0000002]).passed
    assert not judged(rule, [1, 2], [1, 3], dtype="int64").passed


NANS = {
    "float8_e4m3fn": (0x7F, 0xFF), "float8_e4m3fnuz": (0x80,), "float8_e5m2": (0x7D, 0x7E, 0x7F, 0xFD, 0xFE, 0xFF),
    "float8_e5m2fnuz": (0x80,), "float8_e8m0fnu": (0xFF,), "float4_e2m1fn": (),
}  # fmt: skip


def bits(dtype: str, codes: Sequence[int]) -> Tensor:
    return Tensor(dtype, np.array(codes, dtype=np.uint8))


@pytest.mark.parametrize("kind", ["movement", "exact", "composite"])
@pytest.mark.parametrize("dtype", NANS)
def test_all_nan_codes_of_a_type_are_equal_and_no_other_codes(dtype: str, kind: str) -> None:
    codes = range(16 if dtype == "float4_e2m1fn" else 256)
    zeros = {0x00, 0x80} if dtype in ("float8_e4m3fn", "float8_e5m2") else {0x0, 0x8} if dtype[5] == "4" else set()
    for one in (0x00, 0x7, 0x8, 0xB, *NANS[dtype], *zeros):
        same = {code for code in codes if strict([bits(dtype, [one])], [bits(dtype, [code])], [], Rule(kind)).passed}
        both_zero = {one} if kind == "movement" or one not in zeros else zeros
        assert same == (set(NANS[dtype]) if one in NANS[dtype] else both_zero), hex(one)
        found = {code for code in codes if stock([bits(dtype, [one])], [bits(dtype, [code])], rtol=1, atol=9).passed}
        assert found == (set(NANS[dtype]) if one in NANS[dtype] else zeros if one in zeros else {one}), hex(one)


def test_a_nan_code_does_not_hide_another_element() -> None:
    found = strict([bits("float8_e5m2", [126, 60])], [bits("float8_e5m2", [127, 61])], [], Rule("movement"))
    assert not found.passed and found.reason == "output 0: 1 of 2 elements differ, at [1] 61 for 60"
    assert not strict([bits("float8_e5m2", [124])], [bits("float8_e5m2", [125])], [], Rule("exact")).passed  # Inf
    assert not strict([bits("uint8", [126])], [bits("uint8", [127])], [], Rule("exact")).passed


@pytest.mark.parametrize("name", ["Add", "Sqrt", "Exp", "Tanh", "Pow"])
def test_units_in_the_last_place(name: str) -> None:
    rule = rule_of([name], 1, 2)
    true = RNG.uniform(0.5, 4, 100)
    nearest = true.astype(np.float32)
    steps = int(rule.ulps)
    near, far = nearest.copy(), nearest.copy()
    for _ in range(steps - 1):
        near = np.nextafter(near, np.float32(np.inf))
    for _ in range(steps + 1):
        far = np.nextafter(far, np.float32(np.inf))
    assert judged(rule, nearest, near, Truth(true)).passed
    assert not judged(rule, nearest, far, Truth(true)).passed


def test_division_may_be_looser_where_fast_math_is_declared() -> None:
    rule = rule_of(["Div"], 1, 2)
    one = np.array([1.0])
    off = np.float32(1) + 2 * EPSILON
    assert not strict([tensor(one)], [tensor([off])], [Truth(one)], rule).passed
    assert strict([tensor(one)], [tensor([off])], [Truth(one)], rule, loose=True).passed


def test_sums_are_measured_by_their_magnitudes() -> None:
    rule = rule_of(["MatMul"], 1, 2)
    a, b = RNG.standard_normal((8, 300)), RNG.standard_normal((300, 8))
    a32, b32 = a.astype(np.float32), b.astype(np.float32)
    true, sums = a32.astype(float) @ b32.astype(float), abs(a32).astype(float) @ abs(b32).astype(float)
    right = a32 @ b32
    wrong = right.copy()
    wrong[3, 4] += np.float32(20 * 2.0**-24 * sums[3, 4])
    assert judged(rule, right, right, Truth(true, sums)).passed
    assert not judged(rule, right, wrong, Truth(true, sums)).passed


def test_composite_by_what_rounded_inputs_change() -> None:
    rule = rule_of(["Softmax"], 1, 1)
    true = np.array([0.25, 0.75])
    truth = Truth(true, spread=1e-7)
    assert judged(rule, true, true + 1e-6, truth).passed
    assert not judged(rule, true, true + 1e-5, truth).passed


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_narrow_formats(dtype: str) -> None:
    rule = rule_of(["MatMul"], 1, 2)
    step = float(ulp(np.array([1.5]), FORMATS[dtype])[0])
    truth = Truth(np.array([1.5]), np.array([10.0]))
    assert not judged(rule, [1.5], [1.5 + step], truth, dtype).notes
    low = judged(rule, [1.5], [1.5 + 3 * step], truth, dtype)
    assert low.passed and low.notes == ("low-precision accumulate",)
    assert not judged(rule, [1.5], [1.5 + 200 * step], truth, dtype).passed


def test_random_has_shape_and_type_only() -> None:
    rule = Rule("random")
    assert judged(rule, [1.0, 2.0], [5.0, 7.0]).passed
    assert not judged(rule, [1.0, 2.0], [5.0]).passed
    assert not strict([tensor([1.0])], [tensor([1.0], "float64")], [], rule).passed


def test_edges() -> None:
    rule = rule_of(["Exp"], 1, 1)
    assert judged(rule, [np.inf, np.nan], [np.inf, np.nan]).passed
    assert not judged(rule, [np.inf], [-np.inf]).passed
    assert not judged(rule, [np.inf], [3.4e38]).passed
    assert not judged(rule, [1.0], [np.nan]).passed
    flushed = judged(rule, [1e-40], [0.0], Truth(np.array([1e-40])))
    assert flushed.passed and flushed.notes == ("ftz",)
    beyond = judged(rule, [np.inf], [np.inf], Truth(np.array([1e39])))
    assert beyond.passed


def test_a_scalar() -> None:
    assert judged(rule_of(["MatMul"], 1, 2), np.float32(2), np.float32(2), Truth(np.array(2.0), np.array(2.0))).passed


def test_whole_numbers_may_change_their_width() -> None:
    changed = strict([tensor([1, 2], "int64")], [tensor([1, 2], "int32")], [], Rule("exact"))
    assert changed.passed and "dtype-changed" in changed.notes[0]
    assert not strict([tensor([1, 2], "int64")], [tensor([1, 3], "int32")], [], Rule("exact")).passed
    assert not stock([tensor([1, 2], "int64")], [tensor([1, 2], "int32")], rtol=1e-3, atol=1e-7).passed


def test_shapes_and_counts_are_never_forgiven() -> None:
    rule = rule_of(["Softmax"], 1, 1)
    assert not judged(rule, [1.0, 2.0], [[1.0, 2.0]]).passed
    assert not strict([tensor([1.0])], [], [], rule).passed
    assert not strict([tensor([1.0]), tensor([1.0])], [tensor([1.0])], [], rule).passed


def test_sequences_and_nothing() -> None:
    rule = Rule("movement")
    sequence = [tensor([1.0]), tensor([2.0])]
    assert strict([sequence], [sequence], [], rule).passed
    assert not strict([sequence], [sequence[:1]], [], rule).passed
    assert strict([None], [None], [], rule).passed
    assert not strict([None], [tensor([1.0])], [], rule).passed


def test_the_stock_tolerance() -> None:
    want = [tensor([1.0, np.nan])]
    assert stock(want, [tensor([1.0009, np.nan])], rtol=1e-3, atol=1e-7).passed
    assert not stock(want, [tensor([1.002, np.nan])], rtol=1e-3, atol=1e-7).passed
    assert not stock(want, [tensor([1.0, 0.0])], rtol=1e-3, atol=1e-7).passed


# One ULP at a value, written out: 2^(exponent - bits of the fraction), and below the smallest normal number its ULP.
ULPS = {
    "float32": {
        1.0: 2.0**-23, 1.5: 2.0**-23, 2.0: 2.0**-22, -2.0: 2.0**-22, 0.75: 2.0**-24, 1e-40: 2.0**-149, 0.0: 2.0**-149,
        2.0**-126: 2.0**-149, 2.0**-125: 2.0**-148, 3.4e38: 2.0**104, 1000.0: 2.0**-14,
    },
    "float16": {1.0: 2.0**-10, 2.0: 2.0**-9, 0.5: 2.0**-11, 2.0**-14: 2.0**-24, 1e-7: 2.0**-24, 65504.0: 32.0},
    "bfloat16": {1.0: 2.0**-7, 3.0: 2.0**-6, 0.3: 2.0**-9, 0.0: 2.0**-133},
    "float64": {1.0: 2.0**-52, 10.0: 2.0**-49, 0.0: 2.0**-1074},
}  # fmt: skip


@pytest.mark.parametrize("dtype", ULPS)
def test_the_table_of_ulps(dtype: str) -> None:
    found = {value: float(ulp(np.float64(value), FORMATS[dtype])) for value in ULPS[dtype]}
    assert found == ULPS[dtype]


@pytest.mark.parametrize(
    ("terms", "units"), [(1, 16), (64, 16), (65, 2 * 65**0.5), (100, 20), (6480, 2 * 6480**0.5), (10**6, 2000)]
)
def test_units_of_a_sum_grow_with_the_root_of_its_terms(terms: int, units: float) -> None:
    assert sum_units(terms) == pytest.approx(units, rel=1e-12)


@pytest.mark.parametrize("terms", [1, 64, 400, 10000])
def test_a_sum_on_both_sides_of_its_limit(terms: int) -> None:
    rule = rule_of(["ReduceMean"], 1, 1)
    true, sums = np.array([1.0, 0.25]), np.array([4.0, 3.0])
    truth = Truth(true, sums, terms=terms)
    units = {1: 16, 64: 16, 400: 40, 10000: 200}[terms]
    limit = units * 2.0**-24 * 4.0
    steps = round(limit / 2.0**-23)  # ULP of 1: all of these are numbers of float32
    inside = judged(rule, true, np.array([1 + steps * 2.0**-23, 0.25]), truth)
    outside = judged(rule, true, np.array([1 + (steps + 1) * 2.0**-23, 0.25]), truth)
    assert inside.passed and inside.ratio == pytest.approx(1.0)
    assert not outside.passed and outside.ratio == pytest.approx(1 + 1 / steps)
    assert outside.by_bound


def test_the_terms_of_a_narrow_sum_count_too() -> None:
    rule, true = rule_of(["MatMul"], 1, 2), np.array([1.0])
    off = [1 + 2.0**-10 * 30]  # of float16: 1 ULP, and k u S of a sum that it accumulated itself
    few, many = (judged(rule, true, off, Truth(true, np.array([1.0]), terms=n), "float16") for n in (1, 10000))
    assert not few.passed
    assert many.passed and many.notes == ("low-precision accumulate",)


@pytest.mark.parametrize("value", [np.inf, -np.inf, np.nan])
def test_one_wrong_infinity_among_several(value: float) -> None:
    want = [1.0, np.inf, -np.inf, np.nan, 2.0]
    for place in range(len(want)):
        have = list(want)
        have[place] = value
        right = np.array_equal(np.array(have), np.array(want), equal_nan=True)
        for name in ("Exp", "MatMul", "Relu", "Transpose", "Softmax"):
            found = judged(rule_of([name], 1, 1), want, have)
            assert found.passed is right, (name, place)
            assert not found.by_bound


def test_an_integer_that_comes_as_a_float_is_wrong() -> None:
    for name in ("ArgMax", "Transpose", "MatMulInteger"):
        found = strict([tensor([1, 2], "int64")], [tensor([1, 2], "float32")], [], rule_of([name], 1, 1))
        assert (found.passed, found.by_bound) == (False, False)
        assert found.reason == "output 0: type float32, expected int64"
    assert not strict([tensor([1.0])], [tensor([1], "int32")], [], COMPOSITE).passed


def test_the_float64_result_counts_and_not_the_stored_output() -> None:
    stored, true = np.float32([1.0]), np.array([1.0 + 2.0**-20])  # the test's output is 8 ULP off
    rule = rule_of(["Exp"], 1, 1)
    near = np.float32(true)
    assert judged(rule, stored, near, Truth(true)).passed
    assert not judged(rule, stored, stored, Truth(true)).passed
    assert judged(rule, stored, stored).passed and not judged(rule, stored, near).passed, "without a float64 result"


def test_only_a_bound_is_no_defect_where_onnx_takes_it() -> None:
    off = judged(rule_of(["Exp"], 1, 1), [1.0, 2.0], [1.0, 2.0001])
    assert (off.passed, off.by_bound, off.outputs) == (False, True, (0,))
    counted = strict([tensor([1000], "int64")], [tensor([1001], "int64")], [], rule_of(["ArgMax"], 1, 1))
    assert stock([tensor([1000], "int64")], [tensor([1001], "int64")], rtol=1e-3, atol=1e-7).passed
    assert (counted.passed, counted.by_bound) == (False, False)
    assert not judged(rule_of(["Exp"], 1, 1), [1.0], [[1.0]]).by_bound


def test_of_several_outputs_the_one_counts_that_no_bound_explains() -> None:
    want = [tensor([1.0]), tensor([3], "int64"), tensor([1.0])]
    have = [tensor([1.01]), tensor([4], "int64"), tensor([1.0])]
    found = strict(want, have, [], rule_of(["Exp"], 1, 1))
    assert (found.by_bound, found.outputs) == (False, (0, 1))
    assert found.reason.startswith("output 1: 1 of 1 elements differ")
    assert found.ratio is not None and found.ratio > 1


def test_an_output_of_another_type_or_shape_is_none_whose_values_are_wrong() -> None:
    want = [tensor([1.0]), tensor([1.0]), tensor([1.0])]
    found = strict(want, [tensor([1.0], "float64"), tensor([[1.0]]), tensor([2.0])], [], rule_of(["Exp"], 1, 1))
    assert (found.outputs, found.by_bound, found.of_values) == ((2,), False, False)
    assert strict(want, want[:1], [], rule_of(["Exp"], 1, 1)).outputs == ()
