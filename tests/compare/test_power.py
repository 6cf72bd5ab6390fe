"""Power figures and the energy of an inference, from arrays made by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from bench_plugin.compare.times.power import (
    NoFigure,
    Window,
    check_steady,
    drift,
    energy,
    figure,
    per_inference,
    steady_part,
)

TIMES = np.arange(0, 30.01, 0.05)  # 20 readings in a second
WINDOW = Window(10.0, 20.0)


def test_a_figure_is_of_the_readings_in_its_window_alone() -> None:
    watts = np.where((TIMES >= 10) & (TIMES <= 20), 5.0, 99.0)
    watts[np.argmin(abs(TIMES - 12))] = 4.0
    watts[np.argmin(abs(TIMES - 13))] = 7.0
    found = figure(TIMES, watts, WINDOW)
    assert (found["min"], found["max"], found["readings"], found["seconds"]) == (4.0, 7.0, 201, 10.0)
    assert found["mean"] == pytest.approx((199 * 5 + 4 + 7) / 201)


def test_a_window_of_less_than_ten_seconds_has_no_figure() -> None:
    with pytest.raises(NoFigure, match=r"the window is 9\.9 s long; a figure needs 10 s"):
        figure(TIMES, TIMES, Window(10.0, 19.9))


def test_a_window_that_its_clock_rounded_to_a_microsecond_less_has_a_figure() -> None:
    watts = np.full(len(TIMES), 5.0)
    assert figure(TIMES, watts, Window(0.0, 9.999999))["mean"] == 5.0
    warming = {"t": (TIMES, np.minimum(TIMES, 9.0))}
    assert steady_part(warming, Window(0.0, 19.999998)) == Window(9.999999, 19.999998), "as a half has one"


def test_less_than_a_hundred_readings_have_no_figure() -> None:
    slow = np.arange(0, 30.01, 0.125)
    with pytest.raises(NoFigure, match=r"81 readings in 10\.0 s; a figure needs 100"):
        figure(slow, slow, WINDOW)
    assert figure(slow, slow, Window(10.0, 22.5))["readings"] == 101
    assert figure(slow, slow, Window(10.0, 22.4))["readings"] == 100


def test_a_meter_that_ended_in_the_window_has_no_figure() -> None:
    there = TIMES[TIMES < 18]
    with pytest.raises(NoFigure, match=r"the meter has no reading for 2\.1 s of the window's 10\.0 s"):
        figure(there, there, WINDOW)


def test_a_meter_that_was_silent_in_the_middle_has_no_figure() -> None:
    there = TIMES[(TIMES < 14) | (TIMES > 15.5)]
    with pytest.raises(NoFigure, match="no reading for 1.6 s"):
        figure(there, there, WINDOW)


def test_the_temperature_must_be_steady() -> None:
    rising = {"temperature.soc": (TIMES, 40 + TIMES * 0.2)}
    assert drift(*rising["temperature.soc"], WINDOW) == pytest.approx(1.5, abs=0.01)
    with pytest.raises(NoFigure, match=r"temperature\.soc changed by \+1\.5 degC over the window; at most 1 is steady"):
        check_steady(rising, WINDOW)
    check_steady({"temperature.soc": (TIMES, 40 + TIMES * 0.1)}, WINDOW)
    check_steady({"temperature.soc": (TIMES, 40 + np.sin(TIMES * 10) * 5)}, WINDOW)  # it swings, and does not drift
    check_steady({"temperature.soc": (TIMES, np.where(TIMES < 15, 40.0, 41.0))}, WINDOW)  # by one degree: steady
    missing = "^no reading of the temperature at the beginning or at the end of the window$"
    with pytest.raises(NoFigure, match=missing):
        drift(TIMES[TIMES < 12], TIMES[TIMES < 12], WINDOW)


def test_a_window_that_warms_up_first_is_cut_to_its_steady_part() -> None:
    whole = Window(0.0, 30.0)

    def warming(until: float) -> dict[str, Any]:
        return {"t": (TIMES, np.minimum(TIMES, until) * 2)}

    assert steady_part(warming(0.1), whole) == whole
    assert steady_part(warming(14.0), whole) == Window(15.0, 30.0)
    assert steady_part(warming(19.0), whole) == Window(20.0, 30.0)
    with pytest.raises(NoFigure, match=r"t changed by \+15\.0 degC"):
        steady_part(warming(30.0), whole)
    short = Window(15.0, 27.0)
    assert steady_part(warming(16.9), short) == Window(17.0, 27.0), "no part is shorter than ten seconds"
    assert steady_part({}, short) == short
    odd = Window(0.1, 28.7)
    assert figure(TIMES, TIMES, steady_part(warming(18.0), odd))["seconds"] == pytest.approx(10.0)


def test_energy_is_the_integral_with_the_power_at_the_ends_interpolated() -> None:
    times = np.arange(0, 31.0)
    assert energy(times, np.full(31, 5.0), Window(10.5, 20.5)) == pytest.approx(50.0)
    assert energy(times, 2 * times, Window(10.5, 20.5)) == pytest.approx(20.5**2 - 10.5**2)


def test_energy_of_an_inference_is_with_idle_and_without() -> None:
    watts = np.full(len(TIMES), 8.0)
    found = per_inference(TIMES, watts, WINDOW, inferences=1000, busy=9.8, idle=3.0)
    assert found == pytest.approx({"with_idle": 0.08, "above_idle": 0.05, "inferences": 1000})
    unknown = per_inference(TIMES, watts, WINDOW, inferences=1000, busy=9.8, idle=None)
    assert set(unknown) == {"with_idle", "inferences"}, "idle power that is not known is not zero"


@pytest.mark.parametrize(("inferences", "busy"), [(1, 10.0), (1000, 9.5)], ids=["a single one", "just busy enough"])
def test_inferences_that_just_fill_their_window_have_an_energy(inferences: int, busy: float) -> None:
    found = per_inference(TIMES, np.full(len(TIMES), 8.0), WINDOW, inferences=inferences, busy=busy, idle=None)
    assert found == pytest.approx({"with_idle": 80.0 / inferences, "inferences": inferences})


def test_a_window_with_pauses_has_no_energy_of_an_inference() -> None:
    watts = np.full(len(TIMES), 8.0)
    with pytest.raises(NoFigure, match="inferences fill 94% of the window; an energy of one needs 95%"):
        per_inference(TIMES, watts, WINDOW, inferences=1000, busy=9.4, idle=3.0)
    with pytest.raises(NoFigure, match="^no inference in the window$"):
        per_inference(TIMES, watts, WINDOW, inferences=0, busy=10.0, idle=3.0)
    with pytest.raises(NoFigure, match="the meter has no reading"):
        per_inference(TIMES[:300], watts[:300], WINDOW, inferences=10, busy=10.0, idle=3.0)
