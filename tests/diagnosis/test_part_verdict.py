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
        self.asked.append("truth" if perturb is None else f"perturbed {perturb}")
        return self.outputs if perturb is None else self._off(self.noise * perturb)

    def emulated(self, part: Part) -> Mapping[str, Array]:
        self.asked.append("emulated")
        return self._off(FP16_NOISE)

    def _off(self, share: float) -> Mapping[str, Array]:
        return {name: values * (1 + share) for name, values in self.outputs.items()}


def drawn(count: int, seed: int = 0) -> Array:
    return np.random.default_rng(seed).normal(size=(count, 5))


def verdict(given: Given, *outputs: Array) -> OutputVerdict:
    [found] = judged(given, PART, Ran(None, tuple(outputs)))
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


@pytest.mark.parametrize("count", [1, 4])
@pytest.mark.parametrize(
    ("spoil", "kind"),
    [(lambda y: y[:, :-1], "shape"), (lambda y: np.where(y > 0, np.nan, y), "NaN"), (lambda y: y.astype("i8"), "type")],
)
def test_what_is_wrong_has_a_kind(count: int, spoil: Any, kind: str) -> None:
    given = Given({"y": drawn(count)})
    assert verdict(given, spoil(given.outputs["y"])).wrong == kind


def test_an_output_that_did_not_come_is_wrong() -> None:
    given = Given({"a": drawn(4), "b": drawn(4, 1)})
    [found] = judged(given, PART, Ran(None, (given.outputs["a"],)))
    assert (found.wrong, found.reason, found.ratio) == ("shape", "1 of 2 outputs came", np.inf)


def test_every_output_has_a_verdict_of_its_own() -> None:
    given = Given({"a": drawn(4), "b": drawn(4, 1)})
    found = judged(given, PART, Ran(None, (given.outputs["a"], given.outputs["b"] * 1.1)))
    assert [(one.name, one.wrong) for one in found] == [("a", ""), ("b", "values")]


@pytest.mark.parametrize("count", [1, 4])
def test_integers_that_are_not_quantised_must_be_equal(count: int) -> None:
    answers = np.arange(count * 5).reshape(count, 5)
    assert verdict(Given({"y": answers}), answers).wrong == ""
    assert verdict(Given({"y": answers}), answers + (answers == 3)).wrong == "values"
    assert verdict(Given({"y": answers}, precision="w8a8"), answers + (answers == 3)).wrong == "values"


LEVELS = np.random.default_rng(5).integers(-128, 128, (4, 30))
QUANTISED = {"int8": LEVELS.astype(np.int8), "dequantised": LEVELS * 0.037}


@pytest.mark.parametrize("kind", QUANTISED)
@pytest.mark.parametrize(("steps", "wrong"), [(0, ""), (1, ""), (2, "values"), (50, "values")])
def test_a_quantised_tensor_may_be_one_step_off_and_no_more(kind: str, steps: int, wrong: str) -> None:
    truth = QUANTISED[kind]
    have = truth.astype(np.float64)
    have[0, 0] += steps * (1 if kind == "int8" else 0.037) * (1 if truth[0, 0] < 0 else -1)
    found = verdict(Given({"y": truth}, precision="w8a8"), have.astype(truth.dtype))
    assert found.wrong == wrong
    assert found.ratio == pytest.approx(steps / MOST_STEPS, rel=1e-6)
    assert (f"{steps} steps of" in found.reason) is bool(wrong)


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
        (np.array([0.0, 0.5, 1.1, 2.0]), None),
        (np.array([0.0, 0.5, np.nan, 2.0]), None),
        (np.arange(300) * 0.5, None),  # more levels than eight bits have
        (np.zeros((0, 3)), None),
    ],
)
def test_the_step_of_a_tensor_is_read_from_its_values(values: Array, step: float | None) -> None:
    assert step_of(values) == step
