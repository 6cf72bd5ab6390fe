"""What is made again when something changes, what is reused, and what survives an accident."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest

from tests.project import FRAMEWORK, Finished, Project

ALL_EXPORT = ["check", "export", "mutants", "reference", "run"]
ALL_IMPORT = ["check", "evaluate", "export", "import", "mutants"]


def cached(finished: Finished, model: str, check: str = "export") -> list[str]:
    return sorted(finished.cells(check)[model]["stages_cached"])


def test_a_second_run_computes_the_comparison_alone(project: Project) -> None:
    project.model("a")
    first = project.run()
    assert (cached(first, "a"), first.code) == ([], 0)
    second = project.run()
    assert cached(second, "a") == ALL_EXPORT
    assert cached(second, "a", "import") == ALL_IMPORT
    assert second.cells("export")["a"]["numbers"] == first.cells("export")["a"]["numbers"]
    assert len(list((project.folder / "reports/history").glob("*.jsonl"))) == 1


def test_refresh_makes_everything_again(project: Project) -> None:
    project.model("a")
    project.run()
    assert cached(project.run("--bench-refresh"), "a") == []


def test_one_byte_of_a_model_touches_that_model_alone(project: Project) -> None:
    project.model("a")
    path = project.model("b")
    project.run()
    path.write_text(path.read_text() + "#")
    again = project.run()
    assert cached(again, "a") == ALL_EXPORT
    assert cached(again, "b") == []


def test_one_byte_of_an_adapter_touches_its_stages_and_what_follows(project: Project) -> None:
    project.model("a")
    own = project.write("framework.py", FRAMEWORK.read_text())
    project.write("bench.toml", 'adapters = ["framework.py"]\ntoolchains = ["toolchains"]\n')
    project.run()
    own.write_text(own.read_text() + "#")
    assert cached(project.run(), "a") == []
    assert cached(project.run(), "a") == ALL_EXPORT


def test_a_tolerance_changes_the_verdict_and_no_stage(project: Project) -> None:
    project.model("a", "export:wrong-weights")
    assert project.run().verdict("a")[0] == "mismatch"
    text = (project.folder / "test_models.py").read_text()
    project.write(
        "test_models.py",
        text.replace('(check="export")', '(check="export")\n@pytest.mark.tolerance(floor=0.5, cap=0.5)'),
    )
    again = project.run()
    assert "reference" in cached(again, "a")
    row = again.cells("export")["a"]
    assert row["numbers"]["tolerance_E"] == 0.5
    assert row["status"] != "mismatch"


def test_a_timeout_is_never_stored_an_exception_that_came_twice_is(project: Project) -> None:
    project.model("hangs", "export:sleep", seconds=0.5)
    project.model("raises", "export:exception")
    project.run()
    again = project.run()
    assert cached(again, "hangs") == []
    assert cached(again, "raises") == ["export"]
    assert again.verdict("raises") == ("ERROR", "export", "exception")
    assert again.code == 1


def test_a_corrupt_entry_is_dropped(project: Project) -> None:
    project.model("a")
    project.run()
    for path in (project.folder / "cache/entries").glob("*/*/*/*.npy"):
        path.write_bytes(path.read_bytes()[:-1] + b"?")
    again = project.run()
    assert "is not what was stored" in again.text
    assert again.code == 0
    assert "reference" not in cached(again, "a")


def test_resume_reuses_rows_that_are_still_valid(project: Project) -> None:
    project.model("a")
    path = project.model("b", "export:exception")
    assert project.run().code == 1
    resumed = project.run("--bench-resume")
    assert resumed.code == 1, "a stored failure fails again"
    assert "4 rows reused" in resumed.text
    path.write_text(path.read_text() + "#")
    assert "2 rows reused" in project.run("--bench-resume").text


def test_two_runs_at_once_on_one_cache(project: Project) -> None:
    project.model("a", "export:pause")
    other = project.start("--bench-results=other/results.jsonl")
    finished = project.run()
    other.communicate(timeout=120)
    assert (finished.code, other.returncode) == (0, 0)
    rows = [json.loads(line) for line in (project.folder / "other/results.jsonl").read_text().splitlines()]
    made = [row for row in [*rows, *finished.rows] if row["kind"] == "cell" and "export" not in row["stages_cached"]]
    assert 1 <= len({row["nodeid"] for row in made}) <= 2, "each stage was made, and made once"


@pytest.mark.skipif(os.geteuid() != 0 or not shutil.which("mount"), reason="mounting a small disk needs root")
def test_a_full_disk_is_said_and_the_run_goes_on(project: Project) -> None:
    project.model("a")
    place = project.folder / "cache"
    place.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=16k", "tmpfs", str(place)], capture_output=True, text=True
    )
    if mounted.returncode:
        pytest.skip(f"no mounts here: {mounted.stderr.strip()}")
    try:
        finished = project.run()
    finally:
        subprocess.run(["umount", str(place)], check=True)
    assert finished.code == 0
    assert "No space left on device; the run goes on without storing" in finished.text


def test_ctrl_c_ends_everything_and_loses_no_row(project: Project, tmp_path: Path) -> None:
    process, pids = start_with_grandchild(project, tmp_path)
    os.killpg(process.pid, signal.SIGINT)
    process.communicate(timeout=20)
    assert process.returncode == 2
    assert_gone(pids)
    assert [row["cell"]["model"] for row in project.rows() if row["kind"] == "cell"] == ["a"]


def test_a_run_that_was_started_to_ignore_sigint_goes_on_to_its_end(project: Project) -> None:
    project.model("a", "export:pause")
    process = project.start("-k", "export", ignored=[signal.SIGINT])
    deadline = time.monotonic() + 60
    while len(project.rows()) < 2:  # the opening rows are there, and the cell pauses
        assert process.poll() is None and time.monotonic() < deadline
        time.sleep(0.05)
    os.killpg(process.pid, signal.SIGINT)
    text, _ = process.communicate(timeout=60)
    assert process.returncode == 0, text
    assert [row["status"] for row in project.rows() if row["kind"] == "cell"] == ["supported"]


def test_sigkill_leaves_no_process_and_resume_goes_on(project: Project, tmp_path: Path) -> None:
    process, pids = start_with_grandchild(project, tmp_path)
    process.kill()
    process.communicate(timeout=20)
    assert_gone(pids)
    project.model("b")
    resumed = project.run("--bench-resume", "-k", "export")
    assert resumed.code == 0
    assert "1 rows reused" in resumed.text


def start_with_grandchild(project: Project, folder: Path) -> tuple[subprocess.Popen[str], list[int]]:
    """A run whose second cell hangs with a grandchild that called setsid; returns when it does."""
    project.model("a")
    project.model("b", "reference:grandchild")
    pids = folder / "pids"
    project.environment["FAKE_PIDS"] = str(pids)
    process = project.start("-k", "export", "--bench-jobs=1")
    deadline = time.monotonic() + 60
    while not (pids.exists() and pids.read_text().endswith("\n") and len(project.rows()) > 2):
        assert process.poll() is None and time.monotonic() < deadline
        time.sleep(0.05)
    return process, [int(pid) for pid in pids.read_text().split()]


def assert_gone(pids: list[int]) -> None:
    deadline = time.monotonic() + 2
    while (left := [pid for pid in pids if alive(pid)]) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not left


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().split(")")[1].split()[0] != "Z"
    except FileNotFoundError:
        return False
