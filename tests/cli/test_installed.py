"""The commands where the package is installed, from a wheel or from its checkout: its suites, models and boards."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from bench_plugin.reach.environments.uv import run_uv
from tests.project import FRAMEWORK, Project, kept_environment

REPOSITORY = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def wheel_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The package's wheel, made by its build backend."""
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    built = subprocess.run(command, cwd=REPOSITORY, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    assert built.returncode == 0, built.stdout
    (path,) = folder.glob("*.whl")
    return path


@pytest.fixture(scope="module")
def wheel(wheel_file: Path) -> Path:
    """The folder that the wheel is unpacked into."""
    site = wheel_file.parent / "site"
    with zipfile.ZipFile(wheel_file) as archive:
        archive.extractall(site)
    return site


@pytest.fixture
def installed(project: Project, wheel: Path) -> Project:
    """A project that uses the package from its wheel, and has no suites of its own."""
    (project.folder / "test_models.py").unlink()
    project.environment["PYTHONPATH"] = str(wheel)
    return project


@pytest.fixture
def editable(project: Project) -> Project:
    """A project that uses the package from its checkout, and has no suites of its own."""
    (project.folder / "test_models.py").unlink()
    project.environment["PYTHONPATH"] = str(REPOSITORY)
    return project


@pytest.fixture(params=["wheel", "wheel in the project", "editable"])
def anyhow(request: pytest.FixtureRequest, project: Project) -> Project:
    """The project, for each way in which the package is installed."""
    if request.param == "editable":
        found: Project = request.getfixturevalue("editable")
        return found
    found = request.getfixturevalue("installed")
    if request.param == "wheel in the project":  # a virtual environment in the project's folder
        site = found.folder / ".venv/lib/site-packages"
        shutil.copytree(found.environment["PYTHONPATH"], site)
        found.environment["PYTHONPATH"] = str(site)
    return found


def test_the_package_is_the_one_of_its_wheel(installed: Project) -> None:
    command = [sys.executable, "-c", "import bench_plugin; print(bench_plugin.__file__)"]
    assert installed.finish(command).stdout.strip().startswith(installed.environment["PYTHONPATH"])


def test_repro_runs_a_cell_of_the_packages_own_suites(anyhow: Project) -> None:
    installed = anyhow
    installed.model("a")
    command = [sys.executable, "-m", "pytest", "--pyargs", "bench_plugin.data", "-p", "no:cacheprovider", "-rA"]
    chosen = ["--frameworks=fake", "--models=a", "-k", "test_export", "--bench-cache=cache"]
    done = subprocess.run(
        [*command, *chosen],
        cwd=installed.folder,
        env=installed.environment,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert "1 passed" in done.stdout, done.stdout + done.stderr
    (row,) = [row for row in installed.rows() if row["kind"] == "cell"]
    assert row["nodeid"].partition("[")[0] == "suites/roundtrip/test_roundtrip.py::test_export"
    again = installed.bench("repro", row["key"])
    assert again.returncode == 0, again.stdout
    assert "PASSED" in again.stdout and "1 passed" in again.stdout
    assert (installed.folder / "reports/repro/results.jsonl").is_file()
    printed = json.loads(installed.bench("repro", row["key"], "--print", "--json").stdout)["command"]
    assert "bench_plugin.data.suites.roundtrip.test_roundtrip::test_export" in printed[4]


def test_one_suite_of_a_checkout_is_named_as_a_module(editable: Project) -> None:
    editable.model("a")
    command = [sys.executable, "-m", "pytest", "--frameworks=fake", "--models=a", "--collect-only", "-q", "--pyargs"]
    for name in ("bench_plugin.data.suites.roundtrip", "bench_plugin.data.suites.roundtrip.test_roundtrip"):
        assert "2 tests collected" in editable.finish([*command, name]).stdout
    assert "2 passed" in editable.finish([*command[:5], "--pyargs", "bench_plugin.data.suites.roundtrip", "-n2"]).stdout
    unknown = editable.finish([*command, "bench_plugin.data.suites.swimming"])
    assert unknown.returncode == 4 and "bench_plugin.data.suites.swimming" in unknown.stdout


def test_a_suite_of_the_project_comes_before_the_packages(anyhow: Project) -> None:
    installed = anyhow
    row = {
        "schema": 1, "kind": "cell", "key": "0123456789ab",
        "nodeid": "suites/roundtrip/test_roundtrip.py::test_export[a]",
        "repro": ["suites/roundtrip/test_roundtrip.py::test_export[a]", "--bench-models=a"],
    }  # fmt: skip
    installed.write("reports/results.jsonl", json.dumps(row) + "\n")
    assert "--pyargs" in installed.bench("repro", "0123", "--print").stdout
    installed.write("suites/roundtrip/test_roundtrip.py", "")
    assert "--pyargs" not in installed.bench("repro", "0123", "--print").stdout


def test_the_corpus_is_checked_against_the_packages_index(installed: Project) -> None:
    checked = json.loads(installed.bench("corpus", "check", "--json").stdout)
    assert checked["same"] and checked["file"].endswith("bench_plugin/data/fixtures/operators/corpus.csv")
    updated = installed.bench("corpus", "update")
    assert updated.returncode == 2
    assert "corpus.csv: it belongs to the installed package; run it in a checkout" in updated.stderr


def test_lists_are_those_of_the_package(installed: Project) -> None:
    installed.write("bench.toml", f'adapters = ["{FRAMEWORK}"]\ntoolchains = ["toolchains"]\n')
    names = {kind: installed.bench("list", kind).stdout for kind in ("models", "targets", "cases")}
    assert "digits_mlp" in names["models"] and "cortex-m3" in names["targets"] and "test_relu" in names["cases"]


def test_the_wheel_holds_the_ready_workflows(installed: Project) -> None:
    (installed.folder / "bench.toml").unlink()
    done = installed.bench("init", "--ci", "github")
    assert done.returncode == 0, done.stderr
    original = REPOSITORY / ".ci/workflows/github/nightly.yml"
    assert (installed.folder / ".github/workflows/bench-nightly.yml").read_bytes() == original.read_bytes()


def test_the_wheel_in_an_empty_environment(wheel_file: Path, tmp_path: Path) -> None:
    """Only what the wheel itself requires is installed: the commands work, and say which extra is missing."""
    place = tmp_path / "environment"
    run_uv(["venv", "--quiet", "--python", sys.executable, str(place)], folder=tmp_path)
    run_uv(["pip", "install", "--quiet", "--python", str(place / "bin/python"), str(wheel_file)], folder=tmp_path)
    variables = {name: value for name, value in kept_environment().items() if not name.startswith("PYTHON")}
    theirs = tmp_path / "theirs"
    theirs.mkdir()

    def run(name: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        command = [str(place / "bin" / name), *arguments]
        return subprocess.run(command, cwd=theirs, env=variables, text=True, capture_output=True, timeout=120)

    found = run("python", "-c", "import bench_plugin; print(bench_plugin.__file__)").stdout
    assert found.startswith(str(place))
    helped = run("bench", "--help")
    assert helped.returncode == 0 and "init" in helped.stdout
    assert "digits_mlp" in run("bench", "list", "models").stdout
    begun = run("bench", "init", "--ci", "gitlab")
    assert begun.returncode == 0, begun.stderr
    collected = run("pytest", "--collect-only", "-q")
    assert collected.returncode == 0, collected.stdout + collected.stderr
    assert "test_bench_example.py::test_compiled[bench_example-" in collected.stdout
    (theirs / "reports").mkdir()
    (theirs / "reports/results.jsonl").write_text("")
    report = run("bench", "report")
    assert report.returncode == 4 and "pip install 'bench-plugin[report]'" in report.stderr
    history = run("bench", "history", "runs")
    assert history.returncode == 4 and "pip install 'bench-plugin[history]'" in history.stderr
