"""``bench init``: what it writes into projects of others, what it leaves alone, and that the example runs at once."""

from __future__ import annotations

import json
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from bench_plugin.cli.shared.start.example_model import example_model
from tests.project import LEAN, Project, kept_environment

PROJECT = '[project]\nname = "theirs"\nversion = "1"\n\n[tool.pytest.ini_options]\ntestpaths = ["checks"]'
THEIRS = "def test_theirs():\n    assert True\n"


@pytest.fixture
def empty(tmp_path: Path) -> Project:
    """An empty folder, which belongs to somebody who has only just heard of the plugin."""
    return Project(tmp_path)


@pytest.fixture
def theirs(tmp_path: Path) -> Project:
    """A repository with a pyproject.toml, that does not end in a line break, and tests of its own."""
    made = Project(tmp_path)
    made.write("pyproject.toml", PROJECT)
    made.write("checks/test_theirs.py", THEIRS)
    made.write(".gitignore", "dist")
    return made


def ran_tests(project: Project, *arguments: str) -> subprocess.CompletedProcess[str]:
    return project.finish([sys.executable, "-m", "pytest", *LEAN, *arguments])


def files(folder: Path) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}


def test_in_an_empty_folder_the_example_runs_at_once(empty: Project, tools_python: Path) -> None:
    done = empty.bench("init")
    assert done.returncode == 0, done.stderr
    assert files(empty.folder) == {"bench.toml", "test_bench_example.py", "bench_example.onnx", ".gitignore"}
    assert "run it: pytest test_bench_example.py" in done.stderr
    ran = ran_tests(empty, "--bench-cache=cache")
    assert ran.returncode == 0 and "1 passed" in ran.stdout, ran.stdout
    (row,) = (row for row in empty.rows() if row["kind"] == "cell")
    assert (row["cell"]["model"], row["cell"]["compiler"], row["status"]) == (
        "bench_example", "onnxruntime", "supported",
    )  # fmt: skip
    again = empty.bench("repro", row["key"])
    assert again.returncode == 0 and "1 passed" in again.stdout, again.stdout + again.stderr


def test_in_a_repository_their_text_stays_and_their_tests_run_too(theirs: Project) -> None:
    done = theirs.bench("init")
    assert done.returncode == 0, done.stderr
    text = (theirs.folder / "pyproject.toml").read_text()
    assert text.startswith(f"{PROJECT}\n\n[tool.bench_plugin]\n")
    assert tomllib.loads(text)["tool"]["bench_plugin"]["onnx"] == ["checks/bench_example.onnx"]
    assert not (theirs.folder / "bench.toml").exists()
    assert (theirs.folder / ".gitignore").read_text() == "dist\n/reports/\n"
    collected = ran_tests(theirs, "--collect-only", "-q").stdout
    assert "2 tests collected" in collected, collected
    assert "checks/test_bench_example.py::test_compiled[bench_example-" in collected
    assert "1 passed" in ran_tests(theirs, "-k", "theirs").stdout


def test_a_model_of_theirs_is_named_where_it_lies(theirs: Project) -> None:
    theirs.write("models/ours.onnx", "")
    (theirs.folder / "models/ours.onnx").write_bytes(example_model())
    assert theirs.bench("init", "--onnx", "models/ours.onnx").returncode == 0
    assert 'onnx = ["models/ours.onnx"]' in (theirs.folder / "pyproject.toml").read_text()
    assert "test_compiled[ours-" in ran_tests(theirs, "--collect-only", "-q").stdout
    assert not list(theirs.folder.rglob("bench_example.onnx"))


def test_an_existing_file_is_named_and_nothing_is_written(theirs: Project) -> None:
    theirs.write("checks/test_bench_example.py", THEIRS)
    before = files(theirs.folder)
    done = theirs.bench("init", "--ci", "github")
    assert done.returncode == 2 and "checks/test_bench_example.py" in done.stderr
    assert files(theirs.folder) == before
    assert (theirs.folder / "pyproject.toml").read_text() == PROJECT


@pytest.mark.parametrize("name", ["bench.toml", "pyproject.toml"])
def test_a_project_that_has_a_configuration_is_refused(empty: Project, name: str) -> None:
    empty.write(name, "jobs = 1\n" if name == "bench.toml" else "[tool.bench_plugin]\njobs = 1\n")
    done = empty.bench("init")
    assert done.returncode == 2 and f"{name} is a configuration of bench_plugin already" in done.stderr
    assert files(empty.folder) == {name}


def test_a_dry_run_prints_and_writes_nothing(theirs: Project) -> None:
    before = files(theirs.folder)
    done = theirs.bench("init", "--dry-run", "--ci=gitlab")
    assert done.returncode == 0
    for line in (
        "would append to pyproject.toml", '    onnx = ["checks/bench_example.onnx"]', "would append to .gitignore",
        "would write checks/test_bench_example.py", "would write .gitlab-ci.yml",
    ):  # fmt: skip
        assert line in done.stdout.splitlines()
    assert files(theirs.folder) == before


@pytest.mark.parametrize(
    ("system", "expected"),
    [
        ("github", {".github/workflows/bench-nightly.yml", ".github/workflows/bench-pull-request.yml"}),
        ("gitlab", {".gitlab-ci.yml"}),
    ],
)
def test_workflows_are_copied(empty: Project, system: str, expected: set[str]) -> None:
    done = empty.bench("init", "--ci", system, "--json")
    written = {str(Path(row["path"]).relative_to(empty.folder)) for row in json.loads(done.stdout)}
    assert expected <= written & files(empty.folder)
    assert all("--bench-shard" in (empty.folder / name).read_text() for name in expected)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["nowhere"], "there is no folder"),
        (["--onnx", "nothing.onnx"], "nothing.onnx is not an ONNX file that is there"),
    ],
)
def test_what_is_not_there_is_said(empty: Project, arguments: list[str], said: str) -> None:
    done = empty.bench("init", *arguments)
    assert done.returncode == 2 and said in done.stderr
    assert files(empty.folder) == set()


def test_a_file_with_the_name_of_a_known_model_is_refused(empty: Project) -> None:
    (empty.folder / "resnet50.onnx").write_bytes(example_model())
    done = empty.bench("init", "--onnx", "resnet50.onnx")
    assert done.returncode == 2 and "resnet50 is the name of a model that comes with bench_plugin" in done.stderr
    assert files(empty.folder) == {"resnet50.onnx"}


def test_a_file_of_the_configuration_that_is_gone_is_named(empty: Project) -> None:
    assert empty.bench("init").returncode == 0
    (empty.folder / "bench_example.onnx").unlink()
    done = ran_tests(empty)
    assert done.returncode == 4 and "bench_example.onnx cannot be read" in done.stdout


def test_the_example_is_valid_for_onnx(tmp_path: Path, tools_python: Path) -> None:
    path = tmp_path / "example.onnx"
    path.write_bytes(example_model())
    code = (
        "import numpy, onnx, sys; from onnx.reference import ReferenceEvaluator as E; m = onnx.load(sys.argv[1]); "
        "onnx.checker.check_model(m, full_check=True); "
        "print(E(m).run(None, {'x': numpy.ones((3, 8), dtype='float32')})[0].shape)"
    )
    command = [str(tools_python), "-c", code, str(path)]
    done = subprocess.run(command, env=kept_environment(), text=True, stdout=subprocess.PIPE, check=True)
    assert done.stdout.strip() == "(3, 4)"


def test_a_file_of_the_configuration_is_a_model_that_is_chosen_by_name(theirs: Project) -> None:
    """Unlike a file of --bench-onnx, it is none of the cells of tests that say nothing of models."""
    assert theirs.bench("init").returncode == 0
    text = (theirs.folder / "checks/test_bench_example.py").read_text()
    theirs.write("checks/test_any.py", text.replace('models=["bench_example"], ', ""))
    collected = ran_tests(theirs, "--collect-only", "-q", "checks/test_any.py").stdout
    assert "test_compiled[digits_mlp-" in collected and "bench_example-" not in collected, collected
    named = ran_tests(theirs, "--collect-only", "-q", "checks/test_any.py", "--models=bench_example").stdout
    assert "1 test collected" in named and "test_compiled[bench_example-" in named
    both = ran_tests(theirs, "--collect-only", "-q", "--bench-onnx=checks/bench_example.onnx")
    assert both.returncode == 0 and "3 tests collected" in both.stdout, both.stdout
