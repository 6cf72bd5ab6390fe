"""The end of a run and its progress, as a user sees them: real pytest processes, with and without a terminal."""

from __future__ import annotations

import json
import os
import pty
import re
import subprocess
from pathlib import Path

import pytest

from bench_plugin.terminal import progress_text
from tests.project import Finished, Project, make_project

KNOWN = """
[[expectation]]
check = "export"
model = "broken"
framework = "fake"
stage = "export"
symptom = "exception"
reason = "the converter loses the model"
"""
OWN = """
import warnings
import pytest

@pytest.mark.xfail(reason="a reason of the user's own")
def test_own():
    assert False

def test_warns():
    warnings.warn("a warning of the user's own")
"""


def known_project(folder: Path, python: Path) -> Project:
    project = make_project(folder, python)
    project.model("fine")
    project.model("broken", "export:exception")
    project.write("suites/expectations/known.toml", KNOWN)
    project.write("test_models.py", (folder / "test_models.py").read_text() + OWN)
    return project


@pytest.fixture(scope="module")
def known(tmp_path_factory: pytest.TempPathFactory, tools_python: Path) -> Project:
    """A project with a known failure and tests of its own; its stages are cached by the first run."""
    return known_project(tmp_path_factory.mktemp("known"), tools_python)


@pytest.fixture(scope="module")
def finished(known: Project) -> Finished:
    return known.run("-ra")


def test_the_grid_and_what_was_written_come_after_everything_of_pytest(finished: Finished) -> None:
    lines = finished.text.splitlines()
    summary = next(place for place, line in enumerate(lines) if "short test summary info" in line)
    warned = next(place for place, line in enumerate(lines) if "warnings summary" in line)
    counts = next(place for place, line in enumerate(lines) if re.search(r"=+ .*\d+ passed.* in .*s", line))
    grid = next(place for place, line in enumerate(lines) if "ONNX support: export / import" in line)
    assert max(summary, warned, counts) < grid
    assert lines[-1] == "rows: reports/results.jsonl"
    assert "page: reports/onnx-support.{md,rst,html,csv,json}" in lines


def test_known_failures_are_counted_and_not_listed(finished: Finished) -> None:
    assert finished.code == 0
    assert "2 xfailed" in finished.text, "pytest's own count holds them"
    assert "known failures: 1 (-rx lists them)" in finished.text
    assert "the converter loses the model" not in finished.text
    assert "test_own - a reason of the user's own" in finished.text, "the user's own are listed"


def test_rx_lists_them_with_their_keys(known: Project, finished: Finished) -> None:
    listed = known.run("-rx", "-k", "broken")
    key = listed.cells("export")["broken"]["key"]
    assert f"- the converter loses the model (cell {key})" in listed.text


def test_with_workers_the_end_is_the_same(known: Project, finished: Finished) -> None:
    text = known.run("-ra", "-n", "2").text
    assert "the converter loses the model" not in text
    assert "known failures: 1 (-rx lists them)" in text
    assert text.splitlines()[-1] == "rows: reports/results.jsonl"


def test_without_a_summary_the_pages_are_written_all_the_same(known: Project, finished: Finished) -> None:
    page = known.folder / "reports/onnx-support.md"
    page.unlink()
    assert "ONNX support" not in known.run("--no-summary").text
    assert page.is_file()


def test_colours_are_those_that_pytest_was_asked_for(known: Project, finished: Finished) -> None:
    green = "\x1b[32msupported / supported"
    assert green in known.run("--color=yes").text
    assert "\x1b[" not in known.run("--color=no").text
    known.environment["NO_COLOR"] = "1"
    assert "\x1b[3" not in on_a_terminal(known)
    del known.environment["NO_COLOR"]
    assert green in on_a_terminal(known)


def on_a_terminal(project: Project, *arguments: str, **variables: str) -> str:
    """What pytest writes to a terminal of 80 columns."""
    mine, its = pty.openpty()
    kept = {name: value for name, value in project.environment.items() if name not in ("CI", "BUILD_NUMBER")}
    environment = {**kept, **variables}
    process = subprocess.Popen(
        project.command(*arguments), cwd=project.folder, stdin=its, stdout=its, stderr=its,
        env={**environment, "COLUMNS": "80", "TERM": "xterm"}, start_new_session=True,
    )  # fmt: skip
    os.close(its)
    written = bytearray()
    while True:
        try:
            part = os.read(mine, 65536)
        except OSError:  # the other side is closed
            break
        if not part:
            break
        written += part
    os.close(mine)
    assert process.wait(60) in (0, 1)
    return written.decode()


def test_a_terminal_has_one_line_of_progress_in_place(project: Project) -> None:
    project.model("slow", "export:pause")
    project.model("fine")
    text = on_a_terminal(project)
    drawn = re.findall(r"\r\x1b\[2K(bench: .*?)(?=\r|\x1b)", text)
    assert any(re.match(r"bench: \d of 4 cells.*  slow-fake\S*: \w+, \d+ s", line) for line in drawn), text
    assert all(len(line) < 80 for line in drawn)
    assert "\x1b[1A\r" in text, "and it is gone before pytest goes on"


def test_a_log_of_a_runner_has_plain_lines_although_it_is_a_terminal(project: Project) -> None:
    project.model("slow", "export:sleep", seconds=3)  # a sleeper ends after 12 s on the clock
    text = on_a_terminal(project, "-k", "export", CI="true")
    assert re.search(r"\n  \.\.\. slow-fake\S*: export, 10 s\r?\n", text), text
    assert "\x1b[2K" not in text


@pytest.mark.parametrize(
    ("done", "elapsed", "text"),
    [
        (0, 3.0, "bench: 0 of 10 cells"),
        (5, 10.0, "bench: 5 of 10 cells, about 10 s left"),
        (1, 60.0, "bench: 1 of 10 cells, about 9 min left"),
        (1, 3600.0, "bench: 1 of 10 cells, about 9.0 h left"),
    ],
)
def test_the_estimate_is_what_the_rest_takes_at_this_pace(done: int, elapsed: float, text: str) -> None:
    assert progress_text(done, 10, elapsed) == text


def test_runs_are_kept_compared_and_cells_of_any_run_are_found(project: Project) -> None:
    project.model("a")
    first = project.run()
    project.model("a", "export:wrong-weights")
    second = project.run("-k", "export")
    runs = [finished.rows[0]["run"] for finished in (first, second)]
    assert (project.folder / f"reports/history/{runs[0]}.jsonl").is_file()
    same = project.bench("compare", runs[0], runs[0])
    assert (same.returncode, same.stdout) == (0, "2 cells are the same; nothing changed\n")
    worse = project.bench("diff", runs[0], "reports/results.jsonl")
    assert worse.returncode == 1
    assert re.search(r"export a fake .*regression +supported +mismatch", worse.stdout)
    assert "1 regression, 1 removed" in worse.stdout
    assert '"regressions": 1' in project.bench("diff", runs[0], runs[1], "--json").stdout
    assert project.bench("diff", runs[1], runs[0]).returncode == 0
    assert project.bench("diff", runs[1], runs[0], "--factor", "1").returncode == 2
    assert "neither a results file nor a run id" in project.bench("diff", "nothing", runs[0]).stderr
    drawn = project.bench("grid", runs[0][:-2], "--output", "pages", "--color", "yes")
    assert drawn.returncode == 0 and "\x1b[32msupported" in drawn.stdout
    printed = json.loads(project.bench("grid", runs[0], "--json").stdout)
    assert printed["onnx-support"]["header"]["run"] == runs[0]
    key = first.cells("import")["a"]["key"]
    assert project.bench("repro", key, "--print").returncode == 0, "it is in the first run alone"
