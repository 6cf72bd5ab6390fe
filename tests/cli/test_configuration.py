"""Every command reads the configuration of the project that the user stands in, from any folder of it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bench_plugin.pipeline.cache import Cache
from tests.project import Project


@pytest.fixture
def configured(project: Project) -> Project:
    """A project whose results and cache lie where its configuration says, with one cell that failed."""
    text = (project.folder / "bench.toml").read_text()
    project.write("bench.toml", f'results = "out/rows.jsonl"\ncache = "kept"\n{text}')
    project.model("a", "export:exception")
    arguments = [one for one in project.command("-k", "export") if not one.startswith("--bench-cache")]
    project.write("run.txt", json.dumps(arguments))
    (project.folder / "deep/down").mkdir(parents=True)
    return project


def below(project: Project) -> Project:
    """The same project, from a folder inside it."""
    return Project(project.folder / "deep/down", project.environment)


def test_cache_is_the_configured_one(configured: Project) -> None:
    Cache(configured.folder / "kept").put(
        "ab" * 32, stage="export", meta={}, arrays={}, files={}, failure=None, seconds={}, peak_bytes=0
    )
    for place in (configured, below(configured)):
        said = json.loads(place.bench("cache", "info", "--json").stdout)
        assert said["folder"] == str(configured.folder / "kept")
        assert (said["entries"], list(said["stages"])) == (1, ["export"])
    pruned = json.loads(below(configured).bench("cache", "prune", "--keep-gb", "0", "--json").stdout)
    assert (pruned["dropped_entries"], pruned["entries"]) == (1, 0)


def test_results_are_the_configured_ones(configured: Project) -> None:
    key = _failed(configured)
    for place in (configured, below(configured)):
        printed = json.loads(place.bench("repro", key, "--print", "--json").stdout)
        assert printed["folder"] == str(configured.folder)
        assert f"--bench-results={configured.folder / 'out/repro/results.jsonl'}" in printed["command"]
        assert place.bench("repro", key).returncode == 1
    updated = below(configured).bench("expect", "update", "--reason", "why")
    assert updated.returncode == 0, updated.stderr
    assert 'reason = "why"' in (configured.folder / "suites/expectations/new.toml").read_text()
    assert below(configured).bench("repro", key).returncode == 0


def test_paths_on_the_command_line_are_relative_to_where_the_user_stands(configured: Project) -> None:
    key = _failed(configured)
    place = below(configured)
    assert place.bench("repro", key, "--print", "--results", "../../out/rows.jsonl").returncode == 0
    assert place.bench("repro", key, "--print", "--results", "out/rows.jsonl").returncode == 2


def test_json_of_a_run_needs_print(configured: Project) -> None:
    done = configured.bench("repro", _failed(configured), "--json")
    assert done.returncode == 2 and "--json goes with --print" in done.stderr


def test_a_run_refuses_a_toolchain_whose_lock_is_not_what_its_toml_asks_for(project: Project) -> None:
    project.model("a")
    project.write("toolchains/fake.toml", 'title = "F"\ninterpreter = ">=3.11"\nrequirements = ["numpy>=2"]\n')
    project.write("toolchains/fake.lock", "numpy==1.26.4\n")
    project.write("toolchains/unused.toml", 'title = "U"\ninterpreter = ">=3.11"\nrequirements = ["numpy>=2"]\n')
    project.write("toolchains/unused.lock", "numpy==1.26.4\n")
    finished = project.run()
    assert finished.code == 4
    said = "fake.toml asks for numpy>=2, the lock has numpy==1.26.4; make it again: bench env lock fake"
    assert said in finished.text and "unused.toml" not in finished.text


def test_the_corpus_is_checked_in_any_project(project: Project, tmp_path: Path) -> None:
    done = project.bench("corpus", "check", "--json")
    said = json.loads(done.stdout)
    assert (done.returncode, said["differ"], said["same"]) == (0, [], True), done.stderr
    assert said["file"].endswith("fixtures/operators/corpus.csv") and said["cases"] > 1000
    index = Path(said["file"]).read_text()
    project.write("fixtures/operators/corpus.csv", index.replace("\ntest_abs,node,1,", "\ntest_abs,node,2,"))
    changed = project.bench("corpus", "check")
    assert changed.returncode == 1 and changed.stdout.startswith("test_abs: differs\nfixtures/operators/corpus.csv: ")
    written = project.bench("corpus", "update", "--file", "mine.csv", "--json")
    assert written.returncode == 0 and len(json.loads(written.stdout)["changed"]) == said["cases"]
    assert (project.folder / "mine.csv").read_text() == index


def _failed(project: Project) -> str:
    import subprocess

    command = json.loads((project.folder / "run.txt").read_text())
    subprocess.run(command, cwd=project.folder, env=project.environment, capture_output=True, check=False)
    rows = [json.loads(line) for line in (project.folder / "out/rows.jsonl").read_text().splitlines()]
    return str(next(row["key"] for row in rows if row["kind"] == "cell"))
