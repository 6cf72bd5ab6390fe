"""Files with lengths of sequences, branches, loops and float16: the project's own graphs of them are right."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.project import FRAMEWORK, make_project

COMPILER = Path(__file__).parents[1] / "fake" / "compiler.py"
FILES = ("lengths", "branches", "half", "bare", "masked", "planes", "upsampled", "beside", "quantised", "turns")
TESTS = """
import pytest

@pytest.mark.bench(check="export", models=["lengths", "upsampled", "turns"])
def test_export(bench_cell):
    bench_cell.verify()

@pytest.mark.bench(check="equivalence", models=["lengths"], precisions=["fp32"])
def test_computed(bench_cell):
    bench_cell.verify()

ROUNDED = ["branches", "half", "bare", "masked", "planes", "beside", "quantised"]

@pytest.mark.bench(check="equivalence", models=ROUNDED, precisions=["w16", "w8a8"])
def test_rounded(bench_cell):
    bench_cell.verify()
"""


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory, tools_python: Path) -> Mapping[tuple[str, str, str], Any]:
    """The rows of one run, by model, check and graph."""
    project = make_project(tmp_path_factory.mktemp("unusual"), tools_python)
    project.write("bench.toml", f'adapters = ["{FRAMEWORK}", "{COMPILER}"]\ntoolchains = ["toolchains"]\n')
    project.write("test_models.py", TESTS)
    script = Path(__file__).with_name("make_unusual_files.py")
    subprocess.run([str(tools_python), str(script), str(project.folder)], check=True)
    given = [f"--bench-onnx={name}.onnx" for name in FILES]
    own = "not export and not computed and (w16 and not own or qdq) or lengths or upsampled or turns"
    finished = project.run("--compilers=fakec", *given, "--bench-inputs=lengths.npz", "-k", own)
    found = {}
    for row in (row for row in finished.rows if row["kind"] == "cell"):
        found[row["cell"]["model"], row["check"], row["cell"].get("graph") or ""] = row
    assert found, finished.text
    return found


def test_the_reference_ends_sequences_at_their_lengths(rows: Mapping[tuple[str, str, str], Any]) -> None:
    assert rows["lengths", "export", ""]["status"] == "supported", rows["lengths", "export", ""]["reason"]
    compiled = rows["lengths", "equivalence", ""]  # the fake runs onnx's own evaluator, which ignores the lengths
    assert compiled["status"] == "mismatch" and compiled["numbers"]["E"] > 0.1


@pytest.mark.parametrize("graph", ["w16", "qdq"])
def test_what_branches_and_bodies_read_is_kept(rows: Mapping[tuple[str, str, str], Any], graph: str) -> None:
    row = rows["branches", "equivalence", graph]
    assert row["status"] == "supported", row["reason"]


def test_a_file_that_cannot_be_quantised_is_no_error_of_a_compiler(rows: Mapping[tuple[str, str, str], Any]) -> None:
    row = rows["half", "equivalence", "qdq"]
    assert (row["status"], row["unverified"]) == ("unverified", "blocked")
    assert "from opset 19 on; the file has opset 17" in row["reason"]
    row = rows["bare", "equivalence", "qdq"]
    assert (row["status"], row["unverified"]) == ("unverified", "blocked")
    assert "finds nothing in this file that it quantises" in row["reason"]


def test_what_meets_an_infinite_mask_stays_in_floating_point(rows: Mapping[tuple[str, str, str], Any]) -> None:
    row = rows["masked", "equivalence", "qdq"]
    assert row["status"] == "supported", row["reason"]
    assert row["artefacts"]["graph"]["operators"]["QuantizeLinear"] > 1
    assert row["numbers"]["approximation"]["sqnr_db"] > 25


@pytest.mark.parametrize("graph", ["w16", "qdq"])
def test_weights_beside_a_file_are_quantised(rows: Mapping[tuple[str, str, str], Any], graph: str) -> None:
    row = rows["beside", "equivalence", graph]
    assert row["status"] == "supported", row["reason"]


def test_a_file_that_is_quantised_is_not_quantised_again(rows: Mapping[tuple[str, str, str], Any]) -> None:
    row = rows["quantised", "equivalence", "qdq"]
    assert row["status"] == "supported", row["reason"]
    assert row["artefacts"]["graph"]["operators"] == {"DequantizeLinear": 3, "MatMul": 1, "QuantizeLinear": 2}


def test_a_failure_within_the_quantiser_says_whose_it_is(rows: Mapping[tuple[str, str, str], Any]) -> None:
    row = rows["planes", "equivalence", "qdq"]
    assert (row["status"], row["unverified"]) == ("unverified", "blocked")
    assert row["reason"].startswith("no qdq graph: ONNX Runtime's own tool failed: ")


@pytest.mark.parametrize("model", ["upsampled", "turns"])
def test_groups_and_what_turns_give_have_a_reference(rows: Mapping[tuple[str, str, str], Any], model: str) -> None:
    row = rows[model, "export", ""]
    assert row["status"] == "supported", row["reason"]
