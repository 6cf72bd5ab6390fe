"""The commands where the package is installed, not checked out: suites, fixtures and boards are the package's data."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.project import FRAMEWORK, Project

REPOSITORY = Path(__file__).parents[2]


@pytest.fixture
def installed(project: Project) -> Project:
    """A project that uses a copy of the package as its wheel lays it out, and has no suites of its own."""
    site = project.folder.parent / f"{project.folder.name}-site"
    shutil.copytree(REPOSITORY / "bench_plugin", site / "bench_plugin", ignore=shutil.ignore_patterns("__pycache__"))
    for data in ("suites", "fixtures", "boards"):
        shutil.copytree(REPOSITORY / data, site / "bench_plugin/data" / data)
    (project.folder / "test_models.py").unlink()
    project.environment["PYTHONPATH"] = str(site)
    return project


def test_repro_runs_a_cell_of_the_packages_own_suites(installed: Project) -> None:
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
    again = installed.bench("repro", row["key"])
    assert again.returncode == 0, again.stdout
    assert "PASSED" in again.stdout and "1 passed" in again.stdout
    assert (installed.folder / "reports/repro/results.jsonl").is_file()
    printed = json.loads(installed.bench("repro", row["key"], "--print", "--json").stdout)["command"]
    assert "bench_plugin.data.suites.roundtrip.test_roundtrip::test_export" in printed[4]


def test_a_suite_of_the_project_comes_before_the_packages(installed: Project) -> None:
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
