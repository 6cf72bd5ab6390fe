"""pnnx 20261020 (ncnn): a file whose indices, axes, shapes or sizes are inputs kills it (SIGSEGV).

Rule: ONNX Gather 13: indices are an input, 'All index values are expected to be within bounds [-s, s-1]'; 7 is none of
them here.
To learn the shapes pnnx writes 7 into every int64 and 0.1 into every float32 input and runs the file with its
onnxruntime. That refuses the values; pnnx does not look at the status and goes on into a null pointer. It takes no
example values: of arrays given with input= it uses types and shapes alone. So with Reshape, Expand, Slice, Split, Pad,
Unsqueeze, TopK, Scatter...
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
ports = [h.make_tensor_value_info("x", TensorProto.FLOAT, [3]), h.make_tensor_value_info("i", TensorProto.INT64, [2])]
nodes = [h.make_node("Gather", ["x", "i"], ["y"])]
outputs = [h.make_tensor_value_info("y", TensorProto.FLOAT, [2])]
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
