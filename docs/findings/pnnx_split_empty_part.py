"""pnnx 20261020 (ncnn): Split into parts of 8 and 0 elements becomes a layer that ncnn cannot load.

Rule: ONNX Split 18, split: 'Values should be >= 0'. The function body of RotaryEmbedding 23 has such a Split.
pnnx writes ncnn's layer Slice with the sizes 8 and 0, whose loader refuses a part without elements.
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
port = h.make_tensor_value_info("x", onnx.TensorProto.FLOAT, [8])
outputs = [h.make_tensor_value_info(k, onnx.TensorProto.FLOAT, [n]) for k, n in (("y", 8), ("z", 0))]
sizes = onnx.numpy_helper.from_array(np.array([8, 0]), "sizes")
graph = h.make_graph([h.make_node("Split", ["x", "sizes"], ["y", "z"], axis=0)], "g", [port], outputs, [sizes])
onnx.save(h.make_model(graph, opset_imports=[h.make_opsetid("", 18)], ir_version=8), "m.onnx")
pnnx = os.path.join(os.path.dirname(importlib.util.find_spec("pnnx").origin), "pnnx")  # the wrapper wants torch
subprocess.run([pnnx, "m.onnx", "fp16=0"], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
status = ncnn.Net().load_param("m.ncnn.param")
print("expected ncnn loads the graph with status 0")
print("got      ncnn loads the graph with status", status)
sys.exit(int(status != 0))
