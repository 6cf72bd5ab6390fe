"""Files that ONNX Runtime's dynamic quantisation is given."""

from __future__ import annotations

import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[2]
# An embedding and a product, whose weights are declared among the tensors of the graph too, as PyTorch's exporter does.
SCRIPT = """
import sys
from types import SimpleNamespace
sys.path.insert(0, sys.argv[1])
import numpy as np, onnx
from onnx import helper as h, numpy_helper as nh
from bench_plugin.adapters.onnx_tools import onnx_graphs

rng = np.random.default_rng(0)
shapes = {"table": (40, 8), "w": (8, 19)}
weights = [nh.from_array(rng.standard_normal(shape).astype("float32"), name) for name, shape in shapes.items()]
nodes = [h.make_node("Gather", ["table", "ids"], ["e"]), h.make_node("Gemm", ["e", "wt"], ["y"], transB=1)]
weights[1] = nh.from_array(rng.standard_normal((19, 8)).astype("float32"), "wt")
declared = [h.make_tensor_value_info("table", 1, [40, 8]), h.make_tensor_value_info("wt", 1, [19, 8])]
graph = h.make_graph(nodes, "g", [h.make_tensor_value_info("ids", 7, ["n"])],
                     [h.make_tensor_value_info("y", 1, ["n", 19])], weights, value_info=declared)
folder = sys.argv[2]
onnx.save(h.make_model(graph, opset_imports=[h.make_opsetid("", 17)], ir_version=8), folder + "/m.onnx")
call = SimpleNamespace(path=lambda name: folder + "/" + name)
onnx_graphs._dynamic(call, folder + "/m.onnx", folder + "/out.onnx")
print(sorted({node.op_type for node in onnx.load(folder + "/out.onnx").graph.node}))
"""

# Two layers that share their weights, as the steps of an unrolled recurrent cell, the second in a branch.
SHARED = """
import sys
from types import SimpleNamespace
sys.path.insert(0, sys.argv[1])
import numpy as np, onnx, onnxruntime
from onnx import numpy_helper as nh, parser
from bench_plugin.adapters.onnx_tools import onnx_graphs

draw = np.random.default_rng(0)
weights = {"w": draw.standard_normal((16, 16)).astype("float32"), "c": np.array(True)}
inner = "else_branch = e () => (float[4,16] p) {p = Gemm<transB=1>(a, w)}, "
inner += "then_branch = t () => (float[4,16] q) {q = Gemm<transB=1>(a, w)}"
text = '<ir_version: 8, opset_import: ["": 17]> g (float[4,16] x) => (float[4,16] y) '
model = parser.parse_model(text + "{a = Gemm<transB=1>(x, w) y = If (c) <" + inner + ">}")
model.graph.initializer.extend([nh.from_array(value, name) for name, value in weights.items()])
onnx.checker.check_model(model, full_check=True)
folder = sys.argv[2]
onnx.save(model, folder + "/m.onnx")
call = SimpleNamespace(path=lambda name: folder + "/" + name)
onnx_graphs._dynamic(call, folder + "/m.onnx", folder + "/out.onnx")
made = onnx.load(folder + "/out.onnx")
session = onnxruntime.InferenceSession(folder + "/out.onnx", providers=["CPUExecutionProvider"])
x = draw.standard_normal((4, 16)).astype("float32")
expected = x @ weights["w"].T @ weights["w"].T
off = np.abs(session.run(None, {"x": x})[0] - expected).max() / np.abs(expected).max()
print(sum(node.op_type == "MatMulInteger" for node in made.graph.node), off)
"""


def test_declared_weights_are_no_reason_to_refuse(tools_python: Path, tmp_path: Path) -> None:
    done = subprocess.run(
        [str(tools_python), "-c", SCRIPT, str(ROOT), str(tmp_path)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "MatMulInteger" in done.stdout


def test_layers_that_share_a_weight_have_one_each(tools_python: Path, tmp_path: Path) -> None:
    """The quantiser would transpose it once for each of them (docs/findings/onnxruntime_quantiser_gemm_shared.py)."""
    done = subprocess.run(
        [str(tools_python), "-c", SHARED, str(ROOT), str(tmp_path)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    quantised, off = done.stdout.split()
    assert int(quantised) >= 1 and float(off) < 0.05
