"""What a run is compared with, in every field, on hand-made finished stages."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

from bench_plugin.compare.noise import Noise
from bench_plugin.compare.table import DEFAULTS, with_overrides
from bench_plugin.compare.verdict import AGREE, MISMATCH
from bench_plugin.pipeline.judging.judge import Judge, ReferenceOutputs
from bench_plugin.pipeline.stages import Done
from tests.pipeline.test_judge import (
    JUDGE,
    NOISE,
    ROLES,
    detected,
    done,
    drawn,
    expected,
    model,
    mutants,
    off_by,
)

FLOAT64 = {"reference": {"truth": "float64"}}


def of(**arrays: np.ndarray[tuple[int, ...], np.dtype[np.float64]]) -> Done:
    return done(FLOAT64, **arrays)


def test_the_tolerances_of_a_judge_are_those_of_its_marker() -> None:
    assert Judge({}).table is DEFAULTS
    assert Judge({"k": 3}).table == with_overrides(k=3)


def test_a_frameworks_reference_holds_its_second_binding_and_nothing_of_a_file() -> None:
    truth, other = drawn(), drawn(2, (3, 12))
    found = JUDGE.framework_reference(model(), of(truth_y=truth, default_y=truth, alt_y=other))
    assert found is not None and found.outputs["y"] is truth
    assert found.second_binding["y"] is other and found.end_to_end == {} and found.own_runs == ()
    assert found.noise == {"y": Noise(0.0, 0.0, 1)}


def test_a_files_reference_with_a_framework() -> None:
    truth, own, other = drawn(), off_by(drawn(), 0.1), drawn(2, (3, 12))
    evaluated = done(out0=truth, perturbed_out0=off_by(truth, 1e-2))
    found = JUDGE.file_reference(model(), evaluated, of(truth_y=own, default_y=off_by(own, 2e-6), alt_y=other))
    assert list(found.outputs) == ["out0"] and found.outputs["out0"] is truth
    assert found.origin == "file in float64" and found.end_to_end["y"] is own
    assert pytest.approx(2e-6) == found.noise["out0"].E and found.second_binding["out0"] is other
    without = JUDGE.file_reference(model(), evaluated, of(default_y=truth))
    assert without.noise == {} and without.end_to_end == {} and without.outputs["out0"] is truth


def test_a_files_reference_without_a_framework() -> None:
    truth, more = drawn(), drawn(3)
    found = JUDGE.file_reference(model(), done(out0=truth, out1=more, perturbed_out0=off_by(truth, 1e-3)), None)
    assert found == ReferenceOutputs(found.outputs, "file in float64", found.noise, {}, {}, ())
    assert list(found.outputs) == ["out0", "out1"] and found.outputs["out1"] is more
    assert list(found.noise) == ["out0"] and pytest.approx(1e-3, rel=1e-2) == found.noise["out0"].E


def test_a_reference_in_single_precision() -> None:
    truth = drawn()
    found = JUDGE.single_precision_reference(model(), of(default_y=truth, default_z=truth, variant_y=truth))
    assert found == ReferenceOutputs(found.outputs, "framework in float32", {"y": Noise(0, 0, 1)}, {}, {}, ())
    assert list(found.outputs) == ["y", "z"] and found.outputs["y"] is truth


def test_a_reference_by_onnxruntime() -> None:
    truth = drawn()
    found = JUDGE.runtime_reference(model(), done(out0=truth, alt_out0=truth), of(truth_y=truth, default_y=truth))
    assert found == ReferenceOutputs(found.outputs, "onnxruntime in float32", {"out0": Noise(0, 0, 1)}, {}, {}, ())
    assert list(found.outputs) == ["out0"] and found.outputs["out0"] is truth
    noisy = JUDGE.runtime_reference(
        model(), done(out0=truth), of(truth_y=truth, default_y=off_by(truth, 1e-3), variant_y=off_by(truth, 1e-5))
    )
    assert pytest.approx(1e-3) == noisy.noise["out0"].E, "the noise is measured against float64 where there is one"


def test_a_reference_of_detections_by_onnxruntime_has_all_runs_of_the_framework() -> None:
    finder = model("detection", ROLES)
    found = JUDGE.runtime_reference(finder, Done(failure=None, arrays=detected()), None)
    assert found == ReferenceOutputs(found.outputs, "onnxruntime in float32", {}, {}, {}, [])
    assert list(found.outputs) == ["out0", "out1", "out2"]
    kinds = {"perturbed1": 3e-6, "truth": 0.0, "perturbed0": 2e-6, "default": 1e-6}
    reference = Done(failure=None, arrays=framework_runs(kinds))
    stable = JUDGE.runtime_reference(finder, Done(failure=None, arrays=detected()), reference)
    assert [list(run) for run in stable.own_runs] == [["boxes", "labels", "scores"]] * 4
    shifts = [float(run["boxes"][0, 0, 0]) for run in stable.own_runs]
    assert shifts == [0.0, 1e-6, 2e-6, 3e-6], "in float64, by default kernels, perturbed"
    verdict = JUDGE.compare(finder, stable, Done(failure=None, arrays=detected()))
    assert verdict.status == AGREE
    assert verdict.numbers["truth"] == "onnxruntime in float32" and verdict.numbers["stable"] == 16


def test_at_a_precision_only_the_noise_is_another() -> None:
    truth, other, own = drawn(), drawn(2), drawn(3)
    plain = expected(truth, NOISE, second={"y": other}, own={"y": own})
    found = JUDGE.at_precision(plain, done(fp16_out0=truth, bf16_out0=off_by(truth, 0.1)), "fp16")
    assert found.noise == {"y": Noise(0, 0, 1)}
    assert (found.outputs, found.origin, found.second_binding, found.end_to_end) == (
        plain.outputs, plain.origin, plain.second_binding, plain.end_to_end
    )  # fmt: skip


def test_the_approximation_leaves_out_what_cannot_be_measured() -> None:
    outputs = {"a": drawn(1), "b": drawn(2), "c": drawn(3)}
    plain = ReferenceOutputs(outputs, "hand-made", {}, {}, {})
    broken = off_by(outputs["b"], 0.5)
    broken[0, 0] = np.nan
    found = JUDGE.approximation(plain, done(out0=off_by(outputs["a"], 0.01), out1=broken))
    assert found["E"] == pytest.approx(0.01) and found["truth"] == "hand-made"
    exact = JUDGE.approximation(plain, done(out0=outputs["a"]))
    assert exact == {"E": 0.0, "sqnr_db": None, "truth": "hand-made"}
    louder = JUDGE.approximation(plain, done(out0=outputs["a"] * 1.1, out1=outputs["b"] * 1.01, out2=outputs["c"]))
    assert louder["sqnr_db"] == pytest.approx(20.0)


def test_scores_beside_boxes_have_an_approximation_of_their_own() -> None:
    """One step of the quantised boxes is as large as the scores are: of them nothing is left."""
    truth = drawn(1, (8, 6, 10))
    truth[:, 4:] *= 0.02
    plain = ReferenceOutputs({"a": drawn(2), "boxes": truth}, "hand-made", {}, {}, {})
    coarse = np.round(truth / 0.1) * 0.1
    found = JUDGE.approximation(plain, done(out0=drawn(2), out1=coarse))
    assert found["part"].startswith("elements 4 to 5 of axis -2") and 0.7 < found["E"] < 1.3 and found["sqnr_db"] < 3
    fine = JUDGE.approximation(plain, done(out0=off_by(drawn(2), 0.4), out1=np.round(truth / 0.001) * 0.001))
    assert "part" not in fine and fine["E"] == pytest.approx(0.4)


def test_the_error_against_the_framework_is_that_of_the_worst_output_of_equal_shape() -> None:
    outputs = {"a": drawn(1), "b": drawn(2), "n": np.arange(8)}
    own = {"a": off_by(drawn(1), 0.1), "b": off_by(drawn(2), 0.3), "n": np.arange(8) + 1}
    plain = ReferenceOutputs(outputs, "hand-made", dict.fromkeys("ab", NOISE), {}, own)
    ran = done(out0=drawn(1), out1=drawn(2), out2=np.arange(8))
    found = JUDGE.compare(model(), plain, ran)
    assert found.status == AGREE and found.numbers["end_to_end_E"] == pytest.approx(0.3, rel=0.1)
    other = ReferenceOutputs(outputs, "hand-made", dict.fromkeys("ab", NOISE), {}, own | {"b": drawn(2, (8, 3))})
    assert JUDGE.compare(model(), other, ran).numbers["end_to_end_E"] == pytest.approx(0.1, rel=0.1)


def test_of_two_outputs_at_the_second_binding_each_is_looked_at() -> None:
    truth, first, second = drawn(), drawn(2, (3, 12)), drawn(4, (3, 12))
    outputs = {"y": truth, "z": truth * 1e3}
    plain = ReferenceOutputs(outputs, "hand-made", dict.fromkeys("yz", NOISE), {"y": first, "z": second}, {})
    declared = {"inputs": [{"name": "m", "shape": [2]}, {"name": "x", "shape": [1, "n"]}]}

    def said(one: object, other: object) -> str:
        arrays = {"alt:out0": np.asarray(one), "alt:out1": np.asarray(other)}
        return JUDGE.dynamic(plain, declared, Done(failure=None, arrays=arrays))

    assert said(first, second) == "preserved"
    assert said(first, second + 1e-2) == "preserved", "in units of what the output changes"
    assert said(first, second + 1.0).startswith("error: z is off by 1.00e+00 at the second binding")
    assert said(first + 1e-2, second).startswith("error: y is off by")
    assert said(first, second[:1]) == "error: z has shape [1, 12], expected [3, 12]"
    only = Done(failure=None, arrays={"alt:out0": first})
    assert JUDGE.dynamic(plain, declared, only) == "error: outputs are missing at the second binding"
    failed = Done(failure=None, meta={"alt:run": {"failure": "boom"}, "run": {"failure": "other"}, "alt:b": {}})
    assert JUDGE.dynamic(plain, declared, failed) == "error: boom"
    whole = ReferenceOutputs({"y": np.arange(3)}, "", {"y": NOISE}, {"y": np.arange(3)}, {})
    apart = Done(failure=None, arrays={"alt:out0": np.array([0, 5, 7])})
    assert JUDGE.dynamic(whole, declared, apart) == "error: y is off by 2.00e+00 at the second binding"


def test_the_second_binding_has_the_tolerance_of_the_test() -> None:
    truth, other = drawn(), drawn(2, (3, 12))
    plain = expected(truth, NOISE, second={"y": other})
    off = Done(failure=None, arrays={"alt:out0": other + 1e-4})
    declared = {"inputs": [{"name": "x", "shape": ["n"]}]}
    assert JUDGE.dynamic(plain, declared, off).startswith("error:")
    assert Judge({"k": 100}).dynamic(plain, declared, off) == "preserved"


def test_the_precision_of_the_cell_and_fast_math_reach_the_comparison() -> None:
    truth = drawn()
    found = JUDGE.compare(model(), expected(truth, NOISE), done(out0=truth), precision="bf16", loose=True)
    assert found.rule is not None and (found.rule.precision, found.rule.loose) == ("bf16", True)
    plain = JUDGE.compare(model(), expected(truth, NOISE), done(out0=truth))
    assert plain.rule is not None and (plain.rule.precision, plain.rule.loose) == ("fp32", False)
    assert plain.rule.table is DEFAULTS


def test_detections_are_judged_by_the_table_of_the_test() -> None:
    finder = model("detection", ROLES)
    runs = [dict(zip(("boxes", "labels", "scores"), detected().values(), strict=True))]
    reference = ReferenceOutputs(detected(), "hand-made", {}, {}, {}, runs)
    found = JUDGE.compare(finder, reference, Done(failure=None, arrays=detected(3.0)))
    assert found.status == MISMATCH and found.numbers["truth"] == "hand-made" and found.numbers["missed"] == 16


@pytest.mark.parametrize("lost_by", ["default", "perturbed0", "truth"])
def test_a_detection_that_a_run_of_the_framework_loses_is_not_stable(lost_by: str) -> None:
    finder = model("detection", ROLES)
    arrays = framework_runs({"truth": 0.0, "default": 0.0, "perturbed0": 0.0})
    arrays[f"{lost_by}:labels"] = np.concatenate([np.full((1, 2), -1), arrays[f"{lost_by}:labels"][1:]])
    fewer = {**detected(), "out1": arrays[f"{lost_by}:labels"]}
    reference = Done(failure=None, meta=FLOAT64, arrays=arrays)
    ran = JUDGE.runtime_reference(finder, Done(failure=None, arrays=detected()), reference)
    assert JUDGE.compare(finder, ran, Done(failure=None, arrays=fewer)).status == AGREE
    own = JUDGE.framework_reference(finder, reference)
    assert own is not None
    assert JUDGE.compare(finder, own, Done(failure=None, arrays=fewer)).status == AGREE
    assert JUDGE.compare(finder, own, Done(failure=None, arrays=detected(3.0))).status == MISMATCH


def test_without_perturbed_runs_no_detection_is_known_to_be_stable() -> None:
    finder = model("detection", ROLES)
    reference = Done(failure=None, meta=FLOAT64, arrays=framework_runs({"truth": 0.0, "default": 0.0}))
    ran = Done(failure=None, arrays=detected())
    for found in (JUDGE.framework_reference(finder, reference), JUDGE.runtime_reference(finder, ran, reference)):
        assert found is not None
        verdict = JUDGE.compare(finder, found, ran)
        assert verdict.reason == "no perturbed runs: which detections are stable is not known"


def framework_runs(kinds: Mapping[str, float]) -> dict[str, np.ndarray[Any, Any]]:
    """The arrays of a framework's reference: boxes, labels and scores of each kind of run, shifted by so much."""
    runs = {kind: zip(ROLES, detected(shift).values(), strict=True) for kind, shift in kinds.items()}
    return {f"{kind}:{row['name']}": values for kind, rows in runs.items() for row, values in rows}


def test_a_frameworks_reference_of_detections_has_no_noise_and_no_second_binding() -> None:
    finder = model("detection", ROLES)
    reference = Done(failure=None, meta=FLOAT64, arrays={"truth:boxes": detected()["out0"]})
    found = JUDGE.framework_reference(finder, reference)
    assert found == ReferenceOutputs(found.outputs if found else {}, "float64", {}, {}, {}, [])


def test_a_single_whole_number_that_differs_at_the_second_binding_is_wrong() -> None:
    whole = ReferenceOutputs({"y": drawn()}, "", {"y": Noise(9.0, 9.0, 1)}, {"y": np.arange(3)}, {})
    apart = Done(failure=None, arrays={"alt:out0": np.array([0, 1, 3])})
    assert JUDGE.dynamic(whole, {"inputs": []}, apart) == "error: y is off by 1.00e+00 at the second binding"


def test_the_strength_in_steps_is_by_the_table_of_the_test_and_without_roundings() -> None:
    truth = drawn()
    made = mutants(truth, bias_dropped=off_by(truth, 1e-4), bias_in_float16=off_by(truth, 1.0))
    found = JUDGE.strength_in_steps(expected(truth, NOISE), made, [None])
    assert "bias in float16" not in found.table and found.unchanged == ("argmax ties at ArgMax y",)
    assert found.table["bias dropped"]["site"] == "Gemm last"
    fine = Judge({"cap": 1e-6})
    strict = fine.strength_in_steps(expected(truth, NOISE), made, [None])
    assert found.missed == ("bias dropped",) and strict.missed == () and strict.limits is fine.table


def test_by_distance_a_mutant_has_to_lead_the_run_away_from_its_quantised_graph() -> None:
    truth = drawn()
    graph, ran = off_by(truth, 1e-2), off_by(truth, 1e-2)
    made = mutants(truth, residual_branch_zeroed=off_by(truth, 5e-2), bias_dropped=off_by(truth, 5e-3))
    found = JUDGE.strength_by_distance(expected(truth, NOISE), done(out0=graph), done(out0=ran), made)
    assert found.table["residual branch zeroed"]["ratio"] == pytest.approx(2.5, rel=1e-2), "five times, two permitted"
    assert found.missed == ("bias dropped",) and found.table["bias dropped"]["ratio"] == pytest.approx(0.25, rel=1e-2)
    assert found.unchanged == ("argmax ties at ArgMax y",)


def test_the_noise_of_rounding_every_result_counts_where_it_is_larger() -> None:
    truth, other = drawn(), drawn(3)
    plain = ReferenceOutputs({"y": truth, "z": other}, "file in float64", {}, {}, {})
    levels = {"out0": Noise(1e-6, 2e-6, 3), "out1": Noise(1e-3, 1e-3, 2)}
    rounded_file = ReferenceOutputs({"out0": truth, "out1": other}, "another file", levels, {}, {})
    emulated = done(fp32_y=off_by(truth, 1e-4), fp32_z=off_by(other, 1e-5), bf16_y=off_by(truth, 1e-1))
    found = JUDGE.with_single_rounding(rounded_file, plain, emulated)
    assert found.noise["out0"] == Noise(pytest.approx(1e-4), pytest.approx(1e-4), 4), "of rounding"
    assert found.noise["out1"] == Noise(1e-3, 1e-3, 3), "of perturbed inputs"
    assert found.outputs is rounded_file.outputs and found.origin == "another file"


def test_the_noise_of_sums_counts_where_it_is_larger() -> None:
    truth, other = drawn(), drawn(3)
    levels = {"y": Noise(1e-6, 2e-6, 1), "z": Noise(1e-1, 1e-1, 1)}
    plain = ReferenceOutputs({"y": truth, "z": other}, "file in float64", levels, {}, {})
    arrays = {
        "fp16-sums:y": off_by(truth, 1e-3),
        "fp16-sums:z": off_by(other, 1e-3),
        "bf16-sums:y": off_by(truth, 1e-2),
    }
    summed = Done(failure=None, arrays=arrays | {"bf16-sums:z": other, "fp16:y": off_by(truth, 0.5)})
    found = JUDGE.with_sums(plain, plain, summed, "fp16")
    assert found.noise["y"] == Noise(pytest.approx(1e-3), pytest.approx(1e-3), 2)
    assert (found.noise["z"].E, found.noise["z"].M) == (1e-1, 1e-1) and found.outputs is plain.outputs
    assert pytest.approx(1e-2) == JUDGE.with_sums(plain, plain, summed, "bf16").noise["y"].E
    rounded_file = ReferenceOutputs({"out0": other, "out1": truth}, "another file", {"out0": levels["y"]}, {}, {})
    found = JUDGE.with_sums(rounded_file, plain, summed, "fp16")
    assert found.noise["out0"] == Noise(pytest.approx(1e-3), pytest.approx(1e-3), 2), "measured on the emulated file"
    assert found.outputs is rounded_file.outputs and found.origin == "another file"


def test_every_draw_of_sums_is_noise() -> None:
    truth, chosen = drawn(), np.arange(8)
    other = np.where(chosen < 2, 7, chosen)
    arrays = {
        "fp16-sums:y": truth, "fp16-sums:i": chosen, "fp16-sums-1:y": off_by(truth, 1e-2), "fp16-sums-1:i": other,
        "bf16-sums:y": off_by(truth, 1e-1), "bf16-sums:i": chosen[::-1],
    }  # fmt: skip
    plain = ReferenceOutputs({"y": truth, "i": chosen}, "the file", {}, {}, {})
    found = JUDGE.with_sums(plain, plain, Done(failure=None, arrays=arrays), "fp16").noise
    assert pytest.approx(1e-2) == found["y"].E and found["i"].E == 0.25


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_an_emulation_overflows_where_one_of_its_values_is_no_number(value: float) -> None:
    numbers, broken, whole = drawn(), drawn(3), np.array([1, 2])
    broken.flat[-1] = value
    emulated = Done(
        failure=None,
        arrays={"fp16:y": numbers, "fp16:z": broken, "bf16:y": numbers, "bf16:z": whole, "fp32:y": numbers},
    )
    found = {name: JUDGE.overflows(emulated, name) for name in ("fp16", "bf16", "fp32")}
    assert found == {"fp16": True, "bf16": False, "fp32": False}


@pytest.mark.parametrize(("precision", "least"), [("bf16", 0.3), ("w16", 0.8)])
def test_errors_resemble_those_of_a_precision_by_their_direction(precision: str, least: float) -> None:
    truth = drawn()
    rounding = off_by(truth, 1e-2) - truth
    across = off_by(truth, 1e-2, seed=5) - truth
    across -= rounding * (across * rounding).sum() / (rounding**2).sum()
    across *= np.linalg.norm(rounding) / np.linalg.norm(across)
    emulated = Done(failure=None, arrays={f"{precision}:y": truth + rounding, "fp16:y": truth + across})
    plain = expected(truth, NOISE)
    for share, alike in ((least - 0.01, False), (least + 0.01, True)):
        error = share * rounding + np.sqrt(1 - share**2) * across
        assert JUDGE.resembles(plain, emulated, done(out0=truth + error), precision) is alike, share
