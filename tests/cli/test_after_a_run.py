"""After a run: a cell again, the grid again, what an environment that is missing looks like, plain ONNX files."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.project import Project

PLAIN = """
import sys
import numpy as np
import onnx
from onnx import helper, numpy_helper

rng = np.random.default_rng(0)
weights = numpy_helper.from_array(rng.standard_normal((8, 4)).astype("float32"), "w")
graph = helper.make_graph(
    [helper.make_node("MatMul", ["x", "w"], ["h"]), helper.make_node("Tanh", ["h"], ["y"])], "plain",
    [helper.make_tensor_value_info("x", 1, ["n", 8])], [helper.make_tensor_value_info("y", 1, ["n", 4])], [weights],
)
onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), "plain.onnx")
model = onnx.load("plain.onnx")
onnx.save(model, "outside.onnx", save_as_external_data=True, location="outside.data", size_threshold=0)
model = onnx.load("plain.onnx")
model.opset_import[0].version = 27
onnx.save(model, "newer.onnx")
"""


@pytest.fixture
def files(project: Project, tools_python: Path) -> Project:
    """A project with plain ONNX files, good and bad."""
    project.write("make.py", PLAIN)
    subprocess.run([str(tools_python), "make.py"], cwd=project.folder, check=True)
    (project.folder / "outside.data").unlink()
    project.write("text.onnx", "this is no model")
    data = (project.folder / "plain.onnx").read_bytes()
    (project.folder / "truncated.onnx").write_bytes(data[: len(data) // 2])
    return project


def test_repro_runs_the_cell_alone_and_afresh(project: Project) -> None:
    project.model("a", "export:wrong-weights")
    project.model("b")
    rows = project.run().cells("export")
    key = rows["a"]["key"]
    page = (project.folder / "reports/onnx-support.md").read_text()
    again = project.bench("repro", key[:6])
    assert again.returncode == 1
    assert (project.folder / "reports/onnx-support.md").read_text() == page, "its pages are in reports/repro"
    assert (project.folder / "reports/repro/onnx-support.md").is_file()
    assert "mismatch at compare" in again.stdout
    assert "1 failed" in again.stdout
    assert "cached" not in again.stdout.split("0 with cached")[0]
    assert project.bench("repro", rows["b"]["nodeid"]).returncode == 0
    assert project.bench("repro", rows["a"]["nodeid"], "--print").stdout.count("--bench-refresh") == 1
    missing = project.bench("repro", "000000000000")
    assert missing.returncode == 2
    assert "no cell of" in missing.stderr


def test_grid_draws_the_rows_again(project: Project) -> None:
    project.model("a")
    project.model("b", "export:exception")
    project.run()
    done = project.bench("grid", "reports/results.jsonl", "--output", "pages")
    assert done.returncode == 1, "a failure that no expectation covers"
    assert "Model a" in done.stdout
    assert "ERROR / unverified" in done.stdout
    suffixes = {path.suffix for path in (project.folder / "pages").iterdir()}
    assert suffixes == {".md", ".rst", ".html", ".csv", ".json"}
    assert "ValueError: this is the first line" in (project.folder / "pages/onnx-support.md").read_text()
    assert project.bench("grid", "nothing.jsonl").returncode == 2


def test_a_cut_last_line_is_ignored_and_said(project: Project) -> None:
    project.model("a")
    project.run()
    with (project.folder / "reports/results.jsonl").open("a") as file:
        file.write('{"schema": 1, "kind": "cell", "key"')
    assert "is incomplete or corrupt and was ignored" in project.bench("grid").stdout


def test_a_plain_file_is_checked_run_and_imported(files: Project) -> None:
    finished = files.run("--bench-onnx=plain.onnx")
    assert finished.verdict("plain") == ("supported", None, None)
    assert finished.verdict("plain", "import") == ("ERROR", "run", "exception"), (
        "the fake framework knows its own files"
    )


def test_a_file_that_is_too_new_is_version_skew_for_the_runtime(files: Project) -> None:
    row = files.run("--bench-onnx=newer.onnx", "-k", "export").cells("export")["newer"]
    assert row["status"] in ("supported", "unverified"), row["reason"]
    assert any("version-skew" in flag for flag in row["flags"])


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("text", "is not an ONNX file, or it is truncated"),
        ("truncated", "is not an ONNX file, or it is truncated"),
        ("outside", "weights lie in external file 'outside.data', which is not beside the model"),
    ],
)
def test_bad_files_are_invalid_models(files: Project, name: str, message: str) -> None:
    finished = files.run(f"--bench-onnx={name}.onnx", "-k", "export")
    assert finished.verdict(name) == ("ERROR", "check", "invalid-model")
    assert message in finished.cells("export")[name]["reason"]
    assert finished.code == 1


def test_an_environment_that_cannot_be_made_is_a_visible_skip(project: Project) -> None:
    project.model("a")
    project.write("toolchains/fake.toml", 'title = "F"\ninterpreter = ">=3.11"\nrequirements = ["no-such-thing==1"]\n')
    project.write("toolchains/fake.lock", f"no-such-thing==1 \\\n    --hash=sha256:{'0' * 64}\n")
    project.environment |= {"UV_OFFLINE": "1", "BENCH_CACHE": str(project.folder / "own")}
    finished = project.run("-rs", "-k", "export")
    assert finished.code == 0
    assert "Not provided: toolchain fake cannot be made" in finished.text
    assert finished.cells("export")["a"]["status"] == "Not provided"


def test_an_interpreter_that_is_missing_is_named(project: Project) -> None:
    project.model("a")
    project.write("toolchains/fake.toml", 'title = "Fake"\npython = "nowhere/bin/python"\n')
    finished = project.run("-rs", "-k", "export")
    assert "names the interpreter" in finished.text
    assert finished.cells("export")["a"]["status"] == "Not provided"


def test_a_cell_alone_and_after_the_others_has_the_same_outcome(project: Project) -> None:
    for name, fault in {"a": "", "b": "run:wrong", "c": "export:used-only", "d": "reference:segfault"}.items():
        project.model(name, fault)
    together = project.run("--bench-refresh").cells("export")
    for name in "abcd":
        alone = project.run("--bench-refresh", "-k", "export", models=name).cells("export")[name]
        same = ("status", "stage", "symptom", "numbers")
        assert [alone[key] for key in same] == [together[name][key] for key in same]


def test_stopping_at_the_first_failure_ends_at_once(project: Project) -> None:
    project.model("a", "export:exception")
    project.model("b", "export:pause")
    finished = project.run("-x")
    assert finished.code == 1
    assert "1 failed" in finished.text


def test_cache_info_and_prune(project: Project) -> None:
    project.model("a")
    project.run()
    assert "export" in project.bench("cache", "info", "--cache", "cache").stdout
    pruned = project.bench("cache", "prune", "--cache", "cache", "--keep-gb", "0")
    assert "cache: 0 entries" in pruned.stdout
    assert (project.folder / "cache/.gitignore").read_text() == "*\n"
