"""The judge of a cell, on hand-made finished stages: one test per rule."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np
import pytest

from bench_plugin.compare.noise import Noise
from bench_plugin.compare.table import DEFAULTS
from bench_plugin.compare.verdict import AGREE, MISMATCH, UNVERIFIED, Comparison
from bench_plugin.domain.outcome import Failure, Stage, Symptom, Unverified
from bench_plugin.inventory.models import Model
from bench_plugin.pipeline.judging.judge import Judge, ReferenceOutputs
from bench_plugin.pipeline.stages import Done as Stored

Array = np.ndarray[Any, Any]
JUDGE = Judge({})
Done = partial(Stored, failure=None)


def drawn(seed: int = 1, shape: tuple[int, ...] = (8, 12)) -> Array:
    return np.random.default_rng(seed).normal(size=shape)


def off_by(truth: Array, e: float, seed: int = 99) -> Array:
    """The truth with an error of exactly this E (and M), of one size and random sign."""
    centred = truth - truth.mean(axis=0)
    signs = np.random.default_rng(seed).choice([-1.0, 1.0], truth.shape)
    moved: Array = truth + signs * e * np.sqrt((centred**2).mean())
    return moved


def model(task: str = "classification", outputs: tuple[Mapping[str, Any], ...] = ()) -> Model:
    return Model(
        "net", "Net", "mlp", task, "", 0, "", (), (), (), outputs, {}, {}, {}, samples=8, seconds=1.0, memory_gb=1.0,
        digest="",
    )  # fmt: skip


def done(meta: Mapping[str, Any] | None = None, **arrays: Array) -> Stored:
    """A finished stage; ``truth_y`` is the array ``truth:y``."""
    return Done(meta=dict(meta or {}), arrays={name.replace("_", ":"): values for name, values in arrays.items()})


def expected(truth: Array, noise: Noise | None, **more: Any) -> ReferenceOutputs:
    levels = {} if noise is None else {"y": noise}
    return ReferenceOutputs({"y": truth}, "hand-made", levels, more.get("second", {}), more.get("own", {}))


def level(reference: ReferenceOutputs, output: str = "out0") -> float:
    return reference.noise[output].E


NOISE = Noise(1e-6, 1e-6, 3)


# References


def test_the_frameworks_reference_has_the_noise_of_the_worst_run() -> None:
    truth = drawn()
    runs = {"default_y": off_by(truth, 1e-7), "variant_y": off_by(truth, 3e-7), "perturbed_y": off_by(truth, 2e-7)[:4]}
    found = JUDGE.framework_reference(model(), done({"reference": {"truth": "float64"}}, truth_y=truth, **runs))
    assert found is not None and found.origin == "float64"
    assert level(found, "y") == pytest.approx(3e-7) and found.noise["y"].runs == 3


@pytest.mark.parametrize("kind", ["default", "variant", "perturbed"])
def test_every_kind_of_run_is_part_of_the_noise(kind: str) -> None:
    truth = drawn()
    runs = {f"{name}_y": off_by(truth, 1e-5 if name == kind else 1e-8) for name in ("default", "variant", "perturbed")}
    found = JUDGE.framework_reference(model(), done({"reference": {"truth": "float64"}}, truth_y=truth, **runs))
    assert found is not None and level(found, "y") == pytest.approx(1e-5)


def test_a_framework_without_float64_has_no_reference_but_its_own_float32() -> None:
    reference = done({"reference": {}}, default_y=drawn(), variant_y=off_by(drawn(), 1e-6))
    assert JUDGE.framework_reference(model(), reference) is None
    found = JUDGE.single_precision_reference(model(), reference)
    assert found.origin == "framework in float32" and level(found, "y") == pytest.approx(1e-6)


def test_a_file_has_the_noise_of_its_framework_or_of_its_own_perturbed_run() -> None:
    truth = drawn()
    evaluated = done(out0=truth, perturbed_out0=off_by(truth, 5e-7))
    own = JUDGE.file_reference(model(), evaluated, None)
    assert level(own) == pytest.approx(5e-7, rel=1e-3)
    reference = done({"reference": {"truth": "float64"}}, truth_y=truth, default_y=off_by(truth, 2e-6), alt_y=drawn(2))
    found = JUDGE.file_reference(model(), evaluated, reference)
    assert level(found) == pytest.approx(2e-6) and list(found.second_binding) == ["out0"]
    assert found.end_to_end["y"] is reference.arrays["truth:y"]


def test_onnxruntimes_own_result_is_a_reference_of_last_resort() -> None:
    truth = drawn()
    ran = done(out0=truth)
    assert JUDGE.runtime_reference(model(), ran, None).noise == {}
    reference = done({"reference": {}}, default_y=truth, variant_y=off_by(truth, 2e-6))
    assert level(JUDGE.runtime_reference(model(), ran, reference)) == pytest.approx(2e-6)
    assert JUDGE.compare(model(), JUDGE.runtime_reference(model(), ran, None), ran).status == UNVERIFIED


# Precisions


def test_a_reduced_precision_is_judged_with_its_own_noise_and_not_with_that_of_fp32() -> None:
    truth = drawn()
    plain = expected(truth, Noise(1e-7, 1e-7, 3))
    emulated = done(fp16_out0=off_by(truth, 1e-3)[:4], bf16_out0=off_by(truth, 2e-2)[:4])
    at = JUDGE.at_precision(plain, emulated, "bf16")
    assert level(at, "y") == pytest.approx(2e-2, rel=0.2), "four inputs of eight"
    right = done(out0=off_by(truth, 3e-2))
    assert JUDGE.compare(model(), at, right, precision="bf16").status == AGREE
    assert JUDGE.compare(model(), plain, right, precision="bf16").status == MISMATCH
    assert (
        JUDGE.compare(model(), JUDGE.at_precision(plain, emulated, "fp16"), right, precision="fp16").status == MISMATCH
    )


def test_bf16_with_the_noise_of_bf16_is_not_excused_by_the_cap_of_another_precision() -> None:
    truth = drawn()
    at = expected(truth, Noise(2e-2, 2e-2, 1))
    assert JUDGE.compare(model(), at, done(out0=off_by(truth, 7e-2)), precision="bf16").status == MISMATCH


def test_a_precision_is_inferred_from_the_nearest_emulation_of_the_same_inputs() -> None:
    truth = drawn()
    # What only finds integers that may be rounded to either side is no precision, however near it is.
    kinds = {"fp32_out0": 1e-7, "fp16_out0": 1e-3, "bf16_out0": 1e-2, "fp32-up_out0": 1.5e-3, "fp32-down_out0": 8e-3}
    emulated = done({"emulate": {"samples": 4}}, **{name: off_by(truth, e)[:4] for name, e in kinds.items()})
    plain = expected(truth, NOISE)
    for e, name in ((5e-8, "fp32"), (1.5e-3, "fp16"), (8e-3, "bf16"), (2.0, "")):
        assert JUDGE.inferred_precision(plain, emulated, done(out0=off_by(truth, e))) == name
    late = off_by(truth, 1e-3)
    late[4:] += 100  # inputs that were not emulated
    assert JUDGE.inferred_precision(plain, emulated, done(out0=late)) == "fp16"


def test_the_approximation_is_that_of_the_worst_output() -> None:
    outputs = {"a": drawn(1), "b": drawn(2), "labels": np.arange(8)}
    plain = ReferenceOutputs(outputs, "hand-made", {}, {}, {})
    ran = done(out0=off_by(outputs["a"], 1e-3), out1=off_by(outputs["b"], 1e-1), out2=np.arange(8))
    found = JUDGE.approximation(plain, ran)
    assert found["E"] == pytest.approx(1e-1) and 15 < found["sqnr_db"] < 25
    assert JUDGE.approximation(plain, done(out0=drawn(1, (8, 3)))) == {"E": None, "sqnr_db": None, "truth": "hand-made"}


# The comparison


@pytest.mark.parametrize("loose, status", [(False, MISMATCH), (True, AGREE)])
def test_fast_math_is_permitted_only_where_it_is_declared(loose: bool, status: str) -> None:
    truth = drawn()
    found = JUDGE.compare(model(), expected(truth, NOISE), done(out0=off_by(truth, 5e-5)), loose=loose)
    assert found.status == status
    assert ("loose" in found.notes) is loose


def test_fast_math_is_not_noted_where_it_was_not_needed() -> None:
    truth = drawn()
    found = JUDGE.compare(model(), expected(truth, NOISE), done(out0=off_by(truth, 5e-6)), loose=True)
    assert (found.status, found.notes) == (AGREE, ())
    assert found.numbers["tolerance_E"] == pytest.approx(1e-5)


def test_far_beyond_the_noise_an_ill_conditioned_model_is_a_mismatch() -> None:
    truth = drawn()
    ill = expected(truth, Noise(2e-3, 2e-3, 3))
    near = JUDGE.compare(model(), ill, done(out0=off_by(truth, 1e-2)))
    assert (near.status, near.kind) == (UNVERIFIED, Unverified.ILL_CONDITIONED)
    assert JUDGE.compare(model(), ill, done(out0=off_by(truth, 69.0))).status == MISMATCH


@pytest.mark.parametrize(
    "truth, noise",
    [(np.zeros((8, 0)), NOISE), (np.ones((8, 3)), NOISE), (drawn(), None), (drawn(1, (1, 12)), NOISE),
     (np.full((8, 3), np.nan), NOISE)],
)  # fmt: skip
def test_nothing_that_could_be_compared_is_never_supported(truth: Array, noise: Noise | None) -> None:
    found = JUDGE.compare(model(), expected(truth, noise), done(out0=truth))
    assert found.status == UNVERIFIED and found.kind is not None


def test_no_output_at_all_is_never_supported() -> None:
    assert JUDGE.compare(model(), expected(drawn(), NOISE), done()).status == MISMATCH
    assert JUDGE.compare(model(), ReferenceOutputs({}, "", {}, {}, {}), done()).status == MISMATCH


def test_only_outputs_are_compared_not_those_of_the_second_binding() -> None:
    truth = drawn()
    ran = Done(arrays={"alt:out0": drawn(5), "out0": truth})
    assert JUDGE.compare(model(), expected(truth, NOISE), ran).status == AGREE


def test_the_error_against_the_framework_is_a_number_beside_the_verdict() -> None:
    truth = drawn()
    found = JUDGE.compare(model(), expected(truth, NOISE, own={"y": off_by(truth, 0.1)}), done(out0=truth))
    assert found.status == AGREE and found.numbers["end_to_end_E"] == pytest.approx(0.1, rel=0.1)
    assert found.numbers["truth"] == "hand-made"
    plain = JUDGE.compare(model(), expected(truth, NOISE), done(out0=truth))
    assert "end_to_end_E" not in plain.numbers


def test_the_tolerances_of_the_test_are_used() -> None:
    truth = drawn()
    ran = done(out0=off_by(truth, 5e-6))
    assert JUDGE.compare(model(), expected(truth, NOISE), ran).status == AGREE
    assert Judge({"k": 2}).compare(model(), expected(truth, NOISE), ran).status == MISMATCH


# Detections


BOXES = np.array([[[0, 0, 10, 10], [20, 20, 40, 40]]] * 8, dtype=np.float64)
ROLES = tuple({"name": name} for name in ("boxes", "labels", "scores"))


def detected(shift: float = 0.0) -> dict[str, Array]:
    return {"out0": BOXES + shift, "out1": np.ones((8, 2), dtype=np.int64), "out2": np.full((8, 2), 0.9)}


def test_detections_are_matched_and_not_measured_by_their_norm() -> None:
    finder = model("detection", ROLES)
    reference = {f"truth:{row['name']}": values for row, values in zip(ROLES, detected().values(), strict=True)}
    runs = {f"perturbed{i}:{row['name']}": values for i in range(8) for row, values in
            zip(ROLES, detected(1e-6).values(), strict=True)}  # fmt: skip
    found = JUDGE.framework_reference(finder, Done(meta={"reference": {"truth": "float64"}}, arrays=reference | runs))
    assert found is not None and len(found.own_runs) == 8 and found.noise == {}
    swapped = {name: values[:, ::-1] for name, values in detected().items()}
    assert JUDGE.compare(finder, found, Done(arrays=swapped)).status == AGREE
    assert JUDGE.compare(finder, found, Done(arrays=detected(3.0))).status == MISMATCH


# The second binding

DYNAMIC = {"inputs": [{"name": "x", "shape": ["batch", 8]}]}
STATIC = {"inputs": [{"name": "x", "shape": [1, 8]}]}


def at_second(
    values: Array | None, declared: Mapping[str, Any] = DYNAMIC, want: Array | None = None, meta: Any = None
) -> str:
    truth, other = drawn(), drawn(2, (3, 12)) if want is None else want
    arrays = {} if values is None else {"alt:out0": values}
    return JUDGE.dynamic(expected(truth, NOISE, second={"y": other}), declared, Done(arrays=arrays, meta=meta or {}))


def test_a_model_without_a_second_binding_is_static() -> None:
    assert JUDGE.dynamic(expected(drawn(), NOISE), DYNAMIC, done()) == ""


def test_the_second_binding_is_preserved_within_the_tolerance() -> None:
    other = drawn(2, (3, 12))
    assert at_second(other) == "preserved"
    reach = 2 * 10 * 1e-6 * (drawn() - drawn().mean(axis=0)).std()
    nudged = other.copy()
    nudged[1, 1] += 2 * reach
    assert at_second(nudged).startswith("error: y is off by")
    nudged[1, 1] = other[1, 1] + 0.5 * reach
    assert at_second(nudged) == "preserved"


def test_what_fails_at_the_second_binding_is_frozen_or_an_error() -> None:
    failed = {"alt:run": {"failure": "shape [3, 8], the file has [1, 8]"}}
    assert at_second(None, STATIC, meta=failed) == "frozen"
    assert at_second(None, DYNAMIC, meta=failed) == "error: shape [3, 8], the file has [1, 8]"


def test_a_wrong_shape_a_missing_output_and_nan_at_the_second_binding_are_errors() -> None:
    other = drawn(2, (3, 12))
    assert at_second(other[:1]) == "error: y has shape [1, 12], expected [3, 12]"
    assert at_second(None) == "error: outputs are missing at the second binding"
    assert at_second(other * np.nan).startswith("error: y is off by")


def test_integers_at_the_second_binding_are_exact() -> None:
    labels = np.arange(3)
    assert at_second(labels, want=labels) == "preserved"
    assert at_second(labels + 1, want=labels).startswith("error: y is off by")


# Strength


def mutants(truth: Array, count: int = 4, **faults: Array) -> Stored:
    arrays = {"original:out0": truth[:count].astype(np.float32)}
    arrays |= {f"{name.replace('_', ' ')}:out0": values[:count].astype(np.float32) for name, values in faults.items()}
    made = [{"name": name.replace("_", " "), "site": "Gemm last"} for name in faults]
    said = {"samples": count, "mutants": made, "unchanged": [{"name": "argmax ties", "site": "ArgMax y"}]}
    return Done(arrays=arrays, meta={"mutate": said})


def test_the_strength_is_that_of_the_comparison_that_was_made() -> None:
    truth = drawn()
    at = expected(truth, Noise(2e-2, 2e-2, 1))
    ran = done(out0=off_by(truth, 1e-2))
    made = mutants(truth, bias_dropped=off_by(truth, 1e-3), channel_zeroed=off_by(truth, 0.5), bias_in_float16=truth)
    coarse = JUDGE.strength(JUDGE.compare(model(), at, ran, precision="bf16"), ran, made, {"y": NOISE}, reduced=True)
    assert coarse.missed == ("bias dropped",) and coarse.share == 0.75 and "bias in float16" not in coarse.table
    assert coarse.unchanged == ("argmax ties at ArgMax y",)
    assert coarse.table["bias dropped"]["site"] == "Gemm last" and "site" not in coarse.table["mean output"]
    exact = done(out0=truth)
    fine = JUDGE.strength(JUDGE.compare(model(), expected(truth, NOISE), exact), exact, made, {"y": NOISE})
    assert fine.missed == () and fine.unnoticeable == ("bias in float16",)


def test_a_run_that_is_nearly_a_mismatch_notices_no_more_than_a_right_one() -> None:
    truth = drawn()
    at = expected(truth, Noise(2e-2, 2e-2, 1))
    row = DEFAULTS.row("bf16")
    limit = min(max(row.k * 2e-2, row.floor), row.cap)
    wrong = done(out0=off_by(truth, 0.95 * limit))
    made = mutants(truth, bias_dropped=off_by(truth, 0.8 * limit, seed=5))
    comparison = JUDGE.compare(model(), at, wrong, precision="bf16")
    assert comparison.status == AGREE, comparison.reason
    alone = JUDGE.strength(comparison, wrong, made, {"y": NOISE}, reduced=True)
    right = {"out0": off_by(truth, 0.4 * limit, seed=7)[:4]}
    both = JUDGE.strength(comparison, wrong, made, {"y": NOISE}, reduced=True, right=right)
    few = JUDGE.strength(comparison, wrong, made, {"y": NOISE}, reduced=True, right={"out0": right["out0"][:3]})
    assert (alone.missed, both.missed, few.missed) == ((), ("bias dropped",), ())


def test_a_comparison_without_a_rule_cannot_judge_mutants() -> None:
    with pytest.raises(ValueError, match="no rule"):
        JUDGE.strength(Comparison(AGREE), done(), mutants(drawn()), {})


@pytest.mark.parametrize("scale", [0.05, None])
def test_the_strength_in_steps_needs_more_than_a_step(scale: float | None) -> None:
    truth = drawn()
    made = mutants(truth, bias_dropped=off_by(truth, 1e-4), residual_branch_zeroed=off_by(truth, 1.0))
    found = JUDGE.strength_in_steps(expected(truth, NOISE), made, [scale])
    assert found.missed == ("bias dropped",) and found.reason == ""
    hidden = JUDGE.strength_in_steps(expected(truth, NOISE), mutants(truth, residual_branch_zeroed=truth), [scale])
    assert "residual branch zeroed" in hidden.reason


def test_a_failed_stage_has_no_arrays_to_judge() -> None:
    failed = Stored(failure=Failure(Stage.RUN, Symptom.CRASH, "gone"))
    assert JUDGE.compare(model(), expected(drawn(), NOISE), failed).status == MISMATCH
