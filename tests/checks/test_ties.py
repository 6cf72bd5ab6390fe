"""A quantised file that is run in float32: where a tie decides an integer, nothing is proven, and nothing is wrong."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

from bench_plugin.checks.ties import compared_with_ties
from bench_plugin.compare.verdict import AGREE, MISMATCH, Comparison
from bench_plugin.inventory.adapters import Catalog
from bench_plugin.pipeline.judge import STEPS, Judge, ReferenceOutputs
from bench_plugin.pipeline.stages import Done
from bench_plugin.reach.environments.toolchains import Toolchains
from bench_plugin.reach.processes.leased_agent import Limits
from bench_plugin.reach.processes.supervisor import AgentPool
from tests.adapters.real import written
from tests.given_file import compiles, the_row, write_file
from tests.project import Project

# All that is rounded lies in the middle of two steps of 0.1, or, if it is moved by a fifth of a step, beside it.
MAKE = """
import sys
import numpy as np, onnx
from onnx import helper as h, numpy_helper as n
weight = 20 * np.random.default_rng(3).standard_normal((8, 6)) / 8**0.5
known = {"w": weight, "part": float(sys.argv[2]), "tenth": 0.1}
tensors = [n.from_array(np.asarray(values, "float32"), name) for name, values in known.items()]
tensors.append(n.from_array(np.array(0, "int8"), "zero"))
nodes = [h.make_node("MatMul", ["x", "w"], ["m"]), h.make_node("Round", ["m"], ["r"]),
         h.make_node("Add", ["r", "part"], ["a"]), h.make_node("Mul", ["a", "tenth"], ["t"]),
         h.make_node("QuantizeLinear", ["t", "tenth", "zero"], ["q"]),
         h.make_node("DequantizeLinear", ["q", "tenth", "zero"], ["y"])]
value = lambda name, size: h.make_tensor_value_info(name, 1, ["n", size])
graph = h.make_graph(nodes, "g", [value("x", 8)], [value("y", 6)], tensors)
onnx.save(h.make_model(graph, opset_imports=[h.make_opsetid("", 17)], ir_version=8), sys.argv[1])
"""
# Steps of a half: of these numbers 0.75 lies between two of them.
HALVES = """
<ir_version: 8, opset_import: ["": 17]> g (float[3] x) => (float[3] y) <float half = {0.5}, int8 zero = {0}>
{ q = QuantizeLinear(x, half, zero) y = DequantizeLinear(q, half, zero) }
"""


def row_of(project: Project, python: Path, part: float, fault: str = "none") -> Mapping[str, Any]:
    """The row at fp32 of a file whose values lie at this part of a step."""
    compiles(project)
    path = write_file(project, python, MAKE, "net.onnx", part)
    chosen = ("--compilers=fakec", "--precisions=fp32", "-k", "fakec]", f"--bench-option=fakec.fault={fault}")
    return the_row(project.run(f"--bench-onnx={path}", *chosen))


def test_a_tie_that_float32_decides_is_no_mismatch(project: Project, tools_python: Path) -> None:
    row = row_of(project, tools_python, 0.5)
    assert (row["status"], row["unverified"]) == ("unverified", "ill-conditioned"), row["reason"]
    assert 1e-3 < row["numbers"]["noise_E"] < 0.2, "some integers are a step further"


@pytest.mark.parametrize(("part", "fault"), [(0.5, "run-opposite"), (0.3, "run-wrong"), (0.3, "run-bf16")])
def test_what_is_wrong_beside_is_a_mismatch_and_looks_like_no_precision(
    project: Project, tools_python: Path, part: float, fault: str
) -> None:
    row = row_of(project, tools_python, part, fault)
    assert row["status"] == "mismatch" and "looks like" not in row["reason"], row["reason"]


def test_where_no_tie_is_near_it_is_supported(project: Project, tools_python: Path) -> None:
    assert row_of(project, tools_python, 0.3)["status"] == "supported"


@pytest.mark.parametrize(("kind", "middle"), [("fp32", 1.0), ("steps-up", 1.0), ("steps-down", 0.5)])
def test_what_is_rounded_is_moved_to_either_side_of_a_tie(tmp_path: Path, kind: str, middle: float) -> None:
    pool = AgentPool(Toolchains().ensure, tmp_path / "logs", Catalog(()).sources, tmp_path / "work")
    given = {"in:x": np.array([[0.1, 0.75, -1.4]], np.float32)}
    request = {"samples": 1, "batched": False, "only": kind}
    try:
        with pool.lease("onnxruntime") as leased:
            answer = leased.call(
                "onnx_emulate", "emulate", request, arrays=given, limits=Limits(60, 2**32),
                files={"model.onnx": written(HALVES, tmp_path / "model.onnx")},
            )  # fmt: skip
    finally:
        pool.close()
    assert answer.arrays[f"{kind}:out0"].tolist() == [[0.0, middle, -1.5]]


@pytest.mark.parametrize(
    ("operators", "precision", "status"),
    [(["QuantizeLinear"], "fp32", AGREE), (["Conv"], "fp32", MISMATCH), (["QuantizeLinear"], "fp16", MISMATCH)],
)
def test_a_run_is_compared_again_with_what_ties_change(operators: list[str], precision: str, status: str) -> None:
    truth = np.random.default_rng(0).standard_normal((8, 40))
    moved = {kind: truth + 0.001 * sign for kind, sign in zip(STEPS, (1, -1), strict=True)}
    stages = iter([Done(failure=None, arrays={f"{kind}:out0": x}) for kind, x in moved.items()])
    run = cast(Any, SimpleNamespace(
        model=SimpleNamespace(detections=False, onnx=None, samples=8), judge=Judge({}), obtain=lambda *_: next(stages),
        tasks=SimpleNamespace(limits=lambda *_: None),
    ))  # fmt: skip
    expected = ReferenceOutputs({"y": truth}, "file in float64", {}, {}, {})

    def judged(reference: ReferenceOutputs) -> Comparison:
        return Comparison(AGREE if reference.noise["y"].E > 5e-4 else MISMATCH)

    check = Done(failure=None, meta={"check": {"operators": operators, "nodes": 1, "parameters": 1}})
    subject = cast(
        Any, SimpleNamespace(inputs=SimpleNamespace(batched=True, arrays=dict, parts={}), origin="", files={})
    )
    found = compared_with_ties(run, subject, check, expected, expected, Comparison(MISMATCH), precision, judged)
    assert found.status == status
