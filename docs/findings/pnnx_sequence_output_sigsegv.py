"""pnnx 20261020 (ncnn): a file whose output is a sequence kills it (SIGSEGV).

Rule: ONNX SplitToSequence 11: the output is a 'seq(tensor(float))'; a graph's outputs may be sequences.
pnnx dies in its step shape_inference without a message.
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
ports = [h.make_tensor_value_info("x", TensorProto.FLOAT, [2, 3])]
nodes = [h.make_node("SplitToSequence", ["x"], ["y"], axis=0, keepdims=0)]
outputs = [h.make_tensor_sequence_value_info("y", TensorProto.FLOAT, [3])]
graph = h.make_graph(nodes, "g", ports, outputs)
model = h.make_model(graph, opset_imports=[h.make_opsetid("", 17)], ir_version=8)
onnx.checker.check_model(model)
onnx.save(model, "m.onnx")
pnnx = os.path.join(os.path.dirname(importlib.util.find_spec("pnnx").origin), "pnnx")  # the wrapper wants torch
done = subprocess.run([pnnx, "m.onnx", "fp16=0"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
said = [line for line in done.stdout.decode(errors="replace").splitlines() if line.startswith("ort ")]
print("expected pnnx ends with 0")
print("got      pnnx ends with", done.returncode, *said)
sys.exit(int(done.returncode != 0))
