"""pnnx 20261020 (ncnn): Gather of a stored table stays Gather, which ncnn does not have, where axis=0 is written.

Rule: ONNX Gather 13: axis, 'default is 0'. Without the attribute pnnx makes ncnn's Embed of the same node; files that
onnxruntime prepared for quantisation have the attribute.
Upstream: none known.
Needs ncnn==1.0.20261020, pnnx==20261020, onnx and numpy. Ends with 1 while the defect shows, with 0 when it is gone.
"""

import importlib.util
import os
import subprocess
import sys
import tempfile

import ncnn
import numpy as np
import onnx
from onnx import helper as h

os.chdir(tempfile.mkdtemp())
stored = [
    onnx.numpy_helper.from_array(np.ones((10, 4), np.float32), "t"),
    onnx.numpy_helper.from_array(np.ones((4, 3), np.float32), "w"),
]
ports = [h.make_tensor_value_info("x", onnx.TensorProto.INT64, [1, 5])]
nodes = [h.make_node("Gather", ["t", "x"], ["g"], axis=0), h.make_node("MatMul", ["g", "w"], ["y"])]
graph = h.make_graph(nodes, "g", ports, [h.make_tensor_value_info("y", onnx.TensorProto.FLOAT, [1, 5, 3])], stored)
onnx.save(h.make_model(graph, opset_imports=[h.make_opsetid("", 17)], ir_version=8), "m.onnx")
pnnx = os.path.join(os.path.dirname(importlib.util.find_spec("pnnx").origin), "pnnx")  # the wrapper wants torch
subprocess.run(
    [pnnx, "m.onnx", "inputshape=[1,5]i64", "fp16=0"], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
)
with open("m.ncnn.param", encoding="utf-8") as file:
    kinds = [line.split()[0] for line in file.read().splitlines()[2:]]
unknown = [kind for kind in kinds if ncnn.layer_to_index(kind) < 0]
print("expected", ["Input", "Embed", "Gemm"], "of which ncnn lacks", [])
print("got     ", kinds, "of which ncnn lacks", unknown)
sys.exit(int(bool(unknown)))
