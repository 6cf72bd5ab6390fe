"""What a timed cell records beside its times, through the whole plugin with real sensors and agents."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench_plugin.results.series import read
from tests.checks.test_boards import boards, describe
from tests.checks.test_timing import TESTS, run, the_row, timed
from tests.fake import far
from tests.project import Project

__all__ = ["boards", "timed"]  # fixtures


def test_a_timed_cell_has_series_of_its_process_the_machine_and_what_sampling_cost(timed: Project) -> None:
    row = the_row(run(timed))
    numbers, results = row["numbers"], timed.folder / "reports/results.jsonl"
    memory = numbers["series"]["memory.rss"]
    values, times = read(results, memory), read(results, memory, "times")
    assert memory["unit"] == "B" and memory["samples"] == len(values) == len(times) > 0
    assert values.min() > 2**20 and (times[1:] > times[:-1]).all()
    assert numbers["series"]["cpu"]["place"] == "process tree"
    assert numbers["machine"]["kernel"] and numbers["machine"]["cores"]
    assert numbers["sampler"]["hz"] == 20 and "failed" not in numbers["sampler"]
    assert numbers["power"] is None or "absent" in str(numbers["power"])
    page = (timed.folder / "reports/timing.md").read_text()
    assert "## Series over time" in page and "memory.rss" in page


def test_a_timed_cell_says_whether_bits_repeat_over_repeats_and_launches(timed: Project) -> None:
    found = the_row(run(timed))["numbers"]["determinism"]
    assert found["repeats"]["identical"] is True and found["repeats"]["compared"] > 0
    assert found["launches"]["identical"] is True and found["launches"]["compared"] >= 2
    assert found["tails"]["max_p50"] >= 1 and found["spread"]["range"] >= 0


def test_launches_with_other_bits_are_told_in_the_figures_of_determinism(timed: Project) -> None:
    timed.environment["FAKE_COUNTER"] = str(timed.folder / "counter")
    found = the_row(run(timed, fault="run-jitters"))["numbers"]["determinism"]
    assert found["launches"]["identical"] is False and len(found["launches"]["groups"]) > 1


@pytest.mark.parametrize(("fault", "same"), [("none", True), ("run-threads", False)])
def test_bits_of_one_thread_are_compared_with_those_of_several(timed: Project, fault: str, same: bool) -> None:
    row = the_row(run(timed, "--bench-threads=2", fault=fault))
    assert row["numbers"]["determinism"]["threads"]["identical"] is same
    launches = row["numbers"]["determinism"]["launches"]
    assert launches["identical"] is True, "launches with equal settings have equal bits"
    assert row["numbers"]["timing"]["launches"] == launches["compared"]


def test_with_one_thread_there_is_nothing_to_compare(timed: Project) -> None:
    assert "threads" not in the_row(run(timed, "--bench-threads=1"))["numbers"]["determinism"]


def test_the_meter_that_a_boards_description_names_is_a_series_of_its_cells(
    boards: Project, tools_python: Path
) -> None:
    meter = boards.write("power1_input", "5250000\n")
    sensor = f'\n[power]\nkind = "hwmon"\npath = "{meter}"\n'
    boards.write("test_models.py", TESTS)
    with far.machine(tools_python, describe(boards, "pi", sensor), boards.folder / "far"):
        row = the_row(run(boards, "--targets=pi"))
    found = row["numbers"]["series"]["power.board"]
    assert (found["unit"], found["mean"], found["source"]) == ("W", 5.25, str(meter))
    assert row["numbers"]["power"]["power.board"]["absent"]["full"] == "it was not taken", (
        "the smallest profile has none"
    )
