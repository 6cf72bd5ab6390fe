"""``--bench-resume`` reuses a cell only where nothing that it depends on may be gone, or has changed."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

import bench_plugin
from tests.project import Finished, Project


def computed(project: Project, *arguments: str) -> tuple[Finished, set[tuple[str, str]]]:
    """A resumed run, and (check, model) of the cells that it did not reuse: those whose rows it appended."""
    before = len(project.rows())
    finished = project.run("--bench-resume", *arguments)
    new = [row for row in finished.rows[before:] if row["kind"] == "cell"]
    return finished, {(row["check"], row["cell"]["model"]) for row in new}


def both(*models: str) -> set[tuple[str, str]]:
    return {(check, model) for check in ("export", "import") for model in models}


def test_what_may_be_gone_is_computed_again_and_what_follows_from_it(project: Project) -> None:
    project.model("fine")
    project.model("refuses", "export:unsupported")
    project.model("wrong", "export:wrong-weights")
    project.model("crash", "export:segfault")
    project.model("hangs", "export:sleep", seconds=0.5)
    project.model("garbage", "export:garbage")
    first = project.run()
    assert first.verdict("crash", "import")[0] == "unverified"
    assert {row["cell"]["model"] for row in first.rows if row.get("reusable") is False} == {"hangs", "garbage"}
    resumed, again = computed(project)
    assert again == both("hangs", "garbage")  # the crash came twice in fresh processes
    assert "8 rows reused" in resumed.text
    assert resumed.code == 1 and resumed.verdict("crash") == ("ERROR", "export", "crash")
    assert len(resumed.cells("export")) == 6


def test_a_toolchain_that_was_missing_is_tried_again(project: Project) -> None:
    project.model("a")
    path = project.folder / "toolchains/fake.toml"
    path.write_text('title = "Fake"\npython = "/nowhere/python"\n')
    first = project.run("-k", "export")
    assert [row["status"] for row in first.rows if row["kind"] == "cell"] == ["Not provided"]
    resumed, again = computed(project, "-k", "export")
    assert again == {("export", "a")} and "0 rows reused" in resumed.text


def test_another_number_of_threads_is_another_cell(project: Project) -> None:
    project.model("a")
    project.run("--bench-threads=1")
    assert "2 rows reused" in project.run("--bench-resume", "--bench-threads=1").text
    finished, again = computed(project, "--bench-threads=3")
    assert again == both("a") and "0 rows reused" in finished.text


def test_a_change_of_the_code_that_judges_computes_every_cell_again(project: Project) -> None:
    own = project.folder / "own/bench_plugin"
    shutil.copytree(Path(bench_plugin.__file__).parent, own)  # with compiled modules: compiling them takes seconds
    project.environment["PYTHONPATH"] = str(own.parent)
    project.model("a")
    project.run("-k", "export")
    for name in ("compare/verdict.py", "pipeline/judging/judge.py", "checks/roundtrip/check.py"):
        unchanged, again = computed(project, "-k", "export")
        assert not again and "1 rows reused" in unchanged.text, name
        changed = own / name
        changed.write_bytes(changed.read_bytes() + b"#")
        finished, again = computed(project, "-k", "export")
        assert again == {("export", "a")}, name
        assert "export" in finished.cells("export")["a"]["stages_cached"], "the stages themselves did not change"


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ({"schema": 9, "kind": "header"}, "line 1 has schema 9, this version reads 1"),
        ({"schema": 1, "kind": "novel"}, "line 1 is not a row of a results file"),
    ],
)
def test_a_file_that_this_version_does_not_read_is_not_resumed(
    project: Project, line: dict[str, Any], message: str
) -> None:
    project.model("a")
    text = json.dumps(line) + "\n"
    path = project.write("reports/results.jsonl", text)
    finished = project.run("--bench-resume")
    assert finished.code == 4 and message in finished.text and "INTERNALERROR" not in finished.text
    assert path.read_text() == text


def test_a_run_that_was_killed_in_its_first_row_is_resumed(project: Project) -> None:
    project.model("a")
    project.write("reports/results.jsonl", '{"schema": 1, "kind": "hea')
    with project.start("--bench-resume", "-k", "export") as process:
        text, _ = process.communicate(timeout=120)
    assert process.returncode == 0, text
    lines = (project.folder / "reports/results.jsonl").read_text().splitlines()
    assert [json.loads(line)["kind"] for line in lines[1:]] == ["header", "plan", "cell"]
