"""pnnx 20261020 (ncnn): Sum of one tensor kills it (SIGSEGV).

Rule: ONNX Sum 13: the input data_0 is variadic, 'inputs: 1 - 2147483647'.
pnnx makes it an addition with one operand and dies in its step pass_level3.
Needs ncnn==1.0.20261020, pnnx==20261020, onnx and numpy. Ends with 1 while the defect shows, with 0 when it is gone.
"""

import importlib.util
import os
import subprocess
import sys
import tempfile

import onnx
from onnx import TensorProto
from onnx import helper as h

os.chdir(tempfile.mkdtemp())
ports = [h.make_tensor_value_info("x", TensorProto.FLOAT, [3])]
nodes = [h.make_node("Sum", ["x"], ["y"])]
outputs = [h.make_tensor_value_info("y", TensorProto.FLOAT, [3])]
graph = h.make_graph(nodes, "g", ports, outputs)
model = h.make_model(graph, opset_imports=[h.make_opsetid("", 17)], ir_version=8)
onnx.checker.check_model(model)
onnx.save(model, "m.onnx")
pnnx = os.path.join(os.path.dirname(importlib.util.find_spec("pnnx").origin), "pnnx")  # the wrapper wants torch
done = subprocess.run([pnnx, "m.onnx", "fp16=0"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
said = [
    line for line in done.stdout.decode(errors="replace").splitlines() if line.startswith("############# pass_level3")
]
print("expected pnnx ends with 0")
print("got      pnnx ends with", done.returncode, *said)
sys.exit(int(done.returncode != 0))
