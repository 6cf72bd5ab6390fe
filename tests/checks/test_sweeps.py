"""Sweeps of timed cells through the whole plugin: batch, threads, streams and modes, each combination a row."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.checks.test_boards import boards, describe
from tests.checks.test_timing import TESTS, timed
from tests.fake import far
from tests.project import Finished, Project

__all__ = ["boards", "timed"]  # fixtures


def run(project: Project, *arguments: str, fault: str = "none") -> Finished:
    named = ["--compilers=fakec", f"--bench-option=fakec.fault={fault}", "--bench-profile=smoke", "--precisions=fp32"]
    return project.run(*named, *arguments)


def by_axes(finished: Finished, *axes: str, kind: str = "cell") -> dict[tuple[Any, ...], Mapping[str, Any]]:
    rows = [row for row in finished.rows if row["kind"] == kind]
    assert rows, finished.text
    return {tuple(row["cell"].get(axis) for axis in axes): row for row in rows}


def test_each_combination_of_a_sweep_is_a_row_and_the_usual_one_is_as_without_a_sweep(timed: Project) -> None:
    finished = run(timed, "--bench-batches=1,5", "--bench-streams=1,2", "--bench-threads=2")
    rows = by_axes(finished, "batch", "streams")
    assert set(rows) == {(None, None), (5, None), (None, 2), (5, 2)} and finished.code == 0, finished.text
    assert {row["status"] for row in rows.values()} == {"supported"}, "8 samples, the last batch is filled"
    assert len({row["key"] for row in rows.values()}) == 4
    for (batch, streams), row in rows.items():
        timing = row["numbers"]["timing"]
        assert timing["throughput"]["clients"] == (streams or 1) and timing["throughput"]["kind"] == "closed loop"
        assert row["cell"]["threads"] == timing["conditions"]["threads"] == row["placement"]["threads"] == 2
        assert timing["inputs"] * (batch or 1) >= 64 and timing["inputs"] >= (streams or 1)
        assert ("system" in timing) is (streams is None), "the host's requests are those of one client"
        said = [f"--bench-batches={batch}"] * bool(batch) + [f"--bench-streams={streams}"] * bool(streams)
        assert [one for one in row["repro"] if one.startswith(("--bench-batches", "--bench-streams"))] == said
    alone, five = rows[None, None]["numbers"]["timing"], rows[5, None]["numbers"]["timing"]
    rate = 5 / five["compute"]["mean"]
    assert 0.3 * rate < five["throughput"]["per_second"] < 1.5 * rate, "samples per second, not calls"
    assert (alone["inputs"], five["inputs"]) == (64, 13)


@pytest.mark.parametrize(("fault", "same"), [("none", True), ("run-positions", False)])
def test_bits_of_a_sample_are_compared_at_two_positions_of_its_batch(timed: Project, fault: str, same: bool) -> None:
    rows = by_axes(run(timed, "--bench-batches=1,4", "--bench-threads=1", fault=fault), "batch")
    row = rows[4,]
    assert row["status"] == "supported", row["reason"]
    said = row["numbers"]["determinism"]["positions"]
    assert said["identical"] is same and said["compared"] == 8
    assert said.get("differ") == (None if same else 4), "of each batch the one that was first, and the one that is"
    assert row["numbers"]["determinism"]["launches"]["identical"], "at one position the bits repeat"
    assert "positions" not in rows[None,]["numbers"]["determinism"], "alone a sample has one position"


def test_outputs_of_a_batch_are_compared(timed: Project) -> None:
    row = by_axes(run(timed, "--bench-batches=5", fault="run-wrong"), "batch")[5,]
    assert row["status"] == "mismatch" and row["numbers"]["timing"]["compute"]["median"] > 0


@pytest.mark.nightly
def test_onnxruntime_computes_batches_and_answers_streams(timed: Project) -> None:
    """A real runtime: the artefact is one file for every batch, and eight samples cost less than eight calls."""
    arguments = ["--compilers=onnxruntime", "--bench-profile=smoke", "--precisions=fp32", "--bench-batches=1,8"]
    rows = by_axes(timed.run(*arguments, "--bench-streams=1,2"), "batch", "streams")
    assert {row["status"] for row in rows.values()} == {"supported"} and len(rows) == 4
    assert len({row["numbers"]["timing"]["artefact"] for row in rows.values()}) == 1
    times = {place: row["numbers"]["timing"]["compute"]["min"] for place, row in rows.items()}
    assert times[8, None] < 8 * times[None, None]


def test_a_model_without_a_symbolic_batch_and_a_runtime_of_one_call_at_a_time_say_why_not(timed: Project) -> None:
    path = timed.model("fixed", seconds=20)
    path.write_text(path.read_text().replace('shape = ["batch", 8]', "shape = [1, 8]").replace("batch = [1, 3]", ""))
    compiler = (Path(__file__).parent.parent / "fake/compiler.py").read_text().replace('"concurrent": True,', "")
    timed.write("compiler.py", compiler)
    text = (timed.folder / "bench.toml").read_text()
    timed.write("bench.toml", text.replace(text.partition('", "')[2].partition('"')[0], "compiler.py"))
    batches = timed.run("--compilers=fakec", "--bench-batches=4", "--collect-only", models="fixed").text
    assert "Not provided: batch 4: fixed declares x [1, 8], so that it is exported for this batch alone" in batches
    assert "the first dimension of every input must be the symbol 'batch'" in batches, "what would be right"
    streams = timed.run("--compilers=fakec", "--bench-streams=2", "--collect-only", models="net").text
    assert "unsupported: 2 streams: the adapter of fakec does not declare that its runtime answers calls" in streams


def test_lists_are_for_timed_cells_alone_and_a_test_may_ask_for_its_own_sweep(timed: Project) -> None:
    own = 'import pytest\n\n@pytest.mark.bench(check="timing", batches=[1, 8], streams=2)\n'
    other = TESTS.replace('"timing"', '"equivalence"').replace("test_timing", "test_equivalence")
    timed.write("test_models.py", f"{TESTS}{other}{own}def test_own(bench_cell):\n    bench_cell.verify()\n")
    text = run(timed, "--bench-threads=1,2", "--collect-only", "-q").text
    found = [
        line.split("::")[1].replace("net-fake-fakeout-opset17-fakec", "") for line in text.splitlines() if "[" in line
    ]
    assert found == [
        "test_timing[-threads1]", "test_timing[-threads2]", "test_equivalence[]",
        "test_own[-threads1-streams2]", "test_own[-threads2-streams2]",
        "test_own[-batch8-threads1-streams2]", "test_own[-batch8-threads2-streams2]",
    ]  # fmt: skip


def test_a_batch_beyond_the_memory_of_a_stage_is_skipped_with_both_figures(timed: Project) -> None:
    finished = run(timed, "--bench-batches=40000000")
    row = by_axes(finished, "batch")[40000000,]
    assert (row["status"], row["unverified"], row["result"]) == ("unverified", "not run", "skipped")
    assert "batch 40000000: its inputs alone take 4,882.8 MiB" in row["reason"], row["reason"]
    assert "the limit of a stage is 1,024.0 MiB" in row["reason"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--bench-batches=0"], "batches: 0 is not a positive number"),
        (["--bench-streams=two"], "--bench-streams: 'two' is not a list of whole numbers"),
        (["--bench-modes=fast"], "--bench-modes: target local has no modes: no board of it is described"),
    ],
)
def test_what_cannot_be_swept_is_a_usage_error(timed: Project, arguments: list[str], message: str) -> None:
    finished = run(timed, *arguments, "--collect-only")
    assert finished.code == 4 and message in finished.text


def modes_of(project: Project, name: str) -> str:
    """The table of a board whose modes are noted in a file, with one that fails."""
    script = project.write("mode.sh", f'echo "$1" >> {project.folder}/{name}.modes; test "$1" != broken\n')
    lines = [f'{mode} = ["sh", "{script}", "{mode}"]' for mode in ("eco", "full", "broken")]
    return "\n".join(["", 'usual_mode = "eco"', "[modes]", *lines, ""])


def test_a_mode_is_set_before_each_launch_restored_after_it_and_recorded(boards: Project, tools_python: Path) -> None:
    boards.write("test_models.py", TESTS)
    with far.machine(tools_python, describe(boards, "pi", modes_of(boards, "pi")), boards.folder / "far"):
        finished = run(boards, "--targets=pi", "--bench-modes=full,broken")
    rows = by_axes(finished, "mode")
    row = rows["full",]
    assert row["status"] == "supported", finished.text
    said = row["placement"]["board"]["mode"]
    assert (said["name"], said["restored"], said["command"][-1]) == ("full", "eco", "full")
    asked = (boards.folder / "pi.modes").read_text().split()
    launches = asked.count("full")
    assert launches >= row["numbers"]["timing"]["launches"] and asked[: 2 * launches] == ["full", "eco"] * launches
    failed = rows["broken",]
    assert failed["status"] == "ERROR" and "mode broken: sh ended with exit code 1" in failed["reason"]
    assert asked[-1] == "eco", "what could not be set is brought back too"


def test_a_mode_that_a_board_does_not_have_is_an_error_that_lists_its_modes(boards: Project) -> None:
    describe(boards, "pi", modes_of(boards, "pi"))
    boards.write("test_models.py", TESTS)
    finished = run(boards, "--targets=pi", "--bench-modes=turbo", "--collect-only")
    assert finished.code == 4 and "board pi has no mode 'turbo'; it has: eco, full, broken" in finished.text
    path = boards.folder / "boards/pi.toml"
    path.write_text(path.read_text().replace('usual_mode = "eco"\n', ""))
    finished = run(boards, "--targets=pi", "--bench-modes=full", "--collect-only")
    assert finished.code == 4 and "does not say which mode it is brought back into; add usual_mode" in finished.text


def test_a_crash_in_a_mode_leaves_the_board_in_its_usual_one(boards: Project, tools_python: Path) -> None:
    boards.write("test_models.py", TESTS)
    more = modes_of(boards, "pi")
    with far.machine(tools_python, describe(boards, "pi", more), boards.folder / "far"):
        row = by_axes(run(boards, "--targets=pi", "--bench-modes=full", fault="run-crash"), "mode")["full",]
    assert row["status"] == "board-lost"
    assert (boards.folder / "pi.modes").read_text().split()[-1] == "eco"
