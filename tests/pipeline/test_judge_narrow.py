"""The judge of layers in float16 and bfloat16, on hand-made results: noise of a layer, channels, mutants."""

from __future__ import annotations

import numpy as np
import pytest

from bench_plugin.compare.measures import scale_of
from bench_plugin.compare.table import DEFAULTS
from bench_plugin.compare.verdict import AGREE, MISMATCH, UNVERIFIED, Comparison
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


def test_the_first_inputs_are_judged_in_units_of_all() -> None:
    """Two inputs that are nearly alike, of four: in their own units their roundings would be a mismatch."""
    exact = 2 + EXACT
    exact[1] = exact[0] + 0.01 * EXACT[1]
    rounded = exact + 0.003 * RNG.uniform(-1, 1, EXACT.shape)
    both = layers(rounded, exact, rounded)
    whole, first = both.judged("conv", rounded), both.judged("conv", rounded[:2])
    assert (whole.status, first.status) == (AGREE, AGREE)
    assert pytest.approx(whole.numbers["E"], rel=0.1) == first.numbers["E"]


@pytest.mark.parametrize(("factor", "status"), [(1.004, AGREE), (1.012, MISMATCH)])
def test_a_channel_of_many_is_judged_by_itself(factor: float, status: str) -> None:
    found = layers(one_channel(factor)).compared()
    assert found.status == status
    if status == MISMATCH:
        assert "conv: channel 7 of 32 is " in found.reason and "times as far off as it may be" in found.reason


def cut(factor: float, place: tuple[slice, ...]) -> Comparison:
    """The verdict on a part of the results, of which channel 7 is ``factor`` times what it should be."""
    return layers(one_channel(factor)[place], EXACT[place], ROUNDED[place]).compared()


def test_a_channel_that_repeats_a_few_numbers_is_not() -> None:
    """The error of one number that is repeated everywhere is chance, however many numbers there are."""
    rng = np.random.default_rng(1)
    spread = (1 + 1e-15 * rng.standard_normal(EXACT.shape)) * np.ones(EXACT.shape)  # as float64 itself loses
    exact, actual, emulated = EXACT.copy(), ROUNDED.copy(), ROUNDED.copy()
    exact[:, :, 7] = EXACT[:, :, 7, :1, :1]
    actual[:, :, 7] = exact[:, :, 7] * 1.003
    emulated[:, :, 7] = exact[:, :, 7] * 1.0001
    found = layers(actual * spread, exact, emulated * spread)
    assert found.compared().status == AGREE and np.isinf(found.channels["conv"][7])
    assert np.isfinite(np.delete(found.channels["conv"], 7)).all()


def test_a_channel_needs_64_numbers_to_be_judged_by_itself() -> None:
    assert cut(1.012, np.s_[:, :, :, :3, :3]).status == AGREE, "4 x 3 x 3 numbers"
    assert cut(1.02, np.s_[:, :, :, :4, :4]).status == MISMATCH, "4 x 4 x 4 numbers"


def test_results_with_another_meaning_of_their_axes_have_no_channels() -> None:
    samples = np.s_[:, 0]  # [N, C, ...] without the axis of the batch
    assert layers(one_channel(1.012)[samples], EXACT[samples], ROUNDED[samples]).compared().status == AGREE
    batch = [np.moveaxis(values, 3, 1)[:, :, 0] for values in (one_channel(1.012), EXACT, ROUNDED)]  # 6 rows at once
    assert layers(*batch).compared().status == AGREE


def test_a_channel_of_a_sequence_is_judged_like_one_of_an_image() -> None:
    line = [values.reshape(4, 1, 32, 36) for values in (one_channel(1.012), EXACT, ROUNDED)]
    assert layers(*line).compared().status == MISMATCH


def test_a_channel_is_judged_over_the_inputs_that_it_has() -> None:
    """The noise of a channel is a norm over all inputs: over half of them it is smaller by a factor of sqrt(2)."""
    made = layers()
    off = one_channel(1.0)
    off[:, :, 7] = EXACT[:, :, 7] + 3.5 * (ROUNDED - EXACT)[:, :, 7]
    whole, half = made.judged("conv", off), made.judged("conv", off[:2])
    assert whole.status == half.status == AGREE
    assert whole.numbers["needed"] == pytest.approx(3.5 / DEFAULTS.of_layers().narrow_channel)
    assert half.numbers["needed"] == pytest.approx(whole.numbers["needed"], rel=0.2)


def test_what_a_layer_needs_is_the_worse_one_of_the_whole_and_its_channels() -> None:
    right = layers().judged("conv", ROUNDED).numbers
    assert right["needed"] == pytest.approx(0.5, rel=0.05), "one noise, of two that are permitted"
    wrong = layers().judged("conv", one_channel(1.012))
    assert wrong.status == MISMATCH and wrong.numbers["needed"] > 1 and wrong.numbers["E"] < right["tolerance_E"]
    assert f"{wrong.numbers['needed']:.2g} times as far off" in wrong.reason


def test_a_channel_whose_noise_is_nothing_may_be_off_by_the_floor() -> None:
    still = ROUNDED.copy()
    still[:, :, 7] = EXACT[:, :, 7]
    floor = DEFAULTS.of_layers().row("bf16").floor
    for factor, status in ((1 + 0.9 * floor, AGREE), (1 + 1.1 * floor, MISMATCH)):
        off = still.copy()
        off[:, :, 7] *= factor
        assert layers(off, EXACT, still).judged("conv", off).status == status, factor


def test_a_channel_of_zeros_has_no_size_to_be_judged_by_and_is_so_with_its_layer() -> None:
    zeros = np.ones(EXACT.shape)
    zeros[:, :, 7] = 0
    for value, status in ((0.0, AGREE), (1e-4, AGREE), (0.1, MISMATCH)):
        other = ROUNDED * zeros
        other[:, :, 7] = value
        found = layers(other, EXACT * zeros, ROUNDED * zeros).compared()
        assert found.status == status and "channel" not in found.reason, value


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


def several(precision: str = "bf16", **actual: np.ndarray) -> NarrowLayers:
    """Layers with the same results in float64 and the same noise; ``actual`` is what the tool made of each."""
    made = narrow_layers(dict.fromkeys(actual, EXACT), actual, precision, DEFAULTS.of_layers())
    emulated = {f"{precision}__out{place}": ROUNDED for place in range(len(actual))}
    return made.with_noise(done(**emulated), precision)


def test_each_layer_has_a_row_and_the_verdict_says_by_what_it_was_judged() -> None:
    found = several(a=ROUNDED, b=EXACT).compared()
    assert (found.status, found.reason) == (AGREE, "")
    numbers = found.numbers
    assert (numbers["layers"], numbers["layer_inputs"], numbers["layers_wrong"]) == (2, 4, 0)
    assert numbers["truth"] == "file in float64, layer by layer" and numbers["whole_by"] == "layers in place"
    assert numbers["needed"] == pytest.approx(0.5), "the worst of both: as far off as the noise, of twice as much"
    assert [row["name"] for row in numbers["per_layer"]] == ["a", "b"]
    first, second = numbers["per_layer"]
    assert first["E"] == pytest.approx(first["noise_E"]) and first["tolerance_E"] == 2 * first["noise_E"]
    assert second["E"] < 1e-7, "float32 alone"


def test_of_many_wrong_layers_three_are_named_and_all_are_counted() -> None:
    found = several(**dict.fromkeys("abcd", ROUNDED * 1.1), right=ROUNDED).compared()
    assert found.status == MISMATCH and found.numbers["layers_wrong"] == 4 and found.numbers["layers"] == 5
    assert [part[:10] for part in found.reason.split("; ")] == ["layer a: E", "layer b: E", "layer c: E"]


def test_the_emulation_has_to_have_every_layer() -> None:
    made = narrow_layers({"a": EXACT, "b": EXACT}, {"a": EXACT, "b": EXACT}, "bf16", DEFAULTS.of_layers())
    with pytest.raises(ValueError, match="shorter"):
        made.with_noise(done(bf16__out0=ROUNDED), "bf16")


def test_the_row_of_the_precision_counts() -> None:
    """Between the cap of float32 and that of the layers a precision of 16 bits has room, as far as its noise goes."""
    off = EXACT + 0.06 * RNG.standard_normal(EXACT.shape)
    made = narrow_layers({"conv": EXACT}, {"conv": off}, "bf16", DEFAULTS.of_layers())
    other = EXACT + 0.06 * RNG.standard_normal(EXACT.shape)
    assert made.with_noise(done(bf16__out0=other), "bf16").compared().status == AGREE


def test_results_of_a_tool_are_compared_in_float32_and_integers_as_they_are() -> None:
    made = several(wide=ROUNDED, narrow=ROUNDED.astype(np.float16), whole=np.round(EXACT).astype(np.int32))
    assert {name: str(values.dtype) for name, values in made.actual.items()} == {
        "wide": "float32", "narrow": "float32", "whole": "int32",
    }  # fmt: skip


def test_nothing_that_is_missing_or_has_no_room_agrees() -> None:
    assert layers().compared().numbers["layers"] == 1
    none = narrow_layers({"conv": EXACT}, {}, "bf16", DEFAULTS.of_layers()).compared()
    assert none.status == MISMATCH and "0 layers where 1 are needed" in none.reason
    loud = layers(emulated=EXACT + 0.3 * RNG.standard_normal(EXACT.shape)).compared()
    assert (loud.status, loud.kind) == (UNVERIFIED, Unverified.ILL_CONDITIONED)
    assert loud.reason.startswith("layer conv: ill-conditioned: noise 3.") and loud.numbers["layers"] == 1
    empty = narrow_layers({}, {}, "bf16", DEFAULTS.of_layers()).compared()
    assert (empty.status, empty.kind, empty.reason) == (UNVERIFIED, Unverified.NO_REFERENCE, "no layer to compare")
    assert (empty.numbers["layers"], empty.numbers["layer_inputs"]) == (0, 0)


@pytest.mark.parametrize(
    ("exact", "actual", "reason"),
    [
        (1.0, 1.0, "no layer to compare"),
        (1.0, 1.15, "no layer to compare"),  # less than a fifth
        (2.0, 1.0, "layer conv: 0.5 of it is off, and it is the same for all inputs"),
        (4.0, 8.0, "layer conv: 1 of it is off, and it is the same for all inputs"),
        (0.0, 0.0, "no layer to compare"),
        (0.0, 0.1, "no layer to compare"),
        (0.0, -3.0, "layer conv: 3 of it is off, and it is the same for all inputs"),
    ],
)
def test_a_result_that_is_the_same_for_all_inputs_shows_no_more_than_that(
    exact: float, actual: float, reason: str
) -> None:
    shape = (4, 1, 8)
    found = layers(np.full(shape, actual), np.full(shape, exact), np.full(shape, exact)).compared()
    assert found.reason == reason and found.status == (MISMATCH if "off" in reason else UNVERIFIED)


def test_a_result_of_another_shape_is_a_mismatch_also_where_it_is_the_same_for_all_inputs() -> None:
    same = np.ones((4, 1, 8))
    found = layers(np.ones((4, 1, 9)), same, same).compared()
    assert found.status == MISMATCH and "shape" in found.reason


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


def test_what_changes_nothing_is_named_once_for_each_place() -> None:
    first = EXACT[:2]
    same = {f"input ignored at {place}__out0": first for place in "ab"} | {"bias dropped at c__out0": first}
    found, unchanged = layers().mutants(done(**same))
    assert not found and unchanged == ["input ignored at a", "input ignored at b"], "a bias of zeros is no branch"


def test_the_number_behind_a_mutant_is_that_of_its_layer() -> None:
    made = several(a=ROUNDED, b=ROUNDED)
    found, _ = made.mutants(done(**{"weights x1.01 at in:out0__out1": EXACT[:2] * 1.01}))
    assert list(found) == ["weights x1.01 at in:out0"] and found["weights x1.01 at in:out0"]["killed"]


def test_a_mistake_is_added_and_taken_away_once() -> None:
    """A mistake that is just noticed where it is added to what the tool gave is not where that is nearer to it."""
    effect = 1.5 * (ROUNDED - EXACT)
    found, _ = layers().mutants(done(**{"scale at c__out0": EXACT + effect}))
    assert not found["scale at c"]["killed"], "taken away, the run is half its noise from the truth"
    assert found["scale at c"]["ratio"] == pytest.approx(0.25, rel=0.05)


def test_a_layer_that_adds_many_terms_in_float16_has_room() -> None:
    rng = np.random.default_rng(3)
    summed = EXACT + 0.04 * rng.standard_normal(EXACT.shape)
    made = narrow_layers({"conv": EXACT}, {"conv": summed}, "fp16", DEFAULTS.of_layers())
    other = EXACT + 0.04 * rng.standard_normal(EXACT.shape)
    assert made.with_noise(done(**{"fp16-sums__out0": other}), "fp16-sums").compared().status == AGREE
    assert DEFAULTS.of_layers().row("fp16").cap == 0.5 > DEFAULTS.row("fp16").cap


@pytest.mark.parametrize(
    ("noise", "error", "kind"), [(0.2, 0.35, None), (0.2, 0.45, MISMATCH), (0.3, 0.2, Unverified.ILL_CONDITIONED)]
)
def test_a_layer_may_be_off_by_twice_its_noise_up_to_a_half(
    noise: float, error: float, kind: str | Unverified | None
) -> None:
    unit = scale_of(EXACT).rms
    emulated, wrong = (EXACT + size * unit * RNG.standard_normal(EXACT.shape) for size in (noise, error))
    found = layers(wrong, emulated=emulated).compared()
    assert (found.kind or found.status) == (kind or AGREE)


def test_of_branches_the_one_that_is_noticed_least_counts() -> None:
    first = EXACT[:2]
    off = {"one, input 1": 1.5, "one, input 2": 1.0002, "two, input 1": 1.2}
    made = {f"residual branch zeroed at {place}__out0": first * factor for place, factor in off.items()}
    made |= {f"input ignored at {place}__out0": first * factor for place, factor in (("x", 1.4), ("y at z", 1.3))}
    made |= {f"weights x1.01 at {place}__out0": first * factor for place, factor in (("a", 1.4), ("b", 1.3))}
    found, _ = layers().mutants(done(**made))
    faint = "residual branch zeroed at one, input 2"
    assert list(found) == [faint, "input ignored at y at z", "weights x1.01 at a", "weights x1.01 at b"]
    assert [name for name, row in found.items() if not row["killed"]] == [faint]
