"""pytest-xdist: cells of one export in one worker, every export made once, and memory that all workers share."""

from __future__ import annotations

import os
import sys
from collections import Counter
from pathlib import Path

import pytest

from tests.project import Project

ALLOWED = 0.6  # of the available memory: two such models do not fit together


def times(project: Project) -> list[tuple[int, int, str]]:
    """Nanoseconds, process and what was done, of every operation of the fake framework."""
    lines = (project.folder / "times").read_text().splitlines()
    return sorted((int(when), int(pid), what) for when, pid, what in (line.split(" ", 2) for line in lines))


@pytest.fixture
def timed(project: Project) -> Project:
    project.environment["FAKE_TIMES"] = str(project.folder / "times")
    return project


def workers_of(text: str) -> dict[str, set[str]]:
    """The workers that ran the tests of every model, from the lines of ``-v``."""
    found: dict[str, set[str]] = {}
    for line in text.splitlines():
        if line.startswith("[gw") and "::" in line:
            model = line.split("::")[1].split("[")[1][0]
            found.setdefault(model, set()).add(line[1:4])
    return found


def available() -> float:
    lines = Path("/proc/meminfo").read_text().splitlines()
    return int(next(line for line in lines if line.startswith("MemAvailable:")).split()[1]) / 2**20


def test_cells_of_one_export_go_to_one_worker(timed: Project) -> None:
    for name in "abcd":
        timed.model(name)
    finished = timed.run("-n2", "-v")
    assert finished.code == 0, finished.text
    assert {name: len(seen) for name, seen in workers_of(finished.text).items()} == dict.fromkeys("abcd", 1)
    assert len(set.union(*workers_of(finished.text).values())) == 2
    assert "scheduling tests via GroupScheduling" in finished.text
    assert all("@" not in row["nodeid"] for row in finished.rows if row["kind"] == "cell")


def test_the_users_choice_of_a_distribution_holds_and_an_export_is_made_once_all_the_same(timed: Project) -> None:
    for name in "abcd":
        timed.model(name)
    finished = timed.run("-n2", "-v", "--dist=load")
    assert finished.code == 0, finished.text
    assert "scheduling tests via LoadScheduling" in finished.text
    done = Counter(what for _, _, what in times(timed))
    assert done["begin export"] == done["begin import"] == 4 and done["begin reference"] == 4
    assert len(finished.cells("import")) == len(finished.cells("export")) == 4


def test_tests_without_a_cell_are_distributed_as_pytest_xdist_does_it(project: Project) -> None:
    project.folder.joinpath("bench.toml").unlink()
    project.write("test_models.py", "import pytest\n@pytest.mark.parametrize('n', range(4))\ndef test_it(n): pass\n")
    command = [sys.executable, "-m", "pytest", "test_models.py", "-n2", "-v"]
    assert "scheduling tests via LoadScheduling" in project.finish(command).stdout


def test_workers_share_the_memory(timed: Project) -> None:
    for name in "ab":
        path = timed.model(name, "export:pause")
        path.write_text(path.read_text().replace("memory_gb = 1", f"memory_gb = {ALLOWED * available():.2f}"))
    finished = timed.run("-n2", "-k", "export")
    assert finished.code == 0, finished.text
    exports = [(pid, what) for _, pid, what in times(timed) if what.endswith("export")]
    assert [what for _, what in exports] == ["begin export", "end export"] * 2
    assert len({pid for pid, _ in exports}) == 2
    assert list((timed.folder / "cache/tokens").glob("*.token")) == []


@pytest.mark.parametrize(("options", "together"), [(("-n2",), 2), (("-n1",), 1), (("--bench-jobs=1",), 1), ((), 2)])
def test_cells_that_are_computed_side_by_side_share_the_cores(
    project: Project, options: tuple[str, ...], together: int
) -> None:
    project.model("a", "export:threads")
    threads = max(1, len(os.sched_getaffinity(0)) // together)
    row = project.run(*options).cells("export")["a"]
    assert row["reason"].endswith(f"OpenBLAS may use {threads} threads"), row["reason"]
