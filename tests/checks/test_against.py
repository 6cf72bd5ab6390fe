"""Measuring against another run through the whole plugin: artefacts of base and head in turn, and what is missing."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from bench_plugin.checks.performance.against.base import Base, Missing
from bench_plugin.checks.performance.against.counted import compared
from bench_plugin.checks.performance.against.sides import environment
from bench_plugin.domain.cell import Cell, Check
from bench_plugin.domain.errors import EnvironmentMissing
from bench_plugin.pipeline.cache import Cache
from bench_plugin.reach.environments.needed import NeededToolchains
from bench_plugin.reach.environments.toolchains import Toolchains, another
from tests.checks.test_boards import describe
from tests.checks.test_timing import FAKE, TESTS, run, the_row
from tests.fake import far
from tests.project import Finished, Project, make_project


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory, tools_python: Path) -> Project:
    """A project whose fake compiler's artefact was timed once; its rows are in base.jsonl."""
    project = make_project(tmp_path_factory.mktemp("against"), tools_python)
    adapters = f'adapters = ["{FAKE / "framework.py"}", "{FAKE / "compiler.py"}"]\n'
    project.write("bench.toml", f'{adapters}toolchains = ["toolchains"]\nenvironment = ["FAKE_*"]\n')
    project.write("test_models.py", TESTS)
    project.model("net", seconds=20)
    finished = run(project)
    assert finished.code == 0, finished.text
    shutil.copy(project.folder / "reports/results.jsonl", project.folder / "base.jsonl")
    return project


def against(project: Project, *arguments: str, base: str = "base.jsonl", fault: str = "none") -> Finished:
    return run(project, f"--bench-against={base}", *arguments, fault=fault)


def said_of(finished: Finished) -> Mapping[str, Any]:
    found: Mapping[str, Any] = the_row(finished)["numbers"]["against"]
    assert found, finished.text
    return found


def rows_of(project: Project) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (project.folder / "base.jsonl").read_text().splitlines()]


def changed(project: Project, name: str, change: Any) -> str:
    """A copy of the base's rows, of which ``change`` changes the cell's row."""
    rows = rows_of(project)
    for row in rows:
        if row["kind"] == "cell":
            change(row)
    project.write(name, "".join(json.dumps(row) + "\n" for row in rows))
    return name


def test_a_slower_head_fails_though_its_status_stays(base: Project) -> None:
    finished = against(base, fault="run-twice")
    row, said = the_row(finished), said_of(finished)
    assert finished.code == 1 and (row["status"], row["result"]) == ("supported", "failed")
    assert said["verdict"] == "slower" and 0.4 < said["d"] < 1.0 and said["how"] == "side by side", said
    assert said["head"]["median"] > said["base"]["median"] > 0
    assert said["launches"] == 4 and said["rounds"] >= 2 and said["half_width"] > 0
    assert (
        said["base"]["artefact"] == said["head"]["artefact"] == {"model.onnx": row["artefacts"]["model.onnx"]["sha256"]}
    )
    assert "a regression in time: slower than in run " in finished.text and "measured in turn" in finished.text
    compared = base.bench("compare", "base.jsonl", "reports/results.jsonl")
    assert compared.returncode == 1 and "in turn" in compared.stdout and "slower" in compared.stdout


@pytest.fixture(scope="module")
def of_two_threads(base: Project) -> Project:
    """The project with base-2.jsonl too: the same cell with two threads."""
    finished = run(base, "--bench-threads=2")
    assert finished.code == 0 and the_row(finished)["cell"]["threads"] == 2, finished.text
    shutil.copy(base.folder / "reports/results.jsonl", base.folder / "base-2.jsonl")
    return base


@pytest.mark.nightly
def test_with_several_threads_a_slower_head_is_found(of_two_threads: Project) -> None:
    finished = against(of_two_threads, "--bench-threads=2", base="base-2.jsonl", fault="run-twice")
    said = said_of(finished)
    assert (finished.code, said["verdict"], said["how"]) == (1, "slower", "side by side"), said
    assert 0.4 < said["d"] < 1.0 and said["launches"] == 4
    assert the_row(finished)["placement"]["threads"] == the_row(finished)["cell"]["threads"] == 2


@pytest.mark.nightly
def test_both_sides_get_as_many_threads_as_the_cell(of_two_threads: Project) -> None:
    """The head would take twice as long with one thread, which is what a runtime gets that is told nothing."""
    finished = against(of_two_threads, "--bench-threads=2", base="base-2.jsonl", fault="run-alone")
    assert finished.code == 0 and said_of(finished)["verdict"] in ("same", "too noisy to say"), finished.text
    other = against(of_two_threads, "--bench-threads=1", base="base-2.jsonl", fault="run-alone")
    assert said_of(other)["reason"].endswith("has no row of this cell"), "other threads are another cell"


COUNTED: dict[str, Any] = {
    "placement": {"board": {"name": "cortex-m3", "kind": "uart", "machine": "unicorn"}, "timing": "emulated"},
    "numbers": {"timing": {"instructions": {"median": 24520}}},
}


@pytest.mark.parametrize(
    ("now", "growth", "verdict"),
    [
        (24520, 0.0, "same"),
        (24521, 0.0, "slower"),
        (24519, 0.0, "faster"),
        (24765, 0.01, "same"),
        (24766, 0.01, "slower"),
    ],
)
def test_instructions_of_an_emulated_board_are_compared_exactly(now: int, growth: float, verdict: str) -> None:
    said = compared(COUNTED, now, COUNTED["placement"], growth, "R")
    assert said["verdict"] == verdict
    assert (said["base"], said["head"]) == ({"instructions": 24520}, {"instructions": now})
    if (now, verdict) == (24521, "slower"):
        assert said["text"] == (
            "more instructions than in run R: 24,520 → 24,521 of one inference (+0.00%), counted on cortex-m3; "
            "0.0% is allowed"
        )


def test_instructions_of_other_boards_and_of_none_are_not_compared() -> None:
    other = {**COUNTED["placement"], "board": {**COUNTED["placement"]["board"], "machine": "mps2-an385"}}
    with pytest.raises(Missing, match="counted on cortex-m3 uart unicorn, this one on cortex-m3 uart mps2-an385"):
        compared(COUNTED, 24520, other, 0.0, "R")
    with pytest.raises(Missing, match="the row in run R counted no instructions"):
        compared({**COUNTED, "numbers": {"timing": {}}}, 24520, COUNTED["placement"], 0.0, "R")


@pytest.mark.nightly
def test_an_emulated_microcontroller_is_measured_against_a_run_by_its_instructions(project: Project) -> None:
    project.write("test_models.py", TESTS)
    project.model("net", seconds=60)
    chosen = ["--compilers=emx", "--targets=cortex-m3", "--precisions=fp32", "--bench-profile=smoke"]
    first = project.run(*chosen)
    assert first.code == 0, first.text
    count = the_row(first)["numbers"]["timing"]["instructions"]["median"]
    shutil.copy(project.folder / "reports/results.jsonl", project.folder / "base.jsonl")
    same = project.run(*chosen, "--bench-against=base.jsonl")
    assert same.code == 0 and (said_of(same)["verdict"], said_of(same)["how"]) == ("same", "counted"), same.text

    def one_less(row: dict[str, Any]) -> None:
        row["numbers"]["timing"]["instructions"]["median"] -= 1

    worse = project.run(*chosen, f"--bench-against={changed(project, 'changed.jsonl', one_less)}")
    assert worse.code == 1 and the_row(worse)["status"] == "supported", worse.text
    assert "a regression in instructions: more instructions than in run" in worse.text
    assert f"{count - 1:,} → {count:,} of one inference" in worse.text
    text = (project.folder / "bench.toml").read_text()
    project.write("bench.toml", f'{text}[[thresholds]]\ntarget = "cortex-m3"\nmax_growth = 0.01\n')
    allowed = project.run(*chosen, "--bench-against=changed.jsonl")
    assert allowed.code == 0 and said_of(allowed)["effect"] == 0.01, allowed.text


def test_a_slowdown_that_the_marker_allows_is_none(base: Project) -> None:
    try:
        base.write("test_models.py", TESTS.replace('check="timing"', 'check="timing", max_slowdown=9.0'))
        finished = against(base, fault="run-twice")
        assert finished.code == 0 and said_of(finished)["verdict"] == "same", finished.text
        assert said_of(finished)["effect"] == the_row(finished)["settings"]["max_slowdown"] == 9.0
        base.write("test_models.py", TESTS.replace('check="timing"', 'check="timing", max_slowdown="5 %"'))
        refused = against(base)
        assert refused.code == 4, refused.text
        assert "marker bench: max_slowdown is '5 %'; a number from 0.005 to 10 is wanted" in refused.text
    finally:
        base.write("test_models.py", TESTS)


def test_the_same_again_is_not_slower_and_its_base_moves_to_the_history(base: Project) -> None:
    """Compiled and deployed again. On a busy machine there may be no answer, but no alarm."""
    text = (base.folder / "bench.toml").read_text()
    try:
        shutil.copy(base.folder / "base.jsonl", base.folder / "reports/results.jsonl")
        base.write("bench.toml", f'{text}[[thresholds]]\ncompiler = "fakec"\nmax_slowdown = 0.2\n')
        finished = against(base, "--bench-refresh", base="reports/results.jsonl")
    finally:
        base.write("bench.toml", text)
    said = said_of(finished)
    assert finished.code == 0 and said["verdict"] in ("same", "too noisy to say"), said
    assert (said["effect"] == 0.2 and "reason" not in said) or said["verdict"] == "too noisy to say"


def test_what_is_missing_is_said_in_the_row_and_in_the_terminal(base: Project) -> None:
    def other_artefact(row: dict[str, Any]) -> None:
        row["artefacts"]["model.onnx"]["sha256"] = "0" * 64

    finished = against(base, base=changed(base, "changed.jsonl", other_artefact))
    said, why = said_of(finished), "is not in the cache"
    assert (finished.code, said["verdict"]) == (0, "not comparable"), finished.text
    assert why in said["reason"] and why in finished.text
    assert any(why in flag for flag in the_row(finished)["flags"])


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda row: row.update(status="mismatch"), "this cell was mismatch"),
        (lambda row: row["cell"].update(model="other"), "has no row of this cell"),
        (lambda row: row["artefacts"].clear(), "names no artefact: its compiler leaves none"),
    ],
    ids=["status", "row", "artefact"],
)
def test_a_row_that_cannot_be_measured_against_says_why(base: Project, change: Any, why: str) -> None:
    cell = Cell.from_axes(next(row["cell"] for row in rows_of(base) if row["kind"] == "cell"))
    found = Base(base.folder / changed(base, "changed.jsonl", change), Cache(base.folder / "cache"))
    with pytest.raises(Missing, match=why):
        found.artefact(found.row(cell))


def test_the_artefact_of_a_row_is_found_by_the_hash_of_its_files(base: Project) -> None:
    cache = Cache(base.folder / "cache")
    try:
        found = Base(base.folder / "base.jsonl", cache)
        row = found.row(Cell.from_axes(next(row["cell"] for row in rows_of(base) if row["kind"] == "cell")))
        done = found.artefact(row)
        assert (
            done.digests["model.onnx"] == row["artefacts"]["model.onnx"]["sha256"]
            and done.files["model.onnx"].is_file()
        )
    finally:
        cache.close()


@pytest.mark.parametrize(
    ("toolchain", "why"),
    [(None, "does not say its toolchain's lock"), ("fake-000000000000", "check the base's lock out")],
)
def test_an_environment_that_is_gone_is_said(toolchain: str | None, why: str, tmp_path: Path) -> None:
    toolchains = Toolchains(root=tmp_path)
    workspace = SimpleNamespace(toolchains=toolchains)
    cell = Cell(Check.TIMING, "net", "fake", compiler="fakec")
    row = {"placement": {"toolchain": toolchain} if toolchain else {}}
    with pytest.raises(Missing, match=why):
        environment(workspace, cell, row, "fake-111111111111")  # type: ignore[arg-type]


def test_an_environment_of_an_older_lock_is_used_where_it_is_still_there(tmp_path: Path) -> None:
    python = tmp_path / "fake-000000000000/bin/python"
    python.parent.mkdir(parents=True)
    python.touch()
    needed = NeededToolchains(Toolchains(root=tmp_path), print)
    assert needed.python(another("fake-000000000000")) == python
    cell, row = Cell(Check.TIMING, "net", "fake"), {"placement": {"toolchain": "fake-000000000000"}}
    workspace: Any = SimpleNamespace(toolchains=Toolchains(root=tmp_path))
    assert environment(workspace, cell, row, "fake-111111111111") == "fake-000000000000"
    with pytest.raises(EnvironmentMissing):
        needed.python(another("fake-222222222222"))
    with pytest.raises(Missing, match="only fake-111111111111 is shipped to a board"):
        environment(workspace, Cell(Check.TIMING, "net", "fake", target="pi"), row, "fake-111111111111")


def test_a_base_that_does_not_exist_is_a_usage_error(base: Project) -> None:
    finished = against(base, base="nothing")
    assert finished.code == 4, finished.text
    assert "--bench-against: nothing: neither a results file nor a run id" in finished.text


def test_a_calibration_workload_is_timed_in_every_launch(base: Project) -> None:
    timing = next(row for row in rows_of(base) if row["kind"] == "cell")["numbers"]["timing"]
    said = timing["calibration"]
    assert len(said["seconds"]) == timing["launches"] == len(timing["compute"]["launch_minima"])
    assert all(1e-5 < one < 1 for one in said["seconds"]) and said["workload"] and said["machine"]
    assert min(timing["compute"]["launch_minima"]) >= timing["compute"]["min"] * 0.5


@pytest.mark.nightly
def test_on_a_board_each_launch_is_a_fresh_agent_one_after_the_other(project: Project, tools_python: Path) -> None:
    text = (FAKE / "compiler.py").read_text()
    compiler = project.write(
        "compiler.py", text.replace('"on_request": True,', '"on_request": True, "boards": ["aarch64"],')
    )
    adapters = f'adapters = ["{FAKE / "framework.py"}", "{compiler}"]'
    project.write("bench.toml", f'{adapters}\ntoolchains = ["toolchains"]\nenvironment = ["FAKE_*"]\n')
    project.write("test_models.py", TESTS)
    project.model("net", seconds=20)
    far.know_wired(project)
    with far.machine(tools_python, describe(project, "pi"), project.folder / "far"):
        first = run(project, "--targets=pi")
        assert first.code == 0 and the_row(first)["placement"]["board"]["name"] == "pi", first.text
        shutil.copy(project.folder / "reports/results.jsonl", project.folder / "base.jsonl")
        finished = run(project, "--targets=pi", "--bench-against=base.jsonl", fault="run-twice")
    said = said_of(finished)
    assert (said["how"], said["verdict"]) == ("one after the other", "slower"), said
    assert said["launches"] in (4, 8, 12) and finished.code == 1
