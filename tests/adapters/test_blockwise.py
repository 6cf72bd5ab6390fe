"""MatMulNBits in float64 computes what onnxruntime computes, whose operator it is, and a scaled block is noticed."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from bench_plugin.reach.environments.toolchains import Toolchains
from tests.given_file import EQUIVALENCE, the_row, write_file
from tests.project import Project

ROOT = Path(__file__).parents[2]
MODEL = r"""
import numpy as np, onnx
from onnx import helper as h, numpy_helper as nh


def product(rng, bits, columns, rows, block, zeros="", bias=False, groups=False):
    count = -(-columns // block)
    given = {"packed": rng.integers(0, 256, (rows, count, block * bits // 8), dtype=np.uint8),
             "scales": rng.uniform(0.01, 0.06, (rows, count)).astype("float32")}
    packed = rng.integers(0, 256, rows * -(-count * bits // 8), dtype=np.uint8)
    given |= {"": None, "packed": {"zeros": packed}, "float": {"zeros": rng.uniform(0, 8, rows * count).astype("f")}
              }[zeros] or {}
    given |= {"groups": rng.integers(0, count, columns).astype("int32")} if groups else {}
    given |= {"bias": rng.standard_normal(rows).astype("float32")} if bias else {}
    names = ["x", *(name if name in given else "" for name in ("packed", "scales", "zeros", "groups", "bias"))]
    node = h.make_node("MatMulNBits", names, ["y"], domain="com.microsoft", name="product", K=columns, N=rows,
                       bits=bits, block_size=block)
    single = [h.make_tensor_value_info(name, 1, [2, size]) for name, size in (("x", columns), ("y", rows))]
    graph = h.make_graph([node], "g", single[:1], single[1:], [nh.from_array(one, name) for name, one in given.items()])
    opsets = [h.make_opsetid("", 17), h.make_opsetid("com.microsoft", 1)]
    return h.make_model(graph, opset_imports=opsets, ir_version=8)
"""
COMPARE = (
    MODEL
    + r"""
import itertools, sys
sys.path.insert(0, sys.argv[1])
import onnxruntime
from bench_plugin.adapters.onnx_tools import onnx_float64
from bench_plugin.agent.adapter import Unsupported
from bench_plugin.agent.arrays import from_numpy, to_numpy
from bench_plugin.agent.contract import EvaluateCall, Place

rng, path = np.random.default_rng(0), sys.argv[2]
sizes = (64, 32, 32), (60, 5, 16), (33, 7, 16), (128, 8, 64)  # some columns are no whole block


def exact(model, x):
    onnx.save(model, path)
    place = Place("", {"model.onnx": path}, {"in:x": from_numpy(x)}, lambda stage: None)
    return to_numpy(onnx_float64.Adapter().evaluate(EvaluateCall(batched=False, samples=1).at(place)).arrays["out0"])


compared = 0
for bits, size, zeros, bias in itertools.product((2, 4, 8), sizes, ("", "packed", "float"), (False, True)):
    if bits == 8 and zeros == "float":  # onnxruntime has no such kernel
        continue
    model = product(rng, bits, *size, zeros=zeros, bias=bias)
    x = rng.standard_normal((2, size[0])).astype("float32")
    expected = onnxruntime.InferenceSession(model.SerializeToString()).run(None, {"x": x})[0]
    found = exact(model, x[np.newaxis])[0]
    assert found.dtype == np.float64 and np.allclose(found, expected, 1e-4, 1e-5), (bits, size, zeros, bias)
    compared += 1
try:
    exact(product(rng, 4, 64, 32, 32, groups=True), rng.standard_normal((1, 2, 64)).astype("float32"))
except Unsupported as refused:
    print(compared, refused)
"""
)
FILE = (
    MODEL
    + r"""
import sys
onnx.save(product(np.random.default_rng(0), 4, 64, 32, 32, bias=True), sys.argv[1])
"""
)


def test_it_is_what_onnxruntime_computes(tmp_path: Path) -> None:
    command = [str(Toolchains().ensure("onnxruntime")), "-c", COMPARE, str(ROOT), str(tmp_path / "model.onnx")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.stdout == "64 MatMulNBits with g_idx has no float64 reference here\n", done.stderr


@pytest.mark.parametrize("compiler", ["onnxruntime", "openvino"])
def test_a_file_with_blocks_of_four_bits_has_a_verdict(project: Project, compiler: str) -> None:
    project.write("test_models.py", EQUIVALENCE)
    path = write_file(project, Toolchains().ensure("onnxruntime"), FILE, "blocks.onnx")
    row = the_row(project.run(f"--compilers={compiler}", "--precisions=fp32", f"--bench-onnx={path}"))
    numbers = row["numbers"]
    assert row["status"] == "supported" and numbers["truth"] == "file in float64", row["reason"]
    assert numbers["E"] < 1e-6 and numbers["mutants"]["weights x 1.01"]["killed"]
    assert numbers["mutants"]["weights x 1.01"]["site"] == "MatMulNBits product"
