"""The judge of layers in float16 and bfloat16, on hand-made results: noise of a layer, channels, mutants."""

from __future__ import annotations

import numpy as np
import pytest

from bench_plugin.compare.table import DEFAULTS
from bench_plugin.compare.verdict import AGREE, MISMATCH, UNVERIFIED
from bench_plugin.domain.outcome import Unverified
from bench_plugin.pipeline.judging.judge_narrow import NarrowLayers, narrow_layers
from bench_plugin.pipeline.stages import Done

RNG = np.random.default_rng(0)
EXACT = RNG.standard_normal((4, 1, 32, 6, 6))  # 144 numbers of each of 32 channels
ROUNDED = EXACT * (1 + 0.003 * RNG.uniform(-1, 1, EXACT.shape))


def done(**arrays: np.ndarray) -> Done:
    return Done(failure=None, arrays={name.replace("__", ":"): values for name, values in arrays.items()})


def layers(actual: np.ndarray = ROUNDED, exact: np.ndarray = EXACT, emulated: np.ndarray = ROUNDED) -> NarrowLayers:
    made = narrow_layers({"conv": exact}, {"conv": actual}, "bf16", DEFAULTS.of_layers())
    return made.with_noise(done(bf16__out0=emulated), "bf16")


def one_channel(factor: float) -> np.ndarray:
    values = ROUNDED.copy()
    values[:, :, 7] *= factor
    return values


def test_a_layer_is_right_within_its_own_noise_and_wrong_beyond() -> None:
    noise = layers().noise["conv"].E
    assert layers().compared().status == AGREE
    assert layers(EXACT + 1.5 * (ROUNDED - EXACT)).compared().status == AGREE
    wrong = layers(EXACT + 2.5 * (ROUNDED - EXACT)).compared()
    assert wrong.status == MISMATCH and wrong.reason.startswith("layer conv: E ")
    assert wrong.numbers["layers_wrong"] == 1 and wrong.numbers["per_layer"][0]["noise_E"] == noise


@pytest.mark.parametrize(("factor", "status"), [(1.004, AGREE), (1.012, MISMATCH)])
def test_a_channel_of_many_is_judged_by_itself(factor: float, status: str) -> None:
    found = layers(one_channel(factor)).compared()
    assert found.status == status
    if status == MISMATCH:
        assert "conv: channel 7 of 32 is " in found.reason and "times as far off as it may be" in found.reason


def test_a_channel_of_few_numbers_is_not() -> None:
    few = np.s_[:, :, :, :3, :3]
    assert layers(one_channel(1.012)[few], EXACT[few], ROUNDED[few]).compared().status == AGREE


def test_a_channel_that_is_nearly_always_zero_is_not() -> None:
    rare = np.ones(EXACT.shape)
    rare[:, :, 7] = 0
    rare[:2, :, 7, :2, :2] = 1  # eight of 144 numbers
    found = layers(one_channel(1.012) * rare, EXACT * rare, ROUNDED * rare)
    assert found.compared().status == AGREE and np.isinf(found.channels["conv"][7])
    assert np.isfinite(found.channels["conv"][:7]).all()


def test_more_noise_is_the_larger_one_of_both() -> None:
    off = layers(one_channel(1.012))
    assert off.with_noise(done(**{"bf16-sums__out0": one_channel(1.01)}), "bf16-sums").compared().status == AGREE
    assert off.with_noise(done(**{"bf16-sums__out0": EXACT}), "bf16-sums").compared().status == MISMATCH


def test_nothing_that_is_missing_or_has_no_room_agrees() -> None:
    assert layers().compared().numbers["layers"] == 1
    none = narrow_layers({"conv": EXACT}, {}, "bf16", DEFAULTS.of_layers()).compared()
    assert none.status == MISMATCH and "0 layers where 1 are needed" in none.reason
    loud = layers(emulated=EXACT + 0.3 * RNG.standard_normal(EXACT.shape)).compared()
    assert (loud.status, loud.kind) == (UNVERIFIED, Unverified.ILL_CONDITIONED)
    same = np.ones((4, 1, 8))
    constant = layers(same, same, same).compared()
    assert constant.status == UNVERIFIED and constant.reason == "no layer to compare"
    other = layers(same * 2, same, same).compared()
    assert other.status == MISMATCH and other.reason == "layer conv: 1 of it is off, and it is the same for all inputs"


def test_a_mutant_is_noticed_in_the_result_that_the_tool_gave() -> None:
    first = EXACT[:2]
    mutants = {"weights x1.01 at c": first * 1.01, "tiny at c": first * 1.0001, "result one step on at c": first + 1}
    found, unchanged = layers().mutants(
        done(**{f"{name}__out0": values for name, values in mutants.items()}, **{"input ignored at z__out0": first})
    )
    assert unchanged == ["input ignored at z"]
    assert {name: row["killed"] for name, row in found.items()} == {"weights x1.01 at c": True, "tiny at c": False}
    assert found["weights x1.01 at c"]["ratio"] > 1 > found["tiny at c"]["ratio"]
    wrong_already, _ = layers(ROUNDED * 1.01).mutants(done(**{"weights x1.01 at c__out0": first * 1.01}))
    assert not wrong_already["weights x1.01 at c"]["killed"], "taken away, the run is right"


def test_a_layer_that_adds_many_terms_in_float16_has_room() -> None:
    rng = np.random.default_rng(3)
    summed = EXACT + 0.04 * rng.standard_normal(EXACT.shape)
    made = narrow_layers({"conv": EXACT}, {"conv": summed}, "fp16", DEFAULTS.of_layers())
    other = EXACT + 0.04 * rng.standard_normal(EXACT.shape)
    assert made.with_noise(done(**{"fp16-sums__out0": other}), "fp16-sums").compared().status == AGREE
    assert DEFAULTS.of_layers().row("fp16").cap == 0.2 > DEFAULTS.row("fp16").cap


def test_of_branches_the_one_that_is_noticed_least_counts() -> None:
    first = EXACT[:2]
    off = {"one, input 1": 1.5, "one, input 2": 1.0002, "two, input 1": 1.2}
    made = {f"residual branch zeroed at {place}__out0": first * factor for place, factor in off.items()}
    found, _ = layers().mutants(done(**made))
    assert list(found) == ["residual branch zeroed at one, input 2"] and not found[next(iter(found))]["killed"]
