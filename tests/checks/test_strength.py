"""No cell is supported whose comparison would not notice a wrong model, whatever the check and the precision."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.given_file import EQUIVALENCE, compiles, the_row, write_file
from tests.project import Project

TESTS = f"""{EQUIVALENCE}
@pytest.mark.bench(check="import")
def test_import(bench_cell):
    bench_cell.verify()

@pytest.mark.bench(check="export")
def test_export(bench_cell):
    bench_cell.verify()
"""
# The two layers that the importer of the fake framework knows (a, b, c, d), and between them a residual block that it
# leaves out: what the block adds is multiplied by LayerScale.
MAKE = """
import sys
import numpy as np, onnx
from onnx import helper as h
path, scale, dtype = sys.argv[1], float(sys.argv[2]), sys.argv[3]
gate = float(sys.argv[4]) if len(sys.argv) > 4 else None
rng = np.random.default_rng(3)
shapes = {"a": (8, 16), "b": (16,), "e": (16, 16), "c": (16, 4), "d": (4,)}
weights = {name: rng.standard_normal(shape) / (shape[0] ** 0.5 if len(shape) > 1 else 4)
           for name, shape in shapes.items()}
weights["s"] = np.full(16, scale)
nodes = [
    h.make_node("Gemm", ["x", "a", "b"], ["h"]), h.make_node("Relu", ["h"], ["r"]),
    h.make_node("MatMul", ["r" if gate is None else "v", "e"], ["m"]), h.make_node("Mul", ["m", "s"], ["f"]),
    h.make_node("Add", ["r", "f"], ["g"], name="residual"), h.make_node("Gemm", ["g", "c", "d"], ["y"]),
]
if gate is not None:  # what goes through the block is multiplied by 1 + gate * z, where z is another input
    weights |= {"gate": np.full(1, gate), "one": np.ones(1)}
    nodes[2:2] = [h.make_node("Mul", ["z", "gate"], ["t"]), h.make_node("Add", ["t", "one"], ["u"]),
                  h.make_node("Mul", ["r", "u"], ["v"])]
kind = {"float32": 1, "float16": 10}[dtype]
value = lambda name, size: h.make_tensor_value_info(name, kind, ["n", size])
tensors = [onnx.numpy_helper.from_array(values.astype(dtype), name) for name, values in weights.items()]
graph = h.make_graph(nodes, "g", [value("x", 8)] + [value("z", 16)] * (gate is not None), [value("y", 4)], tensors)
onnx.save(h.make_model(graph, opset_imports=[h.make_opsetid("", 17)], ir_version=8), path)
"""
DEAD, HIDDEN, FAINT, VISIBLE = 0.0, 1e-8, 1e-3, 0.5


@pytest.fixture
def blocks(project: Project) -> Project:
    """A project that compiles and imports given files with the fakes."""
    compiles(project, tests=TESTS)
    return project


def run(
    project: Project, python: Path, scale: float, *arguments: str, fault: str = "none", dtype: str = "float32",
    gate: float | None = None,
) -> Mapping[str, Any]:  # fmt: skip
    """The row of the one cell that ``arguments`` select, of a file whose LayerScale is ``scale``.

    With a ``gate`` the file has a second input, which changes what goes through the block by that share.
    """
    path = write_file(project, python, MAKE, "block.onnx", scale, dtype, *([] if gate is None else [gate]))
    options = (f"--bench-onnx={path}", "--compilers=fakec", f"--bench-option=fakec.fault={fault}")
    return the_row(project.run(*options, *arguments))


COMPILED = {
    "fp32": ("-k", "equivalence and fakec]", "--precisions=fp32"),
    "bf16": ("-k", "equivalence and bf16", "--precisions=bf16"),
    "w16": ("-k", "equivalence and w16 and not own", "--precisions=w16"),
    "w8a8": ("-k", "equivalence and qdq", "--precisions=w8a8"),
}


@pytest.mark.parametrize("precision", COMPILED)
def test_a_compiler_that_leaves_out_a_block_that_no_number_shows_is_not_supported(
    blocks: Project, tools_python: Path, precision: str
) -> None:
    row = run(blocks, tools_python, HIDDEN, *COMPILED[precision], fault="leaves-out")
    assert (row["status"], row["unverified"]) == ("unverified", "not sensitive"), row["reason"]
    assert "residual branch zeroed" in row["reason"]
    assert row["numbers"]["mutants"]["residual branch zeroed"]["killed"] is False


def test_by_approximation_too_a_block_that_no_number_shows_is_refused(blocks: Project, tools_python: Path) -> None:
    own = ("-k", "equivalence and own", "--precisions=w8a8")
    row = run(blocks, tools_python, HIDDEN, *own, fault="leaves-out")
    assert (row["status"], row["unverified"]) == ("unverified", "not sensitive"), row["reason"]
    assert "by approximation" in row["flags"] and "residual branch zeroed" in row["reason"]
    row = run(blocks, tools_python, VISIBLE, *own)
    assert row["status"] == "supported" and "residual branch zeroed" not in row["numbers"]["mutants_missed"]


@pytest.mark.parametrize("precision", COMPILED)
def test_a_block_that_the_numbers_show_is_missed_and_found(blocks: Project, tools_python: Path, precision: str) -> None:
    row = run(blocks, tools_python, VISIBLE, *COMPILED[precision])
    assert row["status"] == "supported", row["reason"]
    assert row["numbers"]["mutants"]["residual branch zeroed"]["killed"] is True
    assert 0.5 <= row["numbers"]["strength"] <= 1 and row["numbers"]["mutants_applicable"] >= 5
    missed = row["numbers"]["mutants_missed"]
    weak = [flag for flag in row["flags"] if flag.startswith("weak: ")]
    assert bool(weak) == (row["numbers"]["strength"] < 0.8)
    assert all(name in weak[0] for name in missed) if weak else len(missed) <= 1
    row = run(blocks, tools_python, VISIBLE, *COMPILED[precision], fault="leaves-out")
    assert row["status"] == "mismatch", row["reason"]


@pytest.mark.parametrize("precision", COMPILED)
def test_a_block_that_adds_nothing_on_these_inputs_is_named_in_the_row(
    blocks: Project, tools_python: Path, precision: str
) -> None:
    row = run(blocks, tools_python, DEAD, *COMPILED[precision], fault="leaves-out")
    assert row["status"] == "supported", row["reason"]
    assert "residual branch zeroed at Add residual" in row["numbers"]["mutants_unchanged"]
    assert "not exercised by these inputs: residual branch zeroed at Add residual" in row["flags"]
    seen = run(blocks, tools_python, VISIBLE, *COMPILED[precision])
    assert not any(flag.startswith("not exercised") for flag in seen["flags"])


def test_by_approximation_too_a_block_that_adds_nothing_is_named(blocks: Project, tools_python: Path) -> None:
    row = run(blocks, tools_python, DEAD, "-k", "equivalence and own", "--precisions=w8a8", fault="leaves-out")
    assert "by approximation" in row["flags"] and row["status"] == "supported", row["reason"]
    assert "not exercised by these inputs: residual branch zeroed at Add residual" in row["flags"]


@pytest.mark.parametrize("precision", COMPILED)
def test_an_input_that_no_number_shows_must_not_be_ignored(blocks: Project, tools_python: Path, precision: str) -> None:
    row = run(blocks, tools_python, VISIBLE, *COMPILED[precision], fault="ignores-input", gate=HIDDEN)
    assert (row["status"], row["unverified"]) == ("unverified", "not sensitive"), row["reason"]
    assert "input ignored at z" in row["reason"]
    seen = run(blocks, tools_python, VISIBLE, *COMPILED[precision], gate=VISIBLE)
    assert seen["status"] == "supported", seen["reason"]
    assert seen["numbers"]["mutants"]["input ignored"]["killed"] is True
    row = run(blocks, tools_python, VISIBLE, *COMPILED[precision], fault="ignores-input", gate=VISIBLE)
    assert row["status"] == "mismatch", row["reason"]


def test_an_input_without_any_effect_is_named_in_the_row(blocks: Project, tools_python: Path) -> None:
    row = run(blocks, tools_python, VISIBLE, *COMPILED["fp32"], fault="ignores-input", gate=DEAD)
    assert row["status"] == "supported", row["reason"]
    assert "not exercised by these inputs: input ignored at z" in row["flags"]
    assert row["numbers"]["mutants"]["input ignored"]["site"] == "x"


def test_the_gate_is_that_of_the_cells_own_precision(blocks: Project, tools_python: Path) -> None:
    assert run(blocks, tools_python, FAINT, *COMPILED["fp32"])["status"] == "supported"
    row = run(blocks, tools_python, FAINT, *COMPILED["bf16"])
    assert (row["status"], row["unverified"]) == ("unverified", "not sensitive"), row["reason"]
    assert "residual branch zeroed" in row["reason"]


def test_an_importer_that_leaves_out_a_block_is_not_supported(blocks: Project, tools_python: Path) -> None:
    row = run(blocks, tools_python, HIDDEN, "-k", "import and fakein")
    assert (row["status"], row["unverified"]) == ("unverified", "not sensitive"), row["reason"]
    assert "residual branch zeroed" in row["reason"]
    assert run(blocks, tools_python, VISIBLE, "-k", "import and fakein")["status"] == "mismatch"


FLOAT16 = {"export": ("-k", "export"), "equivalence": COMPILED["fp32"], "w16": COMPILED["w16"]}


@pytest.mark.parametrize("check", FLOAT16)
def test_a_file_of_float16_is_judged_with_the_noise_of_float16(blocks: Project, tools_python: Path, check: str) -> None:
    row = run(blocks, tools_python, VISIBLE, *FLOAT16[check], dtype="float16")
    assert row["status"] == "supported", row["reason"]
    assert 1e-3 <= row["numbers"]["tolerance_E"] <= 1e-2 and row["numbers"]["noise_E"] > 5e-5
    assert "float64" in row["numbers"]["truth"]
    if check == "equivalence":
        assert row["placement"]["effective_by_error"] == "fp16", row["numbers"]["E"]


def test_a_wrong_result_of_a_file_of_float16_is_a_mismatch(blocks: Project, tools_python: Path) -> None:
    row = run(blocks, tools_python, VISIBLE, *COMPILED["fp32"], dtype="float16", fault="run-wrong")
    assert row["status"] == "mismatch" and "looks like" not in row["reason"]
