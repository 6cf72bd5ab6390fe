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


def test_declared_weights_are_no_reason_to_refuse(tools_python: Path, tmp_path: Path) -> None:
    done = subprocess.run(
        [str(tools_python), "-c", SCRIPT, str(ROOT), str(tmp_path)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "MatMulInteger" in done.stdout
