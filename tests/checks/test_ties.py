"""A quantised file that is run in float32: where a tie decides an integer, nothing is proven, and nothing is wrong."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bench_plugin.inventory.adapters import Catalog
from bench_plugin.reach.environments.toolchains import Toolchains
from bench_plugin.reach.processes.leased_agent import Limits
from bench_plugin.reach.processes.supervisor import AgentPool
from tests.adapters.real import written
from tests.given_file import compiles, the_row, write_file
from tests.project import Project

# A product of which one number lies in front of the middle of two steps: by four roundings to float32 of the largest
# number, or by a thousand. What rounding alone changes does not get there.
MAKE = """
import sys
import numpy as np, onnx
from onnx import helper as h, numpy_helper as n
path, distance = sys.argv[1], float(sys.argv[2])
rng = np.random.default_rng(3)
x, w = rng.standard_normal((8, 4)).astype(np.float32), (8 * rng.standard_normal((4, 6))).astype(np.float32)
np.savez(path.replace(".onnx", ".npz"), x=x)
product, scale = x.astype(np.float64) @ w, np.float32(0.5)
bias = np.zeros(6, np.float32)
steps = product[0, 0] / scale
bias[0] = (np.floor(steps) + 0.5 - steps) * scale - distance * 2.0**-24 * np.abs(product).max()
known = {"w": w, "b": bias, "scale": scale, "zero": np.array(0, "int8")}
tensors = [n.from_array(np.asarray(values), name) for name, values in known.items()]
nodes = [h.make_node("Gemm", ["x", "w", "b"], ["t"]), h.make_node("QuantizeLinear", ["t", "scale", "zero"], ["q"]),
         h.make_node("DequantizeLinear", ["q", "scale", "zero"], ["y"])]
value = lambda name, size: h.make_tensor_value_info(name, 1, ["n", size])
graph = h.make_graph(nodes, "g", [value("x", 4)], [value("y", 6)], tensors)
onnx.save(h.make_model(graph, opset_imports=[h.make_opsetid("", 17)], ir_version=8), path)
"""
NEAR, FAR = 4, 1000
# Steps of a half: of these numbers 0.75 lies between two of them.
HALVES = """
<ir_version: 8, opset_import: ["": 17]> g (float[3] x) => (float[3] y) <float half = {0.5}, int8 zero = {0}>
{ q = QuantizeLinear(x, half, zero) y = DequantizeLinear(q, half, zero) }
"""


def row_of(project: Project, python: Path, distance: float, fault: str) -> Mapping[str, Any]:
    """The row at fp32 of a file with a number so many roundings in front of a tie."""
    compiles(project)
    path = write_file(project, python, MAKE, "net.onnx", distance)
    given = (f"--bench-onnx={path}", f"--bench-inputs={path.with_suffix('.npz')}")
    chosen = ("--compilers=fakec", "--precisions=fp32", "-k", "fakec]", f"--bench-option=fakec.fault={fault}")
    return the_row(project.run(*given, *chosen))


def test_a_tie_that_float32_decides_is_no_mismatch(project: Project, tools_python: Path) -> None:
    row = row_of(project, tools_python, NEAR, "loses-digits")
    assert (row["status"], row["unverified"]) == ("unverified", "ill-conditioned"), row["reason"]
    assert row["numbers"]["E"] > 1e-3 and "one by one" not in row["reason"], "one integer is a step further"


@pytest.mark.parametrize("fault", ["run-opposite", "run-wrong", "run-bf16"])
def test_what_is_wrong_is_a_mismatch_and_looks_like_no_precision(
    project: Project, tools_python: Path, fault: str
) -> None:
    row = row_of(project, tools_python, FAR, fault)
    assert row["status"] == "mismatch" and "looks like" not in row["reason"], row["reason"]


@pytest.mark.parametrize(("distance", "fault"), [(FAR, "loses-digits"), (NEAR, "none")])
def test_where_no_tie_is_near_or_none_is_crossed_it_is_supported(
    project: Project, tools_python: Path, distance: float, fault: str
) -> None:
    assert row_of(project, tools_python, distance, fault)["status"] == "supported"


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
