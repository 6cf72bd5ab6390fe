"""The judge by approximation, on hand-made finished stages: signal to noise, and the mutants that it would notice."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from bench_plugin.compare.strength import FAR, Strength
from bench_plugin.compare.table import DEFAULTS, Table
from bench_plugin.pipeline.judging.judge import ReferenceOutputs
from bench_plugin.pipeline.judging.judge_noise import noisy, signal_to_noise, strength_by_noise
from bench_plugin.pipeline.stages import Done

Array = np.ndarray[Any, Any]


def done(**arrays: Array) -> Done:
    return Done(failure=None, arrays={name.replace("_", ":"): values for name, values in arrays.items()})


def test_signal_to_noise_is_by_output_and_broken_ones_have_none() -> None:
    truth = np.array([[3.0, 4.0]])
    expected = {"y": truth, "same": truth, "nan": truth, "shape": truth, "labels": np.array([1]), "last": truth}
    run = {
        "out0": truth + np.array([[0.0, 0.5]]), "out1": truth, "out2": truth * np.nan, "out3": truth[:, :1],
        "out4": np.array([2]), "out5": truth + np.array([[0.0, 5.0]]),
    }  # fmt: skip
    found = signal_to_noise(expected, run)
    assert found == {
        "y": pytest.approx(20.0), "same": None, "nan": -np.inf, "shape": -np.inf, "labels": 0.0,
        "last": pytest.approx(0),
    }  # fmt: skip


def test_a_mutant_is_noticed_by_approximation_where_its_noise_is_beyond_the_permitted() -> None:
    truth = {"y": np.tile([3.0, 4.0], (2, 1)), "n": np.arange(2), "z": np.tile([3.0, 4.0], (2, 1))}
    quiet, loud = (truth["y"] + np.array([[0.0, off]]) for off in (0.25, 1.0))  # 26.0 and 14.0 dB
    faults = {
        "a": {"y": quiet, "n": np.arange(2) + 1, "z": loud}, "b": {"y": quiet}, "c": {"y": truth["y"]},
        "d": {"y": loud[:, :1]}, "e": {"y": loud, "z": quiet}, "f": {"y": loud},
    }  # fmt: skip
    found = noisy(truth, faults, 20.0)
    assert {name: row["killed"] for name, row in found.items()} == {"a": True, "b": False, "e": True, "f": True}
    assert found["a"]["ratio"] == pytest.approx(2.0) == found["e"]["ratio"]  # half of the signal where a tenth may be
    assert found["b"]["ratio"] == pytest.approx(0.5)
    assert not noisy(truth, {"b": {"y": quiet}}, 20 * np.log10(20.0))["b"]["killed"]


@pytest.mark.parametrize("wrong", [np.nan, np.inf, 0.0])
def test_a_mutant_that_gives_no_number_or_nothing_is_noticed_by_approximation(wrong: float) -> None:
    truth = {"y": np.ones((2, 4))}
    faults = {"m": {"y": np.full((2, 4), wrong)}}  # zeros have a ratio of signal to noise of 0 dB
    assert noisy(truth, faults, 20.0)["m"]["killed"]
    assert noisy(truth, faults, 20.0)["m"]["ratio"] == (pytest.approx(10.0) if wrong == 0 else FAR)


def test_a_mutant_without_any_signal_or_noise_is_not_noticed_by_approximation() -> None:
    found = noisy({"y": np.zeros((2, 2))}, {"m": {"y": np.ones((2, 2))}}, 20.0)
    assert found == {"m": {"killed": False, "ratio": 0.0}}


def by_noise(
    error: Array, effects: Mapping[str, Array], least: float, table: Table = DEFAULTS, own: Array | None = None
) -> Strength:
    """The strength of a run by approximation, whose outputs are ``error`` off, for mutants that add ``effects``.

    Our own quantisation is ``own`` off, where it is given.
    """
    truth = np.tile([[1.0, -1.0, 1.0, -1.0], [-1.0, 1.0, 1.0, 1.0]], (4, 1))
    arrays = {"original:out0": truth[:4]} | {f"{name}:out0": truth[:4] + effect for name, effect in effects.items()}
    sites = [{"name": name, "site": f"node {index}"} for index, name in enumerate(effects)]
    still = [{"name": "input ignored", "site": "mask"}]
    meta = {"mutate": {"samples": 4, "mutants": sites, "unchanged": still}}
    plain = ReferenceOutputs({"y": truth}, "file in float64", {}, {}, {})
    mutants = Done(failure=None, arrays=arrays, meta=meta)
    runs = [done(out0=truth + one) for one in (error, own) if one is not None]
    return strength_by_noise(plain, runs, mutants, least, [], table)


def test_by_approximation_mutants_are_added_to_the_run_and_the_roundings_left_out() -> None:
    noise = np.tile([1e-2, -1e-2], (8, 2))  # 40 dB
    noise[4:] = 100.0  # of inputs that the mutants did not run on
    effects = {
        "bias dropped": np.full((4, 4), 0.3), "weights x1.01": noise[:4] * 1.5, "bias in float16": noise[:4],
        "residual branch zeroed": np.full((4, 4), 1e-4),
    }  # fmt: skip
    found = by_noise(noise, effects, 30.0)
    assert set(found.table) == {"mean output", "rows permuted", *effects} - {"bias in float16"}
    assert found.missed == ("weights x1.01", "residual branch zeroed") and found.share == pytest.approx(3 / 5)
    assert "residual branch zeroed at node 3" in found.reason, "a part of the structure that no number shows"
    assert found.unchanged == ("input ignored at mask",) and found.table["weights x1.01"]["site"] == "node 1"
    both = by_noise(noise, {"weights x1.01": -3 * noise[:4]}, 36.0)  # the run has a third of the opposite mistake
    assert both.table["weights x1.01"]["killed"], "by either sign"
    assert not by_noise(noise, {"weights x1.01": -2 * noise[:4]}, 36.0).table["weights x1.01"]["killed"]


def test_by_approximation_a_run_that_is_wrong_itself_notices_no_more_than_a_right_one() -> None:
    wrong, right = np.full((8, 4), 0.09), np.tile([1e-2, -1e-2], (8, 2))
    effects = {"weights x1.01": np.tile([0.05, -0.05], (4, 2))}
    assert by_noise(wrong, effects, 20.0).table["weights x1.01"]["killed"], "0.09 off, where 0.1 may be"
    for error, own in ((wrong, right), (right, wrong)):
        assert not by_noise(error, effects, 20.0, own=own).table["weights x1.01"]["killed"]


def test_by_approximation_less_than_half_of_the_mutants_prove_nothing() -> None:
    small = {f"{name}": np.full((4, 4), 1e-4) for name in ("bias dropped", "weights x1.01", "leaky relu 0.02")}
    found = by_noise(np.full((8, 4), 1e-3), small, 30.0)
    assert found.share == pytest.approx(2 / 5) and "notices 2 of 5 mutants" in found.reason
    assert not by_noise(np.full((8, 4), 1e-3), small, 30.0, replace(DEFAULTS, sensitive=0.3)).reason


def test_by_approximation_mutants_are_compared_where_the_choice_is_the_same() -> None:
    index = np.arange(40).reshape(4, 10)
    truth = {"index": index, "boxes": np.cos(index[..., None] + np.arange(4.0))}
    moved = index.copy()
    moved[:, 0] += 1
    arrays = {"original:index": index, "original:boxes": truth["boxes"], "input ignored:index": moved,
              "input ignored:boxes": np.cos(moved[..., None] + np.arange(4.0))}  # fmt: skip
    meta = {"mutate": {"samples": 4, "mutants": [{"name": "input ignored", "site": "x"}], "unchanged": []}}
    plain = ReferenceOutputs(truth, "file in float64", {}, {}, {})
    ran = done(out0=index, out1=truth["boxes"] + 1e-3)
    for chosen, missed in (([], ()), (["index"], ("input ignored",))):
        found = strength_by_noise(plain, [ran], Done(failure=None, arrays=arrays, meta=meta), 30.0, chosen, DEFAULTS)
        assert found.missed == missed
