"""Which configuration a run reads: also where an option's value is a folder, for which pytest moves its rootdir."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.project import LEAN, Finished, Project, make_project

HEAD = "bench: configuration: "


@pytest.fixture
def nested(tmp_path: Path, tools_python: Path) -> Project:
    """A project with only a bench.toml, in a folder beside which other folders lie."""
    (tmp_path / "mine").mkdir()
    project = make_project(tmp_path / "mine", tools_python)
    (project.folder / "pytest.ini").unlink()
    project.model("a", "export:exception")
    project.model("b")
    (tmp_path / "beside").mkdir()
    return project


def run(project: Project, *options: str, below: str = ".") -> Finished:
    """pytest without a file of its own, and with options whose values are arguments of their own."""
    command = [sys.executable, "-m", "pytest", *LEAN, "--frameworks=fake", "--models=a,b", *options]
    done = project.finish(command, below=below)
    return Finished(done.returncode, done.stdout, project.rows())


def head(finished: Finished) -> list[str]:
    return [line for line in finished.text.splitlines() if line.startswith("bench: configuration")]


@pytest.mark.parametrize("place", ["../beside", "beside"])
def test_a_folder_as_an_options_value_does_not_lose_the_configuration(nested: Project, place: str) -> None:
    (nested.folder / "beside").mkdir()
    finished = run(nested, "test_models.py", "--bench-cache", place, "-k", "export")
    assert finished.code == 1, finished.text
    assert head(finished) == [f"{HEAD}bench.toml"]
    assert finished.verdict("b") == ("supported", None, None)  # the rows are below the project's own folder
    assert not (nested.folder.parent / "reports").exists()


def test_a_cell_is_repeated_from_the_projects_folder(nested: Project) -> None:
    finished = run(nested, "test_models.py", "--bench-cache", "../beside", "-k", "export")
    assert f"rootdir: {nested.folder.parent}\n" in finished.text
    row = finished.cells("export")["a"]
    assert row["nodeid"].startswith("test_models.py::test_export[a-")
    again = nested.bench("repro", row["key"], "--", "--bench-cache=../beside")
    assert again.returncode == 1 and "1 failed" in again.stdout, again.stdout + again.stderr


def test_workers_read_the_same_configuration(nested: Project) -> None:
    finished = run(nested, "test_models.py", "--bench-cache", "../beside", "-n", "2", "-k", "export")
    assert finished.verdict("b") == ("supported", None, None), finished.text
    assert head(finished) == [f"{HEAD}bench.toml"] and "page: reports/onnx-support" in finished.text


def test_of_two_configurations_the_run_says_which_one_it_read(nested: Project) -> None:
    other = nested.folder.parent / "bench.toml"
    other.write_text((nested.folder / "bench.toml").read_text().replace('["toolchains"]', '["mine/toolchains"]'))
    finished = run(nested, "test_models.py", "--bench-cache", "../beside", "--collect-only")
    assert head(finished) == [
        f"{HEAD}../bench.toml, of pytest's rootdir; bench.toml is not read (--rootdir . takes that)"
    ]
    taken = run(nested, "test_models.py", "--bench-cache", "../beside", "--collect-only", "--rootdir", ".")
    assert head(taken) == [f"{HEAD}bench.toml"]


def test_from_a_folder_below_the_project(nested: Project) -> None:
    (nested.folder / "below").mkdir()
    finished = run(nested, "../test_models.py", "--bench-cache", "../../beside", "-k", "export", below="below")
    assert head(finished) == [f"{HEAD}../bench.toml"]
    assert finished.verdict("b") == ("supported", None, None), finished.text


def test_a_project_without_a_configuration_is_told_nothing(tmp_path: Path, project: Project) -> None:
    (project.folder / "bench.toml").unlink()
    project.write("test_models.py", "def test_nothing():\n    pass\n")
    finished = run(project, "test_models.py")
    assert finished.code == 0 and "configuration" not in finished.text
