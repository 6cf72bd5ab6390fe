"""``--bench-all-boards``: which cells are divided, in which order they are computed, and what the one row says."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bench_plugin.domain.cell import Cell, Check
from bench_plugin.domain.outcome import Outcome, Stage, Status, Symptom, Unverified
from bench_plugin.domain.settings import Settings
from bench_plugin.pipeline.schedule import Need, Schedule
from bench_plugin.reach.boards.board import Board
from bench_plugin.reach.boards.leasing.candidates import candidates
from bench_plugin.session.all_boards import AllBoards
from bench_plugin.session.repro_command import repro_arguments
from tests.fixtures.test_deployed import compiled_project

CELL = Cell(Check.TIMING, "net", "fake", "x", 17, compiler="fakec", target="aarch64")


def described(*names: str, target: str = "aarch64", emulated: bool = False) -> dict[str, Board]:
    return {name: Board(name, target, "ssh", emulated=emulated) for name in names}


POOL = AllBoards({**described("pi4-1", "pi4-2"), **described("m3", target="cortex-m3")})


def right(median: float, board: str) -> Outcome:
    timing = {"compute": {"median": median}}
    numbers = {"E": 1e-7, "timing": timing, "mutants": {"many": {}}}
    return Outcome(
        Status.SUPPORTED, verified=True, numbers=numbers, placement={"board": {"name": board, "kind": "ssh"}}
    )


def wrong() -> Outcome:
    return Outcome(Status.MISMATCH, Stage.COMPARE, Symptom.MISMATCH, "out0: E 0.5", numbers={"E": 0.5})


def joined(first: Outcome, second: Outcome) -> Outcome:
    one, other = POOL.divided(CELL)
    return POOL.joined(CELL, {one: first, other: second})


def test_a_cell_for_a_target_is_divided_among_its_boards() -> None:
    assert [cell.target for cell in POOL.divided(CELL)] == ["pi4-1@aarch64", "pi4-2@aarch64"]
    assert POOL.divided(replace(CELL, target="pi4-1")) == (), "one board was asked for"
    assert POOL.divided(replace(CELL, target="local")) == ()
    assert AllBoards({}).divided(CELL) == (), "the option was not given"


def test_emulators_stand_in_for_hardware_only() -> None:
    emulators = described("qemu-1", "qemu-2", emulated=True)
    assert AllBoards({**described("pi4-1"), **emulators}).boards("aarch64") == ("pi4-1",)
    assert AllBoards(emulators).boards("aarch64") == ("qemu-1", "qemu-2")


def test_a_board_that_is_called_like_its_target_is_one_of_its_pool() -> None:
    pool = AllBoards(described("aarch64", "pi4-2"))
    parts = pool.divided(CELL)
    assert [candidates(pool.described, part.target) for part in parts] == [("aarch64",), ("pi4-2",)]
    assert candidates(pool.described, "aarch64") == ("aarch64", "pi4-2"), "its name alone stands for every board"
    outcome = pool.joined(CELL, {parts[0]: right(0.003, "aarch64"), parts[1]: right(0.001, "pi4-2")})
    assert set(outcome.numbers["boards"]) == {"aarch64", "pi4-2"}


def test_a_board_that_is_called_like_another_target_is_itself_among_its_pool() -> None:
    boards = {**described("aarch64", "pi5-1", target="pi5"), **described("pi4-1")}
    (first, _) = AllBoards(boards).divided(replace(CELL, target="pi5"))
    assert candidates(boards, first.target) == ("aarch64",)


def test_the_boards_are_computed_first_and_the_cell_reports_once() -> None:
    computed: list[str] = []

    def compute(cell: Cell, others: Mapping[Cell, Outcome]) -> Outcome:
        if POOL.divided(cell):
            return POOL.joined(cell, others)
        computed.append(cell.target)
        return right(0.002 if cell.target == "pi4-2@aarch64" else 0.001, cell.target)

    def need(cell: Cell) -> Need:
        return POOL.need(cell) if POOL.divided(cell) else Need(cell.target, 0)

    schedule = Schedule(compute, need, jobs=2, memory=1)
    try:
        schedule.plan([CELL])
        outcome = schedule.future(CELL).result(timeout=30)
    finally:
        schedule.close()
    assert sorted(computed) == ["pi4-1@aarch64", "pi4-2@aarch64"] and outcome.status is Status.SUPPORTED
    assert set(outcome.numbers["boards"]) == {"pi4-1", "pi4-2"}


def test_the_row_has_the_figures_of_every_board_and_the_slowest_one_decides_thresholds() -> None:
    outcome = joined(right(0.001, "pi4-1"), right(0.003, "pi4-2"))
    assert outcome.verified and outcome.numbers["timing"]["compute"]["median"] == 0.003
    boards = outcome.numbers["boards"]
    assert boards["pi4-1"]["timing"]["compute"]["median"] == 0.001
    assert boards["pi4-1"]["board"] == {"name": "pi4-1", "kind": "ssh"}
    assert "mutants" not in boards["pi4-1"] and "mutants" in outcome.numbers


def test_a_board_that_is_wrong_is_the_verdict_and_is_named() -> None:
    outcome = joined(right(0.001, "pi4-1"), wrong())
    assert outcome.status is Status.MISMATCH and not outcome.verified
    assert outcome.reason == "board pi4-2 (2 of 2 boards ran it): out0: E 0.5"
    assert {name: one["status"] for name, one in outcome.numbers["boards"].items()} == {
        "pi4-1": "supported", "pi4-2": "mismatch",
    }  # fmt: skip


@pytest.mark.parametrize("other", [wrong, lambda: right(0.001, "pi4-2")])
def test_a_board_that_cannot_run_the_artefact_decides_nothing(other: Any) -> None:
    not_run = Outcome(Status.UNVERIFIED, reason="not run: no runtime", unverified=Unverified.NOT_RUN)
    outcome = joined(not_run, other())
    assert outcome.status is other().status
    assert outcome.numbers["boards"]["pi4-1"]["reason"] == "not run: no runtime"
    assert joined(not_run, not_run).unverified is Unverified.NOT_RUN


def test_a_board_that_was_lost_is_no_result_of_the_pool() -> None:
    lost = Outcome(Status.BOARD_LOST, Stage.RUN, Symptom.BOARD_LOST, "no answer for 5 s")
    outcome = joined(right(0.001, "pi4-1"), lost)
    assert outcome.status is Status.BOARD_LOST and not outcome.reusable


def test_the_command_that_repeats_the_cell_has_the_option() -> None:
    settings = Settings(Path(), all_boards=True)
    assert "--bench-all-boards" in repro_arguments(CELL, "test.py::test", settings)
    assert "--bench-all-boards" not in repro_arguments(replace(CELL, target="local"), "test.py::test", settings)


def test_without_a_pool_the_option_changes_nothing(tmp_path: Path, tools_python: Path) -> None:
    tests = "import pytest\n\n@pytest.mark.bench(targets=['local', 'aarch64'])\ndef test_it(deployed):\n    pass\n"
    project = compiled_project(tmp_path, tools_python, tests)
    project.model("net")
    finished = project.run("--compilers=fakec", "--precisions=fp32", "--bench-all-boards")
    found = {row["cell"].get("target", "local"): row for row in finished.rows if row["kind"] == "cell"}
    assert finished.code == 0 and found["local"]["status"] == "supported", finished.text
    assert found["local"]["numbers"]["boards"] is None
