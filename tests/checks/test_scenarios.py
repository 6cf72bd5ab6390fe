"""MLPerf's scenarios through the whole plugin: LoadGen drives the fake compiler's model in agents of their own."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

import pytest

from bench_plugin.domain.settings import SCENARIOS
from tests.checks.test_timing import run, the_row, timed
from tests.project import Project

__all__ = ["timed"]  # a fixture
ALL = f"--bench-scenarios={','.join(SCENARIOS)}"


def scenarios(row: Mapping[str, Any]) -> Mapping[str, Any]:
    found: Mapping[str, Any] = row["numbers"]["scenarios"]
    return found


def test_every_scenario_has_its_figure_and_its_null_cost_beside_it(timed: Project) -> None:
    finished = run(timed, ALL)
    row = the_row(finished)
    assert finished.code == 0 and row["status"] == "supported", finished.text
    found = scenarios(row)
    assert list(found) == list(SCENARIOS)
    for name, said in found.items():
        assert said["note"] == "not an MLPerf result" and said["status"] == "measured", said
        assert said["result"] in ("VALID", "INVALID") and said["queries"] > 0 and said["loadgen"] == "6.0.17"
        assert said["outputs"] == "those of the timed launches"
        assert said["null"]["result"] in ("VALID", "INVALID"), name
    assert 0 < found["single-stream"]["null"]["mean"] < found["single-stream"]["mean"]
    assert found["offline"]["null"]["per_second"] > found["offline"]["per_second"] > 0
    assert found["multi-stream"]["settings"]["samples_per_query"] == 8
    assert found["multi-stream"]["samples"] == 8 * found["multi-stream"]["queries"]
    server = found["server"]
    assert server["settings"] == {**server["null"]["settings"]}, "null queries come at the same rate"
    assert ALL in row["repro"]
    page = (timed.folder / "reports/timing.md").read_text()
    assert "Scenarios" in page and "not an MLPerf result" in page and "samples/s" in page


# The limit for the start of the runtime, which is a minute, is shortened.
SHORT = """
from bench_plugin.checks.performance import scenarios

scenarios.START_SECONDS = 6.0
"""


def test_a_model_that_never_answers_ends_at_the_limit_of_the_scenario(timed: Project) -> None:
    timed.write("conftest.py", SHORT)
    began = time.monotonic()
    row = the_row(run(timed, "--bench-scenarios=single-stream", fault="scenario-hang"))
    assert time.monotonic() - began < 300, "the model sleeps for 600 s"
    said = scenarios(row)["single-stream"]
    assert (said["status"], said["symptom"]) == ("ERROR", "timeout") and said["note"] == "not an MLPerf result"
    assert "8 s" in said["reason"], said  # 6 s, and ten times the 0.2 s of the scenario
    assert row["status"] == "supported" and row["numbers"]["timing"]["compute"]["median"] > 0


def test_a_cell_of_batches_is_unsupported_in_scenarios_and_its_times_stay(timed: Project) -> None:
    row = the_row(run(timed, "--bench-scenarios=offline", "--bench-batches=4"))
    assert row["status"] == "supported" and row["numbers"]["timing"]["compute"]["median"] > 0
    said = scenarios(row)["offline"]
    assert said["status"] == "unsupported" and "batch 4" in said["reason"] and said["note"] == "not an MLPerf result"


def test_without_the_option_no_row_has_scenarios(timed: Project) -> None:
    assert the_row(run(timed))["numbers"]["scenarios"] is None


@pytest.mark.parametrize("text", ["single-steam", ""])
def test_an_unknown_scenario_is_an_error_of_usage(timed: Project, text: str) -> None:
    finished = run(timed, f"--bench-scenarios={text}")
    assert finished.code == 4 and "--bench-scenarios" in finished.text
