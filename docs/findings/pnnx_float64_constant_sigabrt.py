"""pnnx 20261020 (ncnn): a float64 constant of one element ends it with map::at (SIGABRT).

Rule: ONNX Mul 14, constraint T: tensor(double); onnx.proto, TensorProto.DataType: DOUBLE = 11.
pnnx says 'unknown constant scalar type 11'. One of int8, uint8 or int16 ends it so too.
Needs ncnn==1.0.20261020, pnnx==20261020, onnx and numpy. Ends with 1 while the defect shows, with 0 when it is gone.
"""

import importlib.util
import os
import subprocess
import sys
import tempfile

import numpy as np
import onnx
from onnx import TensorProto
from onnx import helper as h

os.chdir(tempfile.mkdtemp())
c = onnx.numpy_helper.from_array(np.array(2.0), "c")
ports = [h.make_tensor_value_info("x", TensorProto.DOUBLE, [3])]
nodes = [h.make_node("Mul", ["x", "c"], ["y"])]
outputs = [h.make_tensor_value_info("y", TensorProto.DOUBLE, [3])]
graph = h.make_graph(nodes, "g", ports, outputs, [c])
model = h.make_model(graph, opset_imports=[h.make_opsetid("", 17)], ir_version=8)
onnx.checker.check_model(model)
onnx.save(model, "m.onnx")
pnnx = os.path.join(os.path.dirname(importlib.util.find_spec("pnnx").origin), "pnnx")  # the wrapper wants torch
done = subprocess.run([pnnx, "m.onnx", "fp16=0"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
said = [line for line in done.stdout.decode(errors="replace").splitlines() if line.startswith("unknown")]
print("expected pnnx ends with 0")
print("got      pnnx ends with", done.returncode, *said)
sys.exit(int(done.returncode != 0))
