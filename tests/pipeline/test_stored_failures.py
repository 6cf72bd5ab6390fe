"""Which failures a later run believes, and what counts where an agent's past decides: one project, run three times."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.project import Finished, Project, make_project

CARRIED = "harness: state carried over"
# The faults that last as long as the file of the first run.
PASSING = {
    "disk": ("no-space", ("ERROR", "export", "exception")),
    "memory": ("bad-alloc", ("ERROR", "export", "out-of-memory")),
    "program": ("absent", ("unsupported", "export", "unsupported")),
    "executable": ("no-program", ("Not provided", None, None)),
    "network": ("network", ("ERROR", "export", "invalid-model")),
}
LASTING = {
    "crash": "export:segfault", "raises": "export:exception", "own": "export:own", "differs": "export:differs",
    "killed": "export:kill",
}  # fmt: skip
USED = {
    "carried": "export:used-only", "b_leaky": "export:used-wrong", "import_leaky": "run:used-wrong",
    "wrong": "export:wrong-weights",
}  # fmt: skip


class Runs(NamedTuple):
    """A cold run, a warm one without the faults that pass, and one with ``--bench-refresh`` of a few models."""

    cold: Finished
    warm: Finished
    refreshed: Finished


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory, tools_python: Path) -> Runs:
    folder = tmp_path_factory.mktemp("stored")
    project: Project = make_project(folder, tools_python)
    flag = project.write("trouble", "")
    project.model("a_first")  # so that the agent has served a call before any other model
    for name, (fault, _) in PASSING.items():
        project.model(name, f"export:{fault}?{flag}")
    project.model("optional", f"again:no-space?{flag}")
    for name, fault in {**LASTING, **USED}.items():
        project.model(name, fault)
    cold = project.run()
    flag.unlink()
    warm = project.run()
    return Runs(cold, warm, project.run("--bench-refresh", "-k", "export", models="crash,own"))


def row(finished: Finished, model: str, check: str = "export") -> Mapping[str, Any]:
    return finished.cells(check)[model]


@pytest.mark.parametrize("name", PASSING)
def test_what_speaks_of_the_environment_is_gone_with_its_cause(runs: Runs, name: str) -> None:
    assert runs.cold.verdict(name) == PASSING[name][1]
    assert "confirmed" not in row(runs.cold, name)["retry"]
    assert runs.warm.verdict(name) == ("supported", None, None)


def test_what_an_optional_call_says_of_the_environment_is_not_stored_either(runs: Runs) -> None:
    assert "No space left on device" in row(runs.cold, "optional", "import")["numbers"]["dynamic"]
    assert row(runs.warm, "optional", "import")["numbers"]["dynamic"] == "preserved"


def test_an_exception_that_the_adapter_declares_is_stored(runs: Runs) -> None:
    assert runs.cold.verdict("own") == runs.warm.verdict("own") == ("ERROR", "export", "exception")
    assert row(runs.warm, "own")["stages_cached"] == ["export"]
    assert "confirmed" not in row(runs.warm, "own")["retry"]


@pytest.mark.parametrize(("name", "symptom"), [("crash", "crash"), ("raises", "exception")])
def test_what_came_twice_in_fresh_processes_is_confirmed_and_stored(runs: Runs, name: str, symptom: str) -> None:
    assert runs.cold.verdict(name) == runs.warm.verdict(name) == ("ERROR", "export", symptom)
    assert row(runs.cold, name)["retry"]["confirmed"] is True
    assert (row(runs.cold, name)["stages_cached"], row(runs.warm, name)["stages_cached"]) == ([], ["export"])
    assert row(runs.warm, name)["retry"] == {"confirmed": True}
    assert "it came twice in fresh processes and is stored" in runs.warm.text


def test_two_failures_of_different_signatures_are_not_stored(runs: Runs) -> None:
    assert row(runs.cold, "differs")["retry"]["again"] == "export: exception"
    assert row(runs.warm, "differs")["stages_cached"] == []


def test_a_signal_from_outside_is_not_confirmed(runs: Runs) -> None:
    assert runs.cold.verdict("killed") == ("ERROR", "export", "crash")
    assert "confirmed" not in row(runs.cold, "killed")["retry"]
    assert row(runs.warm, "killed")["stages_cached"] == []


def test_refresh_makes_a_confirmed_failure_anew(runs: Runs) -> None:
    for name in ("crash", "own"):
        assert row(runs.refreshed, name)["stages_cached"] == []
    assert row(runs.refreshed, "crash")["retry"]["confirmed"] is True


def test_a_failure_of_a_used_agent_alone_is_visible_in_the_cell(runs: Runs) -> None:
    found = row(runs.cold, "carried")
    assert (found["status"], found["flags"]) == ("supported", [CARRIED])
    assert found["retry"]["first"].startswith("export: exception: left over") and found["retry"]["symptom"] == "harness"
    assert row(runs.cold, "a_first")["flags"] == []


@pytest.mark.parametrize(("name", "check"), [("b_leaky", "export"), ("import_leaky", "import")])
def test_a_mismatch_of_a_used_agent_is_repeated_in_a_fresh_one(runs: Runs, name: str, check: str) -> None:
    found = row(runs.cold, name, check)
    assert (found["status"], found["flags"]) == ("supported", [CARRIED])
    assert found["retry"]["mismatch"] is True and found["retry"]["first"].startswith("compare: mismatch: ")
    again = row(runs.warm, name, check)
    assert (again["status"], again["flags"], again["retry"]) == ("supported", [], {}), "the fresh result was stored"
    assert {"export"} <= set(again["stages_cached"])


def test_a_mismatch_that_comes_again_counts_and_is_repeated_once(runs: Runs) -> None:
    found = row(runs.cold, "wrong")
    assert (found["status"], found["flags"]) == ("mismatch", [])
    assert (found["retry"]["mismatch"], found["retry"]["fresh"]) == (True, "mismatch")
    again = row(runs.warm, "wrong")
    assert (again["status"], again["retry"]) == ("mismatch", {})
    assert {"export", "reference", "run"} <= set(again["stages_cached"])


def test_the_run_says_how_many_of_both_there_were(runs: Runs) -> None:
    cells = [one for one in runs.cold.rows if one["kind"] == "cell"]
    carried = sum(CARRIED in one["flags"] for one in cells)
    repeated = sum("mismatch" in one["retry"] for one in cells)
    assert (carried >= 3, repeated) == (True, 3)
    assert f"{CARRIED} in {carried} cells: what fresh processes gave counts" in runs.cold.text
    assert f"mismatches of used processes, repeated in fresh ones: {repeated}" in runs.cold.text
    assert CARRIED not in runs.warm.text and "mismatches of used processes" not in runs.warm.text


def test_a_mismatch_of_an_entry_that_a_used_process_made_is_repeated(project: Project) -> None:
    project.model("a_first")
    project.model("b_leaky", "export:used-wrong")
    strict = (project.folder / "test_models.py").read_text()
    loose = "@pytest.mark.tolerance(floor=0.5, cap=0.5)\n@pytest.mark.bench"
    project.write("test_models.py", strict.replace("@pytest.mark.bench", loose))
    assert row(project.run("-k", "export"), "b_leaky")["status"] != "mismatch"
    project.write("test_models.py", strict)
    found = row(project.run("-k", "export"), "b_leaky")
    assert (found["status"], found["flags"]) == ("supported", [CARRIED])
    assert found["retry"]["mismatch"] is True


def test_an_agent_that_does_not_start_is_a_fault_of_the_harness(project: Project) -> None:
    project.model("a")
    python = project.write("python", "#!/bin/sh\nexit 3\n")
    python.chmod(0o755)
    project.write("toolchains/fake.toml", f'title = "Fake"\npython = "{python}"\nmemory_gb = 0.5\n')
    finished = project.run("-k", "export")
    assert finished.verdict("a") == ("ERROR", "export", "harness")
    assert "the agent ended with exit code 3" in row(finished, "a")["reason"]
