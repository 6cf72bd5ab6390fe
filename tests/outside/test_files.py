"""ONNX files of every kind that users bring: which are judged, and what is said of the others."""

from __future__ import annotations

import subprocess
from pathlib import Path

import numpy as np
import pytest

from tests.project import FRAMEWORK, Finished, Project, make_project

COMPILER = Path(__file__).parents[1] / "fake" / "compiler.py"
TESTS = """
import pytest

@pytest.mark.bench(check="export")
def test_export(bench_cell):
    bench_cell.verify()

@pytest.mark.bench(check="equivalence", compilers=["fakec"], precisions=["fp32"])
def test_equivalence(bench_cell):
    bench_cell.verify()
"""
SUPPORTED = ("ids", "external", "dynamic", "masked", "sloped")
# File -> status, kind of unverified, stage, symptom, and what the reason says.
OTHERS = {
    "beyond": (
        "unverified",
        "no reference",
        None,
        None,
        "the reference evaluator rejects these inputs (--bench-inputs",
    ),
    "strings": ("unverified", "harness", "check", None, "does not support input 'text', which is of type string"),
    "twice": (
        "ERROR",
        None,
        "check",
        "invalid-model",
        "onnx's checker: Graph must be in single static assignment (SSA)",
    ),
    "slope": (
        "ERROR",
        None,
        "check",
        "invalid-model",
        "PRelu 'b': a slope of shape [8] cannot be broadcast to [?, 8, 14, 18]",
    ),
    "nothing": ("unverified", "not sensitive", "compare", None, "does not change over the inputs"),
    "unranked": ("unverified", "harness", "check", None, "input 'x', which declares no number of dimensions"),
}


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory, tools_python: Path) -> Project:
    """A project with a file of every kind, and inputs for two of them."""
    project = make_project(tmp_path_factory.mktemp("files"), tools_python)
    project.write("bench.toml", f'adapters = ["{FRAMEWORK}", "{COMPILER}"]\ntoolchains = ["toolchains"]\n')
    project.write("test_models.py", TESTS)
    script = Path(__file__).parent / "make_files.py"
    subprocess.run([str(tools_python), str(script), str(project.folder)], check=True)
    rng = np.random.default_rng(1)
    np.savez(project.folder / "ids.npz", ids=rng.integers(0, 5, (12, 6)).astype(np.int32))
    np.savez(project.folder / "one.npz", x=rng.standard_normal((1, 3, 14, 18)).astype(np.float32))
    np.savez(project.folder / "double.npz", x=rng.standard_normal((4, 16)))
    return project


@pytest.fixture(scope="module")
def finished(files: Project) -> Finished:
    """One run over all files, with generated inputs."""
    return files.run("--compilers=fakec", *(f"--bench-onnx={name}.onnx" for name in (*SUPPORTED, *OTHERS)))


@pytest.mark.parametrize("name", SUPPORTED)
def test_these_are_judged(finished: Finished, name: str) -> None:
    row = finished.cells("export")[name]
    assert row["status"] == "supported", row["reason"]
    compiled = finished.cells("equivalence")[name]
    assert compiled["status"] == "supported" or name == "external"  # the fake compiler keeps no weights beside a file


@pytest.mark.parametrize("check", ["export", "equivalence"])
@pytest.mark.parametrize("name", OTHERS)
def test_these_are_no_errors_of_a_tool(finished: Finished, name: str, check: str) -> None:
    status, kind, stage, symptom, words = OTHERS[name]
    row = finished.cells(check)[name]
    assert words in row["reason"]
    assert (row["status"], row["unverified"], row["symptom"]) == (status, kind, symptom)
    assert row["stage"] == stage or name == "beyond"  # each check notices it at another stage


@pytest.mark.parametrize(("name", "status"), [("beyond", "unverified"), ("dynamic", "ERROR")])
def test_a_crash_is_none_either_on_inputs_that_nothing_can_run(files: Project, name: str, status: str) -> None:
    options = ["--compilers=fakec", f"--bench-onnx={name}.onnx", "--bench-option=fakec.fault=run-crash"]
    row = files.run("-k", "equivalence", *options).cells("equivalence")[name]
    assert row["status"] == status and ("rejects these inputs" in row["reason"]) == (name == "beyond")


def test_inputs_of_ones_own_are_used_and_repeated(files: Project) -> None:
    options = ["--bench-onnx=ids.onnx", "--bench-inputs=ids.npz", "--bench-onnx=dynamic.onnx", "--bench-inputs=one.npz"]
    finished = files.run("--compilers=fakec", *options, "--bench-results=own/results.jsonl")
    rows = Finished(finished.code, finished.text, files.rows("own/results.jsonl")).cells("export")
    assert {name: row["status"] for name, row in rows.items()} == {"ids": "supported", "dynamic": "supported"}
    assert [Path(one).name for one in rows["ids"]["settings"]["onnx_inputs"]] == ["ids.npz", "one.npz"]
    again = files.bench("repro", rows["dynamic"]["key"], "--results=own/results.jsonl", "--print").stdout
    assert "one.npz" in again and "ids.npz" not in again
    repeated = files.bench("repro", rows["dynamic"]["key"], "--results=own/results.jsonl")
    assert repeated.returncode == 0 and "1 passed" in repeated.stdout


def test_inputs_that_do_not_fit_fail_and_say_what_would(files: Project) -> None:
    options = ["--bench-onnx=external.onnx", "--bench-inputs=double.npz", "--bench-results=wrong/results.jsonl"]
    finished = files.run(*options, "-k", "export")
    assert finished.code == 1
    assert "--bench-inputs: double.npz: array 'x' is float64; the model takes x float32[n, 16]" in finished.text
