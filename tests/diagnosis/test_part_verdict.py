"""The verdict on a part of a graph, by hand-made references: one test per rule."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bench_plugin.diagnosis.part_verdict import MOST_STEPS, OutputVerdict, judged, step_of
from bench_plugin.diagnosis.parts import Part, Ran
from bench_plugin.domain.cell import Cell, Check

Array = np.ndarray[Any, Any]
PART = Part(Path("part.onnx"), Path("part.onnx"), (), (), {}, {})
FP16_NOISE = 1e-3


@dataclass
class Given:
    """References that are made by hand; ``asked`` lists what was asked for."""

    outputs: Mapping[str, Array]
    precision: str = "fp32"
    noise: float = 1e-7
    loose: bool = False
    asked: list[str] = field(default_factory=list)

    @property
    def cell(self) -> Cell:
        return Cell(Check.EQUIVALENCE, "m", "onnx", compiler="tool", precision=self.precision)

    def truth(self, part: Part, perturb: int | None = None) -> Mapping[str, Array]:
        assert part is PART
        self.asked.append("truth" if perturb is None else f"perturbed {perturb}")
        return self.outputs if perturb is None else self._off(self.noise * perturb)

    def emulated(self, part: Part) -> Mapping[str, Array]:
        assert part is PART
        self.asked.append("emulated")
        return self._off(FP16_NOISE)

    def _off(self, share: float) -> Mapping[str, Array]:
        return {
            name: values * (1 + share) if values.dtype.kind == "f" else values for name, values in self.outputs.items()
        }


def drawn(count: int, seed: int = 0) -> Array:
    return np.random.default_rng(seed).normal(size=(count, 5))


def verdict(given: Given, *outputs: Array) -> OutputVerdict:
    [found] = judged(given, PART, Ran(None, tuple(outputs)))
    assert found.name == "y"
    return found


def test_a_right_part_is_judged_without_measuring_the_noise() -> None:
    given = Given({"y": drawn(4)})
    found = verdict(given, given.outputs["y"].astype(np.float32))
    assert (found.wrong, found.reason, given.asked) == ("", "", ["truth"])
    assert found.ratio < 1 and found.limit > 0 and found.rms > 0


def test_an_error_beyond_the_noise_is_wrong_and_says_by_how_much() -> None:
    given = Given({"y": drawn(4)})
    found = verdict(given, given.outputs["y"] * 1.01)
    assert (found.wrong, given.asked) == ("values", ["truth", "perturbed 1", "perturbed 2"])
    assert found.ratio > 100 and found.reason.startswith("E ")


def test_an_error_within_the_noise_of_the_part_is_right() -> None:
    given = Given({"y": drawn(4)}, noise=1e-5)
    assert verdict(given, given.outputs["y"] * (1 + 5e-5)).wrong == ""


def test_a_narrower_precision_is_judged_with_the_noise_of_its_emulation() -> None:
    given = Given({"y": drawn(4)}, precision="fp16")
    assert verdict(given, given.outputs["y"] * (1 + FP16_NOISE / 2)).wrong == ""
    assert "emulated" not in given.asked  # within the floor of fp16
    assert verdict(given, given.outputs["y"] * (1 + 2 * FP16_NOISE)).wrong == ""
    assert verdict(given, given.outputs["y"] * 1.02).wrong == "values"
    assert "emulated" in given.asked and not any(one.startswith("perturbed") for one in given.asked)


def test_fast_math_permits_more() -> None:
    given = Given({"y": drawn(4)})
    wrong = given.outputs["y"] * (1 + 8e-6)
    assert verdict(given, wrong).wrong == "values"
    assert verdict(Given(given.outputs, loose=True), wrong).wrong == ""


def test_a_single_sample_is_judged_by_the_rule_of_composite_operators() -> None:
    given = Given({"y": drawn(1)}, noise=1e-6)
    assert verdict(given, (given.outputs["y"] * (1 + 1e-5)).astype(np.float32)).wrong == ""
    found = verdict(given, (given.outputs["y"] * 1.001).astype(np.float32))
    assert found.wrong == "values" and found.E is not None and found.E > 1e-4
    assert found.limit < 1e-3 and found.rms == found.limit


ALTERNATING = np.array([[-2.0], [2.0], [-2.0], [2.0]])  # its root mean square over the inputs is 2, its norm 4


@pytest.mark.parametrize(
    ("given", "error", "E", "ratio", "limit", "rms"),
    [
        (Given({"y": ALTERNATING}), 1.6e-4, 4e-5, 10.0, 6.4e-5, 8e-6),  # the floor of fp32
        (Given({"y": ALTERNATING}, noise=1e-6), 1.6e-4, 4e-5, 2.0, 8e-5, 4e-5),  # 10 times the noise
        (Given({"y": ALTERNATING}, loose=True), 1.6e-4, 4e-5, 2.0, 8e-5, 4e-5),  # 100 times the noise
        (Given({"y": ALTERNATING}, precision="fp16"), 0.24, 0.06, 20.0, 1.6e-2, 6e-3),  # 3 times the noise
    ],
)
def test_a_verdict_tells_the_error_and_what_is_permitted_in_the_unit_of_the_output(
    given: Given, error: float, E: float, ratio: float, limit: float, rms: float
) -> None:
    have = ALTERNATING.copy()
    have[0, 0] += error
    found = verdict(given, have)
    assert found.wrong == "values"
    assert (found.E, found.ratio, found.limit, found.rms) == pytest.approx((E, ratio, limit, rms), rel=1e-6)


def test_one_element_that_is_far_off_among_many_is_wrong() -> None:
    truth = np.repeat(ALTERNATING / 2, 100, axis=1)
    have = truth.copy()
    have[0, 0] += 6e-5
    found = verdict(Given({"y": truth}), have)
    assert found.wrong == "values" and found.reason.startswith("M ")


def test_a_part_whose_noise_leaves_no_room_is_not_called_wrong() -> None:
    found = verdict(Given({"y": ALTERNATING}, noise=1e-3), ALTERNATING * (1 + 1e-4))
    assert (found.wrong, found.reason) == ("", "ill-conditioned: noise 2.0e-03 leaves no room below the cap")


def test_a_truth_that_is_not_finite_permits_nothing_and_accuses_nobody() -> None:
    truth = np.array([[1.0, np.inf], [2.0, 3.0]])
    assert verdict(Given({"y": truth}), truth) == OutputVerdict("y", "", "the truth is not finite", None, 0.0, 0.0, 0.0)


def test_two_samples_are_judged_by_the_rules_of_whole_models() -> None:
    found = verdict(Given({"y": drawn(2)}), drawn(2))
    assert found.limit == pytest.approx(8 * found.rms) and found.rms > 0


SINGLE_SAMPLE = np.array([[0.25, -0.5]])
SPREAD_FP32 = 2.0**-20  # of an element of 0.5 whose second perturbation is 2**-19
SPREAD_FP16 = 0.5 * FP16_NOISE


@pytest.mark.parametrize(
    ("precision", "dtype", "limit"),
    [
        ("fp32", "float32", 16 * SPREAD_FP32 + 4 * 2.0**-24),
        ("fp32", "float64", 16 * SPREAD_FP32 * 2.0**-29 + 4 * 2.0**-53),
        ("fp32", "float16", 16 * SPREAD_FP32 * (1 + 2.0**13) + 4 * 2.0**-11),
        # The emulation rounds to float16 already, so nothing is scaled to it once more.
        ("fp16", "float32", 16 * SPREAD_FP16 + 4 * 2.0**-24),
        ("fp16", "float64", 16 * SPREAD_FP16 + 4 * 2.0**-53),
        ("fp16", "float16", 16 * SPREAD_FP16 * (1 + 2.0**-13) + 4 * 2.0**-11),
    ],
)
def test_a_single_sample_may_be_16_spreads_and_4_units_in_the_last_place_off(
    precision: str, dtype: str, limit: float
) -> None:
    given = Given({"y": SINGLE_SAMPLE}, precision=precision, noise=2.0**-20)
    found = verdict(given, (SINGLE_SAMPLE + np.array([[1.0, 0.0]])).astype(dtype))
    assert (found.wrong, found.E) == ("values", 1.0)
    assert (found.limit, found.rms, found.ratio) == pytest.approx((limit, limit, 1 / limit), rel=1e-9)
    assert found.reason == "output 0: out of 16 spread + 4 ULP: 1 of 2 elements, at [0, 0] 1.25 for 0.25"


@pytest.mark.parametrize(("dtype", "limit"), [("float32", 2.0**-22), ("float64", 2.0**-51), ("float16", 2.0**-9)])
def test_a_right_single_sample_is_measured_in_units_in_the_last_place(dtype: str, limit: float) -> None:
    have = SINGLE_SAMPLE.astype(dtype)
    assert verdict(Given({"y": SINGLE_SAMPLE}), have) == OutputVerdict("y", "", "", 0.0, 0.0, limit, limit)
    have = (SINGLE_SAMPLE + limit / 2).astype(dtype)
    assert verdict(Given({"y": SINGLE_SAMPLE}), have) == OutputVerdict("y", "", "", limit / 2, 0.5, limit, limit)


@pytest.mark.parametrize(
    ("outputs", "wrong"),
    [
        ([1.0, np.inf, 3.0], ""),
        ([1.00001, np.inf, 3.0], ""),  # within the spread of the elements that are finite
        ([1.1, np.inf, 3.0], "values"),
        ([1.0, 5.0, 3.0], "Inf"),
        ([np.inf, np.inf, 3.0], "Inf"),
    ],
)
def test_a_single_sample_with_an_infinite_truth_is_judged_by_its_other_elements(
    outputs: list[float], wrong: str
) -> None:
    given = Given({"y": np.array([[1.0, np.inf, 3.0]])}, noise=1e-5)
    assert verdict(given, np.array([outputs], dtype=np.float32)).wrong == wrong


def test_a_single_sample_without_elements_is_right_beside_a_wrong_one() -> None:
    given = Given({"none": np.zeros((1, 0)), "y": drawn(1)})
    none, wrong = judged(given, PART, Ran(None, (np.zeros((1, 0), np.float32), given.outputs["y"] + 1)))
    assert none == OutputVerdict("none", "", "", 0.0, 0.0, 0.0, 0.0)
    assert (wrong.name, wrong.wrong) == ("y", "values")


@pytest.mark.parametrize("count", [1, 4])
@pytest.mark.parametrize(
    ("spoil", "kind"),
    [(lambda y: y[:, :-1], "shape"), (lambda y: np.where(y > 0, np.nan, y), "NaN"), (lambda y: y.astype("i8"), "type")],
)
def test_what_is_wrong_has_a_kind(count: int, spoil: Any, kind: str) -> None:
    given = Given({"y": drawn(count)})
    assert verdict(given, spoil(given.outputs["y"])).wrong == kind


@pytest.mark.parametrize("count", [1, 4])
@pytest.mark.parametrize(("truth", "have"), [("bool", "float32"), ("int64", "float32"), ("float64", "int64")])
def test_another_kind_of_type_is_wrong_though_every_value_is_right(count: int, truth: str, have: str) -> None:
    values = np.array([[0, 1, 1]] * count)
    assert verdict(Given({"y": values.astype(truth)}), values.astype(have)).wrong == "type"


def test_an_output_that_did_not_come_is_wrong() -> None:
    given = Given({"a": drawn(4), "b": drawn(4, 1)})
    found = judged(given, PART, Ran(None, (given.outputs["a"],)))
    assert found == [OutputVerdict("", "shape", "1 of 2 outputs came", None, np.inf, 0.0, 0.0)]


def test_every_output_has_a_verdict_of_its_own() -> None:
    given = Given({"a": drawn(4), "b": drawn(4, 1)})
    found = judged(given, PART, Ran(None, (given.outputs["a"], given.outputs["b"] * 1.1)))
    assert [(one.name, one.wrong) for one in found] == [("a", ""), ("b", "values")]


@pytest.mark.parametrize(
    ("count", "reason"),
    [(1, "output 0: 1 of 5 elements differ, at [0, 3] 4 for 3"), (4, "1 of 20 elements differ")],
)
@pytest.mark.parametrize("precision", ["fp32", "w8a8"])
def test_integers_that_are_not_quantised_must_be_equal(count: int, reason: str, precision: str) -> None:
    answers = np.arange(count * 5).reshape(count, 5)
    given = Given({"y": answers}, precision=precision)
    assert verdict(given, answers) == OutputVerdict("y", "", "", None, 0.0, 0.0, 0.0)
    found = verdict(given, answers + (answers == 3))
    assert found == OutputVerdict("y", "values", reason, None, np.inf, 0.0, 0.0)


@pytest.mark.parametrize("count", [1, 4])
def test_truth_values_must_be_equal(count: int) -> None:
    answers = np.array([[True, False]] * count)
    assert verdict(Given({"y": answers}), answers).wrong == ""
    assert verdict(Given({"y": answers}), ~answers).wrong == "values"


LEVELS = np.random.default_rng(5).integers(-128, 128, (4, 30))
QUANTISED: Mapping[str, Array] = {"int8": LEVELS.astype(np.int8), "dequantised": LEVELS * 0.037}


@pytest.mark.parametrize("kind", QUANTISED)
@pytest.mark.parametrize(("steps", "wrong"), [(0, ""), (1, ""), (2, "values"), (50, "values")])
def test_a_quantised_tensor_may_be_one_step_off_and_no_more(kind: str, steps: int, wrong: str) -> None:
    truth = QUANTISED[kind]
    have = truth.astype(np.float64)
    have[0, 0] += steps * (1 if kind == "int8" else 0.037) * (1 if truth[0, 0] < 0 else -1)
    found = verdict(Given({"y": truth}, precision="w8a8"), have.astype(truth.dtype))
    assert found.wrong == wrong
    assert found.ratio == pytest.approx(steps / MOST_STEPS, rel=1e-6)
    assert found.reason == (f"{steps} steps of {'1' if kind == 'int8' else '0.037'} off" if wrong else "")
    permitted = 1.25 if kind == "int8" else 1.25 * 0.037
    assert (found.limit, found.rms) == pytest.approx((permitted, permitted), rel=1e-6)


def test_a_quantised_tensor_may_be_exactly_as_far_off_as_is_permitted() -> None:
    truth = LEVELS * 0.5
    have = truth.copy()
    have[0, 0] += 0.625
    assert verdict(Given({"y": truth}, precision="w8a8"), have) == OutputVerdict("y", "", "", None, 1.0, 0.625, 0.625)


def test_a_quantised_tensor_of_another_shape_says_so() -> None:
    found = verdict(Given({"y": QUANTISED["int8"]}, precision="w8a8"), QUANTISED["int8"][:, :-1])
    assert found == OutputVerdict("y", "shape", "shape", None, np.inf, 1.25, 1.25)


def test_a_quantised_tensor_without_elements_is_right() -> None:
    nothing = np.zeros((4, 0), np.int8)
    found = verdict(Given({"y": nothing}, precision="w8a8"), nothing)
    assert found == OutputVerdict("y", "", "", None, 0.0, 1.25, 1.25)


def test_another_precision_knows_no_steps() -> None:
    found = verdict(Given({"y": QUANTISED["int8"]}), QUANTISED["int8"] ^ 1)
    assert found.wrong == "values"


@pytest.mark.parametrize(
    ("values", "step"),
    [
        (np.array([3, 5], dtype=np.uint8), 1.0),
        (np.array([3, 5], dtype=np.int32), None),
        (np.array([0.0, 0.5, 1.5, 2.0]), 0.5),
        (np.array([0.0, 1.0]), None),  # two values are no grid
        (np.array([0.0, 0.5, 1.5]), 0.5),
        (np.array([0.375, 0.875, 1.875]), 0.5),  # counted from the lowest level, which need not be a multiple
        (np.array([0.0, 0.5, 1.1, 2.0]), None),
        (np.array([0.0, 1.9992, 4.0008, 5.0008]), pytest.approx(1.0)),  # each within a thousandth of a step
        (np.array([0.0, 0.5, np.nan, 2.0]), None),
        (np.array([0.0, 0.5, np.inf, 2.0]), None),
        (np.arange(256) * 0.5, 0.5),
        (np.arange(257) * 0.5, None),  # more levels than eight bits have
        (np.zeros((0, 3)), None),
        # What rounding to float32 alone makes different is one level, of which two are no grid.
        (np.array([0.25, np.nextafter(np.float32(0.25), np.float32(1)), 0.5], np.float32), None),
        (np.array([0.25, np.nextafter(np.float32(0.25), np.float32(1)), 0.5, 0.75], np.float32), 0.25),
        (np.array(["a", "b", "c"]), None),
    ],
)
def test_the_step_of_a_tensor_is_read_from_its_values(values: Array, step: float | None) -> None:
    assert step_of(values) == step
