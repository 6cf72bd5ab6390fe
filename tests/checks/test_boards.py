"""Compiled models on boards, through the whole plugin: agents of a machine of the tests' own run the artefacts."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from bench_plugin.agent.link.identity import machine_id
from tests.fake import far
from tests.fake.far import WIRED
from tests.project import Finished, Project

FAKE = Path(__file__).parent.parent / "fake"
TESTS = """
import pytest

@pytest.mark.bench(check="equivalence")
def test_equivalence(bench_cell):
    bench_cell.verify()
"""


@pytest.fixture
def boards(project: Project) -> Project:
    """A project with a model and a compiler whose runtime can be shipped to boards of target aarch64."""
    text = (
        (FAKE / "compiler.py")
        .read_text()
        .replace('"on_request": True,', '"on_request": True,\n    "boards": ["aarch64"],')
    )
    compiler = project.write("compiler.py", text)
    adapters = f'adapters = ["{FAKE / "framework.py"}", "{compiler}"]'
    project.write("bench.toml", f'{adapters}\ntoolchains = ["toolchains"]\nenvironment = ["FAKE_*"]\n')
    project.write("test_models.py", TESTS)
    project.model("net", seconds=20)
    far.know_wired(project)
    return project


def describe(project: Project, name: str, more: str = "") -> Path:
    """Describe a board; returns the file of its socket."""
    project.write(f"boards/{name}.toml", f'target = "aarch64"\n{WIRED.format(socket=f"{name}.socket")}{more}')
    return project.folder / "boards" / f"{name}.socket"


@pytest.fixture
def pi(boards: Project, tools_python: Path) -> Iterator[Project]:
    """A project with a board that answers."""
    with far.machine(tools_python, describe(boards, "pi"), boards.folder / "far"):
        yield boards


def run(project: Project, *arguments: str, fault: str = "none", target: str = "pi") -> Finished:
    return project.run(
        "--compilers=fakec",
        "--precisions=fp32",
        f"--targets={target}",
        f"--bench-option=fakec.fault={fault}",
        *arguments,
    )


def the_rows(finished: Finished) -> list[Mapping[str, Any]]:
    rows = [row for row in finished.rows if row["kind"] == "cell"]
    assert rows, finished.text
    return rows


def test_a_cell_runs_on_its_board_and_proves_it(pi: Project) -> None:
    finished = run(pi)
    [row] = the_rows(finished)
    assert finished.code == 0 and row["status"] == "supported", finished.text
    place = row["placement"]["board"]
    assert (place["name"], place["kind"], place["machine_id"]) == ("pi", "wired", machine_id())
    assert place["machine"] and len(place["agent"]) == 64
    assert row["placement"]["compiled_by"] != row["placement"]["run_by"]
    assert row["numbers"]["E"] < row["numbers"]["tolerance_E"] and "timing" not in row["placement"]


def test_what_ran_on_a_board_is_never_stored(pi: Project) -> None:
    assert "run" not in the_rows(run(pi))[0]["stages_cached"]
    [again] = the_rows(run(pi))
    assert "compile" in again["stages_cached"] and "run" not in again["stages_cached"]
    assert again["placement"]["board"]["name"] == "pi"


def test_a_target_means_any_of_its_boards(pi: Project) -> None:
    [row] = the_rows(run(pi, target="aarch64"))
    assert (row["status"], row["placement"]["board"]["name"]) == ("supported", "pi")
    assert row["cell"]["target"] == "aarch64"


def test_an_emulator_stands_in_for_hardware_only_and_says_so(pi: Project, tools_python: Path) -> None:
    socket = describe(pi, "a-copy", "emulated = true\n")
    with far.machine(tools_python, socket, pi.folder / "copy"):
        assert the_rows(run(pi, target="aarch64"))[0]["placement"]["board"]["name"] == "pi"
        [row] = the_rows(run(pi, target="a-copy"))
    assert row["placement"]["board"]["name"] == "a-copy" and row["placement"]["timing"] == "emulated"


def test_a_cell_that_ran_on_this_machine_is_an_error(pi: Project) -> None:
    path = pi.folder / "boards/pi.toml"
    path.write_text(path.read_text().replace("same_machine = true\n", ""))
    [row] = the_rows(run(pi))
    assert (row["status"], row["symptom"]) == ("ERROR", "harness")
    assert "the agent of board pi runs on this machine" in row["reason"] and "same_machine = true" in row["reason"]


def test_another_machine_needs_no_such_word(boards: Project, tools_python: Path) -> None:
    socket = describe(boards, "pi")
    path = boards.folder / "boards/pi.toml"
    path.write_text(path.read_text().replace("same_machine = true\n", ""))
    with far.machine(tools_python, socket, boards.folder / "far", "0123456789abcdef"):
        [row] = the_rows(run(boards))
    assert (row["status"], row["placement"]["board"]["machine_id"]) == ("supported", "0123456789abcdef")


def test_a_lost_board_is_latched_and_what_was_computed_stays(pi: Project) -> None:
    pi.model("other", seconds=20)
    path = pi.folder / "boards/pi.toml"
    path.write_text(path.read_text() + f'restart = ["sh", "-c", "echo x >> {pi.folder}/restarted"]\nboot_seconds = 5\n')
    finished = run(pi, "-n0", fault="run-crash", target="pi")
    rows = {row["cell"]["model"]: row for row in the_rows(finished)}
    assert {row["status"] for row in rows.values()} == {"board-lost"}, finished.text
    assert {row["symptom"] for row in rows.values()} == {"board-lost"}
    assert all("board pi was lost: the wire was cut" in row["reason"] or row["reason"] == "the wire was cut"
               for row in rows.values())  # fmt: skip
    assert sum("board pi was lost: the wire was cut" in row["reason"] for row in rows.values()) == 1
    assert (pi.folder / "restarted").read_text() == "x\n", "restarted once, and the second cell was not tried"
    assert finished.code == 1 and "2 skipped" in finished.text
    assert "board-lost: 2 cells have no result, so the run is not green" in finished.text


def test_a_board_that_is_restarted_does_the_task(boards: Project, tools_python: Path) -> None:
    socket = describe(boards, "pi")
    start = shlex.join(far.command(tools_python, socket, boards.folder / "far"))
    script = boards.write("start.sh", f"setsid {start} > {boards.folder}/log 2>&1 & echo $! > {boards.folder}/pid\n")
    path = boards.folder / "boards/pi.toml"
    path.write_text(path.read_text() + f'restart = ["sh", "{script}"]\nboot_seconds = 30\n')
    try:
        finished = run(boards)
    finally:
        far.end(int((boards.folder / "pid").read_text()))
    [row] = the_rows(finished)
    assert finished.code == 0 and row["status"] == "supported", finished.text
    assert any("board pi was lost and tried again: nothing answers at the wire" in flag for flag in row["flags"])


def test_where_one_board_is_lost_another_goes_on(pi: Project) -> None:
    describe(pi, "dead")
    finished = run(pi, target="aarch64")
    [row] = the_rows(finished)
    assert (row["status"], row["placement"]["board"]["name"]) == ("supported", "pi")
    assert "board dead was lost: nothing answers at the wire" in finished.text and finished.code == 0


def test_a_lost_board_is_tried_again_by_the_next_run(boards: Project, tools_python: Path) -> None:
    socket = describe(boards, "pi")
    assert the_rows(run(boards))[0]["status"] == "board-lost"
    with far.machine(tools_python, socket, boards.folder / "far"):
        assert the_rows(run(boards, "--bench-resume"))[-1]["status"] == "supported"


WHY = {
    "programs = true": "it needs a board with an agent in Python, and the boards of pi run only compiled programs (pi)",
    'lacks = "wire not found; install wires"': "board pi: wire not found; install wires",
}


@pytest.mark.parametrize("key", WHY)
def test_why_an_artefact_is_not_run(boards: Project, key: str) -> None:
    describe(boards, "pi")
    path = boards.folder / "boards/pi.toml"
    path.write_text(path.read_text().replace('kind = "wired"', f'kind = "wired", {key}'))
    [row] = the_rows(run(boards))
    assert row["status"] == "unverified" and row["unverified"] == "not run"
    assert row["reason"] == f"not run: compiled, the artefact is for pi; {WHY[key]}"


def test_a_runtime_that_cannot_be_shipped_is_named(pi: Project) -> None:
    path = pi.folder / "compiler.py"
    path.write_text(path.read_text().replace('"boards": ["aarch64"],', ""))
    [row] = the_rows(run(pi))
    assert row["reason"].endswith("; the runtime of fakec cannot be shipped to aarch64")


def test_a_stage_may_hold_a_board_as_long_as_its_file_says(pi: Project) -> None:
    path = pi.folder / "boards/pi.toml"
    path.write_text(path.read_text() + "lease_seconds = 0.3\n")
    [row] = the_rows(run(pi, fault="run-pause"))
    assert (row["status"], row["symptom"]) == ("ERROR", "timeout")
    assert "lease_seconds" in row["reason"]


def test_keys_of_rows_tell_descriptions_apart(pi: Project) -> None:
    key = the_rows(run(pi))[0]["key"]
    path = pi.folder / "boards/pi.toml"
    path.write_text(path.read_text() + "boot_seconds = 61\n")
    assert the_rows(run(pi))[0]["key"] != key
