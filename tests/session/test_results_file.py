"""The results file of a run: its own, writable, never lost, and whole whatever happens to disks and processes."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.project import FRAMEWORK, Finished, Project

LIMIT = """
import os
import resource
import pytest

def fill_disk():
    size = os.path.getsize("reports/results.jsonl")
    resource.setrlimit(resource.RLIMIT_FSIZE, (size + 100, resource.getrlimit(resource.RLIMIT_FSIZE)[1]))

@pytest.fixture(autouse=True)
def full_disk(bench_cell):
    yield  # the processes of the first cell are there, and what they write is not limited
    fill_disk()

def pytest_sessionfinish(session):
    if session.config.getoption("bench_seed") is None:
        fill_disk()  # also for pytest-xdist's controller, which tries to write what its workers could not
"""


def cells(path: Path) -> set[tuple[str, str]]:
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    assert [row["kind"] for row in rows[:2]] == ["header", "plan"]
    assert sum(row["kind"] == "header" for row in rows) == 1
    assert {row["run"] for row in rows} == {rows[0]["run"]}
    return {(row["check"], row["cell"]["model"]) for row in rows if row["kind"] == "cell"}


@contextmanager
def started(project: Project, *arguments: str, models: str | None = None) -> Iterator[subprocess.Popen[str]]:
    """A run that is at its first cell, which takes a while: its opening rows are written. It ends with the test."""
    with project.start(*arguments, models=models) as process:
        try:
            until(process, lambda: len(project.rows()) >= 2)
            yield process
        finally:
            if process.poll() is None:
                process.kill()


def until(process: subprocess.Popen[str], reached: Callable[[], object]) -> None:
    deadline = time.monotonic() + 60
    while not reached():
        assert process.poll() is None and time.monotonic() < deadline
        time.sleep(0.05)


def test_three_runs_at_once_keep_all_their_rows(project: Project) -> None:
    project.model("slow", "export:pause")
    project.model("fine")
    go = project.folder / "go"
    waiting = f"while not os.path.exists({str(go)!r}):\n        time.sleep(0.05)"
    project.write("framework.py", FRAMEWORK.read_text().replace("time.sleep(1.5)", waiting))
    project.write("bench.toml", 'adapters = ["framework.py"]\ntoolchains = ["toolchains"]\n')
    reports = project.folder / "reports"
    with started(project, models="slow") as first:
        with project.start(models="fine") as other, project.start("-n2", models="fine") as third:
            texts = {process: process.communicate(timeout=120)[0] for process in (other, third)}
        assert first.poll() is None, "the first run goes on meanwhile"
        page = json.loads((next(reports.glob("run-*")) / "onnx-support.json").read_text())
        assert not (reports / "onnx-support.json").exists(), "the pages of the others are not where its own will be"
        go.touch()
        first_text, _ = first.communicate(timeout=120)
    for process, text in texts.items():
        assert process.returncode == 0, text
        assert "results.jsonl is in use by the run " in text
        assert "2 cells, 0 declared" in text and "Model fine" in text and "Model slow" not in text
    assert page["header"]["run"] in {path.stem for path in (reports / "history").iterdir()}
    assert "Model slow" in first_text and "in use" not in first_text
    assert cells(reports / "results.jsonl") == {("export", "slow"), ("import", "slow")}
    kept = [cells(path) for path in (reports / "history").iterdir()]
    assert kept == [{("export", "fine"), ("import", "fine")}] * 2


def test_a_file_in_use_is_not_resumed(project: Project) -> None:
    project.model("slow", "export:sleep", seconds=20)
    with started(project) as first:
        finished = project.run("--bench-resume")
        assert finished.code == 4
        assert "ERROR: bench: --bench-resume: " in finished.text and "is in use by the run " in finished.text
        first.send_signal(signal.SIGINT)
        first.communicate(timeout=60)


@pytest.mark.parametrize("name", ["reports", "reports/", "new/", "."])
def test_a_folder_is_no_results_file(project: Project, name: str) -> None:
    project.model("a")
    mine = project.write("reports/mine.txt", "mine")
    finished = project.run(f"--bench-results={name}")
    assert finished.code == 4 and "--bench-results: " in finished.text and "a file in it" in finished.text
    assert mine.read_text() == "mine" and not (project.folder / "new").exists()
    assert sorted(path.name for path in mine.parent.iterdir()) == ["mine.txt"]


def test_a_run_writes_to_no_compressed_file(project: Project) -> None:
    project.model("a")
    finished = project.run("--bench-results=reports/r.jsonl.gz")
    assert finished.code == 4
    assert "--bench-results: a run appends rows to r.jsonl.gz, which a compressed file does not allow" in finished.text
    assert "name it r.jsonl, and compress it with gzip after the run" in finished.text


def test_a_configured_folder_is_no_results_file(project: Project) -> None:
    project.model("a")
    project.write("bench.toml", (project.folder / "bench.toml").read_text() + 'results = "out/"\n')
    finished = project.run()
    assert finished.code == 4 and "bench.toml: results: out/ names a folder; name a file in it" in finished.text


@pytest.mark.parametrize("workers", [[], ["-n2"]])
def test_a_folder_that_cannot_be_written_is_a_usage_error(project: Project, workers: list[str]) -> None:
    project.model("a")
    finished = project.run("--bench-results=/proc/self/results.jsonl", *workers)
    assert finished.code == 4
    assert "ERROR: bench: the folder /proc/self cannot be written: " in finished.text
    assert "INTERNALERROR" not in finished.text


@pytest.mark.parametrize("workers", [[], ["-n2"]])
def test_the_header_has_the_command_of_the_run_also_with_workers(project: Project, workers: list[str]) -> None:
    project.model("a")
    finished = project.run(*workers)
    command = finished.rows[0]["command"]
    assert command[0] == "pytest" and set(workers) <= set(command), command


@pytest.mark.parametrize("workers", [[], ["-n2"]])
def test_rows_that_do_not_fit_are_shown_and_the_run_is_not_green(project: Project, workers: list[str]) -> None:
    project.model("a")
    project.model("b")
    project.write("conftest.py", LIMIT)
    finished = project.run(*workers)
    assert finished.code == 1, finished.text
    assert "4 passed" in finished.text and "INTERNALERROR" not in finished.text
    lost = 4 - max(1, len(workers) * 2)  # the first row of each process was written
    assert f"{lost} rows could not be written to reports/results.jsonl: File too large" in finished.text
    assert "4 cells, 0 declared" in finished.text and "Model a" in finished.text and "Model b" in finished.text
    assert finished.text.count("the run goes on and keeps its rows") == (0 if workers else 1)
    kinds = ["header", "plan", *["cell"] * (4 - lost)]
    assert [row["kind"] for row in finished.rows] == kinds, "no part of a row is in the file"


def test_a_controller_writes_the_rows_that_its_workers_could_not(project: Project) -> None:
    project.model("a")
    project.model("b")
    project.write("conftest.py", LIMIT)
    finished = project.run("-n2", "--bench-seed=0")
    assert finished.code == 0, finished.text
    assert "could not be written" not in finished.text
    assert [row["kind"] for row in finished.rows] == ["header", "plan", *["cell"] * 4]


@pytest.mark.skipif(os.geteuid() != 0 or not shutil.which("mount"), reason="mounting a small disk needs root")
def test_a_full_results_disk_does_not_end_the_run(project: Project) -> None:
    project.model("a")
    project.model("b")
    place = project.folder / "reports"
    place.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=48k", "tmpfs", str(place)], capture_output=True)
    if mounted.returncode:
        pytest.skip(f"no mounts here: {mounted.stderr.decode().strip()}")
    try:
        (place / "large").write_bytes(bytes(4096 * 8))
        finished = project.run()
    finally:
        subprocess.run(["umount", str(place)], check=True)
    assert "No space left on device" in finished.text and "INTERNALERROR" not in finished.text
    assert finished.code in (1, 4), finished.text


def killed(project: Project, *arguments: str) -> Finished:
    """A run of pytest-xdist whose worker is killed while it computes the model ``slow``."""
    with started(project, "-n1", *arguments) as process:
        until(process, lambda: any("slow" in path.read_text() for path in begun(project)))
        (noted,) = begun(project)
        os.kill(int(noted.name.split(".")[-2]), signal.SIGKILL)
        text, _ = process.communicate(timeout=120)
    return Finished(process.returncode, text, project.rows())


def begun(project: Project) -> list[Path]:
    return list((project.folder / "reports").glob(".*.begun"))


def test_the_cell_of_a_killed_worker_has_a_row_and_the_run_goes_on(project: Project) -> None:
    project.model("a")
    project.model("slow", "export:sleep", seconds=30)
    project.model("z")
    finished = killed(project, "-k", "export")
    assert finished.code == 1, finished.text
    row = finished.cells()["slow"]
    assert (row["status"], row["symptom"], row["result"], row["reusable"]) == ("ERROR", "harness", "failed", False)
    assert "pytest-xdist" in row["reason"] and "killed" in row["reason"]
    assert finished.verdict("a") == finished.verdict("z") == ("supported", None, None)
    assert [row["kind"] for row in finished.rows].count("header") == 1
    assert "Model slow" in finished.text and "3 cells" in finished.text
    assert begun(project) == []
