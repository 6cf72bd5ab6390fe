"""The rules of single operators at their edges: what is said, in which output, and the formats and bounds by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from bench_plugin.compare.operators.bounds import Truth, bound_text, limits
from bench_plugin.compare.operators.rules import EXACT, MOVEMENT, RANDOM, SUMS, ULPS, Rule, rule_of
from bench_plugin.compare.operators.stock import stock
from bench_plugin.compare.operators.strict import Verdict, strict
from bench_plugin.compare.operators.values import FORMATS, SINGLE, Tensor, kind_of, ulp, whole

Array = np.ndarray[Any, Any]
U = 2.0**-24  # half a unit in the last place of 1, in float32
EXP, SUM, SPREAD, MOVE, SAME = (rule_of([name], 1, 2) for name in ("Exp", "MatMul", "Softmax", "Concat", "Relu"))


def tensor(values: Any, dtype: str = "float32") -> Tensor:
    plain = np.float32 if dtype == "bfloat16" else np.dtype(dtype)
    return Tensor(dtype, np.asarray(values, dtype=plain))


def judged(
    rule: Rule, want: Any, have: Any, truth: Truth | None = None, dtype: str = "float32", loose: bool = False
) -> Verdict:
    return strict([tensor(want, dtype)], [tensor(have, dtype)], [truth or Truth()], rule, loose=loose)


def limit(dtype: str, rule: Rule, *, true: float = 1.0, sums: float = 3.0, loose: bool = False, **truth: Any) -> Any:
    """Both limits of one element."""
    plain, low = limits(dtype, np.array([true]), np.array([sums]), Truth(**truth), rule, loose)
    return float(plain[0]), None if low is None else float(low[0])


# Values


def test_formats_by_hand() -> None:
    assert {name: one.unit for name, one in FORMATS.items()} == {
        "float16": 2.0**-11, "bfloat16": 2.0**-8, "float32": 2.0**-24, "float64": 2.0**-53,
    }  # fmt: skip
    for name in ("float16", "float32", "float64"):
        assert FORMATS[name].largest == float(np.finfo(name).max)
        assert 2.0 ** FORMATS[name].lowest == float(np.finfo(name).tiny)
    assert FORMATS["bfloat16"].largest == (2 - 2.0**-7) * 2.0**127 and SINGLE == U


@pytest.mark.parametrize(
    ("dtype", "answer"),
    [("int8", True), ("uint64", True), ("bool", True), ("int4", True), ("float32", False), ("string", False),
     ("complex64", False), ("bfloat16", False)],
)  # fmt: skip
def test_whole_numbers(dtype: str, answer: bool) -> None:
    assert whole(dtype) is answer


def test_a_value_in_words() -> None:
    assert kind_of(None) == "nothing"
    assert kind_of([tensor([1.0]), None]) == "a sequence of 2"
    assert kind_of(tensor([1], "int8")) == "a tensor of int8"


def test_ulps_have_the_shape_of_their_values() -> None:
    found = ulp(np.array([[1.0, -4.0], [0.0, 0.5]]), FORMATS["float32"])
    assert found.tolist() == [[2.0**-23, 2.0**-21], [2.0**-149, 2.0**-24]]


# Bounds


@pytest.mark.parametrize(
    ("dtype", "rule", "extra", "expected"),
    [
        ("float32", EXP, {}, (4 * 2 * U, None)),
        ("float64", EXP, {}, (4 * 2.0**-52, None)),
        ("float32", rule_of(["Div"], 1, 2), {}, (2 * U, None)),
        ("float32", rule_of(["Div"], 1, 2), {"loose": True}, (2.5 * 2 * U, None)),
        ("float32", EXP, {"loose": True}, (4 * 2 * U, None)),
        ("float32", SUM, {}, (16 * U * 3, None)),
        ("float32", SUM, {"terms": 256}, (32 * U * 3, None)),
        ("float64", SUM, {}, (16 * 2.0**-53 * 3, None)),
        ("float32", SUM, {"sums": 0.0}, (2.0**-126 * U, None)),
        ("float32", SUM, {"sums": np.inf}, (2.0**-126 * U, None)),
        ("float16", SUM, {}, (2.0**-10 + 16 * U * 3, 2.0**-10 + 16 * 2.0**-11 * 3)),
        ("bfloat16", SUM, {"terms": 256}, (2.0**-7 + 32 * U * 3, 2.0**-7 + 32 * 2.0**-8 * 3)),
        ("float16", EXP, {}, (2.0**-10 + 16 * U * 3, None)),
        ("float32", SPREAD, {}, (4 * 2 * U, None)),
        ("float32", SPREAD, {"spread": 1e-3}, (16e-3 + 4 * 2 * U, None)),
        ("float64", SPREAD, {"spread": 1e-3}, (16e-3 * 2.0**-29 + 4 * 2.0**-52, None)),
        ("float16", SPREAD, {"spread": 1e-6}, (16e-6 + 4 * 2.0**-10, 16e-6 + 4 * 2.0**-10 + 16e-6 * 2**13)),
        ("bfloat16", SPREAD, {"spread": 1e-6}, (16e-6 + 4 * 2.0**-7, 16e-6 + 4 * 2.0**-7 + 16e-6 * 2**16)),
    ],
)  # fmt: skip
def test_bounds_by_hand(dtype: str, rule: Rule, extra: dict[str, Any], expected: tuple[float, float | None]) -> None:
    plain, low = limit(dtype, rule, **extra)
    assert plain == pytest.approx(expected[0], rel=1e-12)
    assert low is None if expected[1] is None else low == pytest.approx(expected[1], rel=1e-12)


def test_a_composite_operator_is_measured_by_its_largest_value() -> None:
    found, _ = limits("float32", np.array([1.0, -8.0]), np.zeros(2), Truth(), SPREAD, False)
    assert found.tolist() == [4 * 16 * U] * 2
    empty, _ = limits("float32", np.zeros((0, 3)), np.zeros((0, 3)), Truth(), SPREAD, False)
    assert empty.shape == (0, 3)


# Rules


def test_the_words_and_needs_of_rules() -> None:
    assert [(rule.text, rule.need) for rule in (EXP, SUM, SPREAD, MOVE, SAME, Rule("random"))] == [
        ("4 ULP", "value"), ("16 u S", "sum"), ("16 spread + 4 ULP", "spread"), ("bitwise", ""), ("equal", ""),
        ("random", ""),
    ]  # fmt: skip
    assert [rule_of(names, len(names), 1).text for names in (["LSTM"], ["GRU"], ["RNN"], ["Mul", "Tanh"], ["LRN"])] == [
        *["16 spread + 5 ULP"] * 4, "16 spread + 4 ULP",
    ]  # fmt: skip
    assert rule_of(["Div"], 1, 2) == Rule("ulp", 1.0, 2.5) and Rule("ulp", 2.5).text == "2.5 ULP"
    assert rule_of(["Exp"], 1, 1) == Rule("ulp", 4.0, 0.0) and Rule("sum", 0.0, 0.0) == SUM


@pytest.mark.parametrize(
    ("dtype", "rule", "terms", "loose", "text"),
    [
        ("float32", EXP, 1, False, "4 ULP"),
        ("float32", Rule("ulp", 1.0, 2.5), 1, False, "1 ULP"),
        ("float32", Rule("ulp", 1.0, 2.5), 1, True, "2.5 ULP"),
        ("float32", EXP, 1, True, "4 ULP"),
        ("float64", SUM, 64, False, "16 u S"),
        ("float32", SUM, 6480, True, "161 u S"),
        ("float16", SUM, 6480, False, "1 ULP + 161 u S of float32"),
        ("bfloat16", EXP, 1, False, "1 ULP + 16 u S of float32"),
        ("float16", SPREAD, 1, False, "16 spread + 4 ULP"),
    ],
)
def test_the_bound_that_was_used_is_named(dtype: str, rule: Rule, terms: int, loose: bool, text: str) -> None:
    assert bound_text(dtype, Truth(terms=terms), rule, loose) == text


def test_the_bound_is_that_of_the_output_furthest_off() -> None:
    want = [tensor([1.0]), tensor([1.0])]
    truths = [Truth(terms=6480), Truth()]
    for off, bound in ((8 * U, "16 u S"), (0.0, "161 u S")):
        found = strict(want, [tensor([1.0 + 2 * U]), tensor([1.0 + off])], truths, SUM)
        assert found.bound == bound


def test_every_operator_has_one_rule() -> None:
    groups = (MOVEMENT, EXACT, SUMS, frozenset(ULPS), RANDOM)
    assert sum(map(len, groups)) == len(frozenset.union(*groups))
    assert all(name[0].isupper() and name.isalnum() for group in groups for name in group)


def test_rules_of_several_nodes() -> None:
    assert rule_of(["Relu", "Relu"], 2, 1).kind == "composite"
    assert rule_of(["MatMul", "Identity"], 2, 2).kind == "composite"
    assert rule_of(["Identity", "RandomNormal"], 2, 0).kind == "random"
    assert rule_of(["Dropout", "Identity"], 2, 3).kind == "movement"
    assert rule_of(["Dropout"], 1, 2).kind == "movement"


# Verdicts


def test_what_agrees_says_nothing() -> None:
    for rule in (EXP, SUM, SPREAD):
        assert judged(rule, [1.0, 2.0], [1.0, 2.0]) == Verdict(True, "", 0.0, bound=rule.text)
    for rule, bound in ((MOVE, "bitwise"), (SAME, "equal"), (Rule("random"), "")):
        assert judged(rule, [1.0, 2.0], [1.0, 2.0]) == Verdict(True, bound=bound)
    for rule in (EXP, SUM, SPREAD):
        assert judged(rule, [1, 2], [1, 2], dtype="int64").bound == "equal", "whole numbers have no ULP"
    assert strict([], [], [], EXP) == Verdict(True)
    assert judged(EXP, np.zeros((0, 2)), np.zeros((0, 2))).ratio == 0.0


def test_counts_shapes_and_types_are_said() -> None:
    one = tensor([1.0])
    assert strict([one], [one, one], [], EXP) == Verdict(False, "2 outputs, expected 1", of_values=False)
    assert strict([one], [tensor([[1.0]])], [], EXP) == Verdict(
        False, "output 0: shape [1, 1], expected [1]", of_values=False
    )
    assert strict([one, one], [one, tensor([1.0], "float16")], [], SAME) == Verdict(
        False, "output 1: type float16, expected float32", of_values=False, bound="equal"
    )
    assert strict([tensor([1], "int8")], [tensor([1.0])], [], SAME).of_values is False
    assert strict([None], [one], [], MOVE) == Verdict(
        False, "output 0: a tensor of float32, expected nothing", of_values=False
    )
    assert strict([one], [[one]], [], MOVE) == Verdict(
        False, "output 0: a sequence of 1, expected a tensor of float32", of_values=False
    )
    assert strict([[one]], [one], [], MOVE).reason == "output 0: a tensor of float32, expected a sequence of 1"
    assert strict([one], [None], [], MOVE).reason == "output 0: nothing, expected a tensor of float32"
    assert strict([[one]], [[one, one]], [], MOVE) == Verdict(
        False, "output 0: a sequence of 2, expected 1", of_values=False
    )


def test_values_of_a_sequence_are_named() -> None:
    found = strict([[tensor([1.0]), tensor([1.0, 2.0])]], [[tensor([1.0]), tensor([1.0, 3.0])]], [], MOVE)
    assert found == Verdict(
        False, "output 0[1]: 1 of 2 elements differ, at [1] 3.0 for 2.0", by_bound=True, outputs=(0,), bound="bitwise"
    )
    ratio = strict([[tensor([1.0])]], [[tensor([1.0 + 4 * U])]], [Truth(np.array([7.0]))], EXP)
    assert ratio.passed and ratio.ratio == pytest.approx(0.5), "a truth is never that of an element of a sequence"


def test_elements_that_differ_are_counted_and_shown() -> None:
    found = judged(MOVE, [[1, 2], [3, 4]], [[1, 2], [9, 8]], dtype="int64")
    assert found == Verdict(False, "output 0: 2 of 4 elements differ, at [1, 0] 9 for 3", outputs=(0,), bound="bitwise")
    changed = strict([tensor([1, 2], "int64")], [tensor([1, 3], "int8")], [], SAME)
    assert changed.notes == ("dtype-changed: int64 to int8",) and not changed.by_bound
    assert strict([tensor([1], "int64")], [tensor([1], "int8")], [], Rule("random")).notes == changed.notes
    assert judged(SAME, [1.0, np.nan], [np.nan, 1.0]).by_bound is False
    assert judged(SAME, [1.0, np.inf], [1.0, -np.inf]).by_bound is False
    assert judged(SAME, [1.0, -np.inf], [1.0, 3.0]).by_bound is False
    assert judged(SAME, [1.0, 2.0], [1.0, 3.0]).by_bound is True


def test_nan_has_no_sign_and_complex_numbers_are_compared() -> None:
    negative = np.float32([-np.nan])
    assert judged(MOVE, [np.nan], negative).passed
    parts = [complex(1, 2), complex(np.nan, 0)]
    assert judged(MOVE, parts, parts, dtype="complex64").passed
    assert not judged(MOVE, parts, [complex(1, -2), parts[1]], dtype="complex64").passed
    assert not judged(EXP, parts, [complex(1, 3), parts[1]], dtype="complex64").passed, "a type without a bound"
    assert judged(MOVE, [0.0], [-0.0]).reason == "output 0: 1 of 1 elements differ, at [0] -0.0 for 0.0"


def test_what_is_out_of_a_bound_is_said_with_its_place_and_distance() -> None:
    found = judged(EXP, [[1.0, 1.0], [1.0, 2.0]], [[1.0, 1.0], [1.001, 2.5]])
    assert found.reason == "output 0: out of 4 ULP: 2 of 4 elements, at [1, 0] 1.00100005 for 1"
    assert (found.passed, found.by_bound, found.of_values, found.outputs) == (False, True, True, (0,))
    assert found.ratio == pytest.approx(0.5 / (4 * 4 * U), rel=1e-6)
    nan = judged(EXP, [1.0, 2.0], [1.0, np.nan])
    assert nan == Verdict(False, "output 0: NaN in other places: 1 of 2 elements, at [1] nan for 2", outputs=(0,))
    inf = judged(EXP, [1.0, np.inf], [1.0, 5.0])
    assert inf == Verdict(False, "output 0: Inf in other places: 1 of 2 elements, at [1] 5 for inf", outputs=(0,))
    unexpected = judged(EXP, [1.0, 2.0], [1.0, np.inf])
    assert not unexpected.passed and not unexpected.by_bound and unexpected.ratio == np.inf


def test_exactly_at_the_bound_agrees() -> None:
    assert judged(EXP, [1.0], [1.0 + 8 * U]) == Verdict(True, "", 1.0, bound="4 ULP")
    assert not judged(EXP, [1.0], [1.0 + 10 * U]).passed
    assert judged(EXP, [1.0, 1.0], [1.0 + 2 * U, 1.0 - 8 * U]).ratio == 1.0
    low = judged(
        rule_of(["Gemm"], 1, 2), [1.0], [1 + 17 * 2.0**-10], Truth(np.array([1.0]), np.array([2.0])), "float16"
    )
    assert low == Verdict(True, "", low.ratio, ("low-precision accumulate",), bound="1 ULP + 16 u S of float32")
    assert low.ratio == pytest.approx(1.0)
    high = judged(
        rule_of(["Gemm"], 1, 2), [1.0], [1 + 18 * 2.0**-10], Truth(np.array([1.0]), np.array([2.0])), "float16"
    )
    assert not high.passed and high.ratio == pytest.approx(18 * 2.0**-10 / (2.0**-10 + 32 * U))


def test_what_the_format_cannot_hold() -> None:
    # Computed as 1e39, and stored as Inf by the test: Inf of the same sign is right and nothing else.
    truth = Truth(np.array([1e39, 1.0]))
    assert judged(EXP, [np.inf, 1.0], [np.inf, 1.0], truth) == Verdict(True, "", 0.0, bound="4 ULP")
    for wrong in (-np.inf, 3e38, 0.0):
        assert "Inf in other places" in judged(EXP, [np.inf, 1.0], [wrong, 1.0], truth).reason
    # The test stores a finite number instead: nothing is said of the element but a note.
    for any_value in (np.inf, 3e38, 0.0):
        assert judged(EXP, [3.4e38, 1.0], [any_value, 1.0], truth) == Verdict(True, "", 0.0, ("range",), bound="4 ULP")
    assert judged(EXP, [3.4e38, 1.0], [3.4e38, 1.1], truth).notes == ("range",)
    minus = Truth(np.array([-1e39, 1.0]))
    assert judged(EXP, [-np.inf, 1.0], [-np.inf, 1.0], minus).passed
    assert not judged(EXP, [-np.inf, 1.0], [np.inf, 1.0], minus).passed
    largest = FORMATS["float32"].largest
    assert judged(EXP, [largest], [largest], Truth(np.array([largest]))).notes == ()
    assert not judged(EXP, [largest], [1.0], Truth(np.array([largest]))).passed


def test_flushing_is_a_note_and_only_below_the_smallest_normal_number() -> None:
    tiny = np.array([1e-40, 1.0])
    flushed = judged(EXP, tiny, [0.0, 1.0], Truth(tiny))
    assert flushed == Verdict(True, "", 0.0, ("ftz",), bound="4 ULP")
    assert judged(EXP, tiny, [-0.0, 1.0 + 9e-6], Truth(tiny)).notes == ("ftz",)
    normal = np.array([2.0**-126, 1.0])
    assert not judged(EXP, normal, [0.0, 1.0], Truth(normal)).passed
    zero = np.array([0.0, 1.0])
    assert judged(EXP, zero, zero, Truth(zero)).notes == ()


def test_sums_count_by_their_magnitude_and_default_to_the_result() -> None:
    off = [2.0 + 16 * U * 2]
    assert judged(SUM, [2.0], off).passed, "without S the result itself"
    assert judged(SUM, [-2.0], [-2.0 - 16 * U * 2]).passed
    assert not judged(SUM, [2.0], [2.0 + 40 * U]).passed
    assert judged(SUM, [2.0], [2.0 + 40 * U], Truth(np.array([2.0]), np.array([-9.0]))).passed
    beyond = Truth(np.array([np.inf, 1.0]), np.array([np.inf, 1.0]))
    assert judged(SUM, [np.inf, 1.0], [np.inf, 1.0], beyond).passed


def test_verdicts_on_several_outputs_are_joined() -> None:
    want = [tensor([1.0]), tensor([1e-40]), tensor([1], "int64"), tensor([1.0])]
    have = [tensor([1.0 + 4 * U]), tensor([0.0]), tensor([1], "int8"), tensor([1.0 + 2 * U])]
    truths = [Truth(), Truth(np.array([1e-40]))]
    found = strict(want, have, truths, EXP)
    assert found == Verdict(True, "", 0.5, ("ftz", "dtype-changed: int64 to int8"), bound="4 ULP")
    twice = strict(want[1:2] * 2, have[1:2] * 2, [truths[1]] * 2, EXP)
    assert twice.notes == ("ftz",)
    wrong = strict([*want, tensor([1.0])], [*have, tensor([3.0])], truths, EXP)
    assert wrong.notes == found.notes and wrong.outputs == (4,) and wrong.reason.startswith("output 4: out of 4 ULP")
    assert wrong.ratio == pytest.approx(2 / (8 * U))


# Stock


def said(want: Any, have: Any, rtol: float = 1e-3, atol: float = 1e-7) -> str:
    found = stock(want, have, rtol=rtol, atol=atol)
    assert found.passed is (not found.reason)
    return found.reason


def test_the_words_of_the_stock_verdict() -> None:
    one = tensor([1.0])
    assert said([one], []) == "0 outputs, expected 1"
    assert said([one, one], [one, tensor([2.0])]) == "output 1: out of tolerance"
    assert said([one], [tensor([[1.0]])]) == "output 0: shape [1, 1], expected [1]"
    assert said([one], [tensor([1.0], "float16")]) == "output 0: type float16, expected float32"
    assert said([[one]], [[one, one]]) == "output 0: a sequence of 2, expected 1"
    assert said([[one, one]], [[one, tensor([2.0])]]) == "output 0: out of tolerance"
    assert said([[one]], [[one]]) == "" == said([None], [None])
    assert said([None], [one]) == "output 0: a tensor of float32, expected nothing"
    assert said([one], [None]) == "output 0: nothing, expected a tensor of float32"
    assert said([one], [[one]]) == "output 0: a sequence of 1, expected a tensor of float32"
    assert said([tensor(["a"], "U1")], [tensor(["b"], "U1")]) == "output 0: elements differ"
    assert said([tensor(["a"], "U1")], [tensor(["a"], "U1")]) == ""


def test_the_stock_tolerance_by_type() -> None:
    assert said([tensor([1.0])], [tensor([1.1])], rtol=0.0, atol=0.11) == ""
    assert said([tensor([1.0])], [tensor([1.1])], rtol=0.11, atol=0.0) == ""
    assert said([tensor([1.0])], [tensor([1.1])], rtol=0.09, atol=0.0) == "output 0: out of tolerance"
    assert said([tensor([2.0])], [tensor([1.0])], rtol=0.6, atol=0.0) == "", "relative to what is expected"
    assert said([tensor([1.0], "bfloat16")], [tensor([1 + 2.0**-6], "bfloat16")]) == ""
    assert said([tensor([1.0], "bfloat16")], [tensor([1.02], "bfloat16")]) == "output 0: out of tolerance"
    assert said([tensor([1.0], "bfloat16")], [tensor([1.02], "bfloat16")], rtol=0.03) == ""
    assert said([tensor([1.0])], [tensor([1 + 2.0**-6])]) == "output 0: out of tolerance"
    assert said([tensor([1000], "int64")], [tensor([1001], "int64")]) == ""
    assert said([tensor([100], "int64")], [tensor([101], "int64")]) == "output 0: elements differ"
    codes = [Tensor(name, np.uint8([200])) for name in ("float8_e4m3fn", "float4_e2m1fn")]
    for code in codes:
        assert said([code], [Tensor(code.dtype, np.uint8([201]))], rtol=0.1) == "output 0: elements differ"
        assert said([code], [code]) == ""
    assert said([tensor([np.nan, np.inf])], [tensor([np.nan, np.inf])]) == ""
    assert said([tensor([1 + 1j], "complex64")], [tensor([1 + 1.0001j], "complex64")]) == ""
