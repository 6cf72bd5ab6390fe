"""The workflows for GitHub and GitLab: valid, careful with what they are given, and executed on the fake project."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.ci.workflows import GITHUB, GITLAB, Runner, install_commands, lacking, load, scripts
from tests.project import make_project
from tests.report.interactive.packed import packed

WORKFLOWS = sorted(GITHUB.glob("*.yml"))
SHARDS = ("1", "2")


def jobs(name: str) -> dict[str, Any]:
    found: dict[str, Any] = load(GITHUB / name)["jobs"]
    return found


@pytest.fixture(scope="module")
def runner(tmp_path_factory: pytest.TempPathFactory, tools_python: Path) -> Runner:
    project = make_project(tmp_path_factory.mktemp("workflows"), tools_python)
    for name in "abc":
        project.model(name)
    project.write("bench.toml", (project.folder / "bench.toml").read_text())
    install_commands(project)
    return Runner(project, {"GITHUB_STEP_SUMMARY": str(project.folder / "step-summary.md"), "SHARDS": "2"})


@pytest.mark.parametrize(
    ("schema", "path"),
    [*(("vendor.github-workflows", path) for path in WORKFLOWS), ("vendor.gitlab-ci", GITLAB)],
    ids=lambda value: value.name if isinstance(value, Path) else "",
)
def test_a_workflow_is_valid(schema: str, path: Path) -> None:
    pytest.importorskip("check_jsonschema", reason="needs check-jsonschema, which the extra 'dev' brings")
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", schema, str(path)]
    done = subprocess.run(command, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_a_workflow_of_github_has_few_rights_and_pinned_actions(path: Path) -> None:
    workflow = load(path)
    assert workflow["permissions"] == {"contents": "read"}
    for name, job in workflow["jobs"].items():
        assert job.get("permissions", {}) in ({}, {"pages": "write", "id-token": "write"}), name
        assert "timeout-minutes" in job or name == "publish"
        for step in job["steps"]:
            if "uses" in step:
                assert re.fullmatch(r"actions/[a-z/-]+@v\d+", step["uses"]), step["uses"]
            assert "${{" not in step.get("run", ""), "values of the event must not become a part of a script"
    counted = workflow["jobs"]["shard"]["strategy"]["matrix"]["shard"]
    assert list(map(str, counted)) == [str(one + 1) for one in range(int(workflow["env"]["SHARDS"]))]


def test_caches_are_keyed_by_the_locks() -> None:
    for path in WORKFLOWS:
        steps = load(path)["jobs"]["shard"]["steps"]
        keys = [step["with"]["key"] for step in steps if step.get("uses", "").startswith("actions/cache@")]
        assert len(keys) == 1 and "hashFiles('**/toolchains/*.lock')" in keys[0]
    cache = load(GITLAB)[".shard"]["cache"][0]
    assert all(name.endswith(".lock") for name in cache["key"]["files"])


def test_both_nights_have_the_same_groups_and_shards_and_miss_no_compiler() -> None:
    github = jobs("nightly.yml")["shard"]["strategy"]["matrix"]
    groups = {one["name"]: (one["suites"], one["options"]) for one in github["group"]}
    gitlab = load(GITLAB)["nightly"]["parallel"]["matrix"]
    assert {one["GROUP"]: (one["SUITES"], one["OPTIONS"]) for one in gitlab} == groups
    assert all(one["SHARD"] == list(SHARDS) for one in gitlab) and load(GITLAB)["nightly"]["variables"]["SHARDS"] == "2"
    named = {name for _, options in groups.values() for name in options.split(" ")[1:2] for name in name.split(",")}
    here = Path(__file__).parents[2]
    compilers = {path.stem for path in (here / "bench_plugin/adapters/compilers").glob("[a-z]*.py")}
    assert compilers - {"command"} <= named


def run_shards(runner: Runner, job: dict[str, Any], *, shards: tuple[str, ...] = SHARDS) -> str:
    said = ""
    for shard in shards:
        runner.remove("shard")
        for script in scripts(job["steps"]):
            done = runner.shell(script, {"SHARD": shard})
            assert done.returncode == 0, done.stdout
            said += done.stdout
        runner.move("shard", f"shards/shard-{shard}")
    return said


def run_job(runner: Runner, job: dict[str, Any], *, ends: int = 0) -> str:
    """Execute the steps of a job; the one that is the gate ends with ``ends``. Skips where a command is not there."""
    said = ""
    for step in job["steps"]:
        for script in scripts([step]):
            if missing := lacking(script):
                pytest.skip(f"this checkout has no command: bench {', bench '.join(missing)}")
            done = runner.shell(script, {})
            wanted = ends if "gate" in step["name"] else 0
            assert done.returncode == wanted, f"{step['name']}: {done.stdout}"
            said += done.stdout
    return said


def test_a_night_is_merged_and_published_and_the_next_one_with_a_regression_ends_red(runner: Runner) -> None:
    runner.remove("shards", "previous", "merged", "site")
    night = jobs("nightly.yml")
    said = run_shards(runner, night["shard"])
    assert "shard 1/2: " in said and "shard 2/2: " in said
    said = run_job(runner, night["merge"])
    assert "6 cells of 2 runs" in said and "0 not run" in said
    folder = runner.project.folder
    assert (folder / "site/index.html").is_file() and (folder / "site/onnx-support.md").is_file()
    assert (folder / "previous/results.jsonl").is_file()
    assert "There is no earlier night" in (folder / "step-summary.md").read_text()
    runner.remove("shards", "merged", "site")
    runner.project.model("b", "export:unsupported")
    run_shards(runner, night["shard"])
    run_job(runner, night["merge"], ends=1)
    assert "unsupported" in (folder / "step-summary.md").read_text()
    trends = packed(folder / "site/index.html", "trends").values()
    assert {len(one["run"]) for one in trends} == {2}, "the index of the nights went from night to night"
    assert ["supported", "unsupported"] in [one["status"] for one in trends]
    runner.project.model("b")


def test_a_pull_request_has_its_summary_and_its_gate(runner: Runner) -> None:
    runner.remove("shards", "previous", "merged", "site")
    pull = jobs("pull-request.yml")
    run_shards(runner, pull["shard"], shards=("1",))
    run_job(runner, pull["summary"])
    assert "without shard 2" in (runner.project.folder / "step-summary.md").read_text()


def test_the_jobs_of_gitlab_run_as_written(runner: Runner) -> None:
    runner.remove("shards", "previous", "merged", "public")
    written = load(GITLAB)
    for script in written[".shard"]["script"]:
        done = runner.shell(script, {"SHARD": "2", "CI_JOB_ID": "71"})
        assert done.returncode == 0, done.stdout
    script = "\n".join(written["merge"]["script"])
    if missing := lacking(script):
        pytest.skip(f"this checkout has no command: bench {', bench '.join(missing)}")
    done = runner.shell(script, {"CI_PIPELINE_SOURCE": "schedule"})
    assert done.returncode == 0 and "of 1 runs" in done.stdout, done.stdout
    assert (runner.project.folder / "public/index.html").is_file()
    assert (runner.project.folder / "previous/results.jsonl").is_file()
