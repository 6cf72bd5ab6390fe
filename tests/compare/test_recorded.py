"""What launches recorded becomes series over the whole timing, power figures, and one machine."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from bench_plugin.compare.times.recorded import recorded, summary

if TYPE_CHECKING:
    from bench_plugin.compare.times.recorded import Launch

TIMES = np.arange(0, 31, 0.05)
PHASES = [
    {"name": "idle", "begin": 0.0, "end": 10.0},
    {"name": "full", "begin": 10.0, "end": 30.0, "inferences": 2000, "busy": 19.9},
]
METER = {"unit": "W", "source": "power1_input", "place": "VDD_IN", "hz": 100.0}


def launch(began: float, series: dict[str, Any], said: dict[str, Any] | None = None) -> Launch:
    """A launch whose series are (about, times, values) by name."""
    arrays: dict[str, Any] = {}
    for name, (_, times, values) in series.items():
        arrays |= {f"series:{name}": np.asarray(values, float), f"series:{name}.time": np.asarray(times, float)}
    about = {name: one[0] for name, one in series.items()}
    return {"began": began, "series": about, "machine": {"cpu": "x"}, "phases": PHASES, **(said or {})}, arrays


def test_series_of_launches_are_one_series_in_the_time_of_the_first() -> None:
    memory = {"unit": "B", "source": "statm"}
    first = launch(100.0, {"memory.rss": (memory, [0.0, 1.0], [10, 20])})
    second = launch(160.0, {"memory.rss": (memory, [0.5], [60])})
    found = recorded([first, second])
    assert found.arrays["memory.rss"].tolist() == [10, 20, 60]
    assert found.arrays["memory.rss.time"].tolist() == [0.0, 1.0, 60.5]
    assert found.about["memory.rss"] == {
        **memory, "samples": 3, "mean": 30.0, "median": 20.0, "min": 10.0, "max": 60.0,
        "sd": pytest.approx(26.46, abs=0.01),
    }  # fmt: skip


def test_a_sensor_that_went_away_in_a_launch_says_so_in_the_row() -> None:
    ended = {"unit": "degC", "ended": {"at": 1.5, "why": "gone"}}
    series = {"t": ({"unit": "degC"}, [0.0], [40])}
    found = recorded([launch(0.0, series), launch(60.0, {"t": (ended, [], [])})])
    assert found.about["t"]["ended"] == {"at": 1.5, "why": "gone", "launches": 1}
    assert found.about["t"]["samples"] == 1


def test_a_series_without_a_value_has_no_array() -> None:
    found = recorded([launch(0.0, {"t": ({"unit": "degC"}, [], [])})])
    assert found.arrays == {} and found.about == {"t": {"unit": "degC", "samples": 0}}
    assert summary(np.zeros(0)) == {"samples": 0}
    assert summary(np.array([1.0])) == {"samples": 1, "mean": 1.0, "median": 1.0, "min": 1.0, "max": 1.0}
    assert summary(np.array([1.0, 3.0]))["sd"] == pytest.approx(2**0.5)


def test_launches_that_do_not_say_when_they_began_are_at_time_0() -> None:
    known, arrays = launch(0.0, {"t": ({"unit": "degC"}, [0.0, 1.0], [40, 41])})
    unknown = {key: value for key, value in known.items() if key != "began"}
    assert recorded([(unknown, arrays)]).arrays["t.time"].tolist() == [0.0, 1.0]
    later = launch(5.0, {"t": ({"unit": "degC"}, [0.5], [42])})
    assert recorded([(unknown, arrays), later]).arrays["t.time"].tolist() == [0.0, 1.0, 5.5]


def test_a_machine_of_which_launches_say_nothing_has_no_key() -> None:
    assert recorded([({"series": {}}, {}), ({"series": {}}, {})]).numbers["machine"] == {}
    assert recorded([launch(0.0, {})]).numbers["machine"] == {"cpu": "x"}, "and it did not throttle"


def test_launches_that_recorded_nothing_are_left_out() -> None:
    nothing = recorded([({}, {})])
    assert (nothing.arrays, nothing.about, nothing.numbers) == ({}, {}, {})
    failed = launch(0.0, {}, {"sampler": {"failed": "no process"}})
    assert recorded([({}, {}), failed]).numbers["sampler"] == {
        "late": 0,
        "failed": {"launches": 1, "first": "no process"},
    }


def test_power_has_idle_and_full_with_the_energy_of_an_inference_and_says_that_base_was_not_taken() -> None:
    watts = np.where(TIMES < 10, 3.0, 8.0)
    temperature = ({"unit": "degC"}, TIMES, np.full(len(TIMES), 50.0))
    found = recorded([launch(0.0, {"power.board": (METER, TIMES, watts), "t": temperature})]).numbers["power"][
        "power.board"
    ]
    assert (found["place"], found["hz"]) == ("VDD_IN", 100.0)
    assert found["idle"]["mean"] == pytest.approx(3.0, abs=0.05) and found["full"]["mean"] == 8.0
    assert found["energy_per_inference"]["with_idle"] == pytest.approx(0.08)
    assert found["energy_per_inference"]["above_idle"] == pytest.approx(0.05, abs=1e-3)
    assert found["absent"] == {"base": "it was not taken"}


def test_power_at_a_temperature_that_rises_has_no_figure() -> None:
    hot = ({"unit": "degC"}, TIMES, 40 + TIMES)
    found = recorded([launch(0.0, {"power.board": (METER, TIMES, TIMES), "t": hot})]).numbers["power"]["power.board"]
    assert "full" not in found and found["absent"]["full"].startswith("t changed by +7.5")


def test_a_later_launch_gives_the_figure_that_an_earlier_one_could_not() -> None:
    short = launch(0.0, {"power.board": (METER, TIMES[:20], TIMES[:20])})
    whole = launch(60.0, {"power.board": (METER, TIMES, np.full(len(TIMES), 6.0))})
    found = recorded([short, whole]).numbers["power"]["power.board"]
    assert found["full"]["mean"] == 6.0 and set(found["absent"]) == {"base"}


def test_without_a_meter_there_is_no_power() -> None:
    assert "power" not in recorded([launch(0.0, {"memory.rss": ({"unit": "B"}, [0.0], [1])})]).numbers


def test_clocks_seen_and_throttling_are_over_all_launches() -> None:
    first = launch(0.0, {}, {"machine": {"cpu": "x", "clock_seen_hz": [2e9, 3e9]}, "throttled": {"core": 1}})
    second = launch(9.0, {}, {"machine": {"cpu": "x", "clock_seen_hz": [1e9, 2e9]}, "throttled": {"core": 2}})
    found = recorded([first, second]).numbers["machine"]
    assert found == {"cpu": "x", "clock_seen_hz": [1e9, 3e9], "throttled": {"core": 3}}


def test_the_cost_of_sampling_is_the_largest_of_a_launch() -> None:
    costs = [{"hz": 20.0, "late": 1, "share": 0.01}, {"hz": 20.0, "late": 0, "share": 0.02}]
    found = recorded([launch(0.0, {}, {"sampler": cost}) for cost in costs]).numbers["sampler"]
    assert found == {"hz": 20.0, "late": 1, "share": 0.02}


def test_power_of_which_every_figure_is_known_has_none_that_is_absent() -> None:
    phases = [{"name": "base", "begin": 0.0, "end": 10.0}, *PHASES]
    meter = {**METER, "accuracy": "1 %"}
    board = launch(0.0, {"power.board": (meter, TIMES, np.full(len(TIMES), 6.0))}, {"phases": phases})
    found = recorded([board]).numbers["power"]["power.board"]
    assert set(found) == {"place", "hz", "accuracy", "base", "idle", "full", "energy_per_inference"}
    assert found["accuracy"] == "1 %" and found["base"]["mean"] == 6.0


def without(*keys: str) -> list[dict[str, Any]]:
    """The phases, that of inferences without some of what it says."""
    return [PHASES[0], {key: value for key, value in PHASES[1].items() if key not in keys}]


@pytest.mark.parametrize(
    ("said", "why"),
    [
        ({"phases": without("inferences")}, "the inferences of the window were not counted"),
        ({"phases": without("busy")}, "inferences fill 0% of the window; an energy of one needs 95%"),
        ({"phases": PHASES[:1]}, "it was not taken"),
    ],
)
def test_an_energy_that_is_absent_says_why(said: dict[str, Any], why: str) -> None:
    board = launch(0.0, {"power.board": (METER, TIMES, np.full(len(TIMES), 6.0))}, said)
    found = recorded([board]).numbers["power"]["power.board"]
    assert "energy_per_inference" not in found and found["absent"]["energy_per_inference"] == why


def test_power_of_a_launch_without_phases_was_not_taken() -> None:
    said, arrays = launch(0.0, {"power.board": (METER, TIMES, np.full(len(TIMES), 6.0))})
    board = {key: value for key, value in said.items() if key != "phases"}
    assert recorded([(board, arrays)]).numbers["power"]["power.board"]["absent"] == dict.fromkeys(
        ("base", "idle", "full", "energy_per_inference"), "it was not taken"
    )


def test_a_meter_that_gave_no_reading_has_no_figure() -> None:
    said, _ = launch(0.0, {"power.board": (METER, TIMES, np.zeros(len(TIMES)))})
    absent = recorded([(said, {})]).numbers["power"]["power.board"]["absent"]
    assert absent == {"base": "it was not taken"} | dict.fromkeys(
        ("idle", "full", "energy_per_inference"), "the meter gave no reading"
    )
