"""MNN 3.6.1: ConstantOfShape without a value is filled with four bytes that nobody wrote.

Rule: ONNX ConstantOfShape 9, attribute value: 'if not specified, it defaults to a tensor of value 0 and datatype float32'.
The converter makes its constant from the attribute's bytes, of which there are none: the branch that would take 0.0 is
never reached, since it adds an attribute of its own (onnx_opset_version) to every node. So whatever the memory held while
converting is frozen into the file, often 0, sometimes 1e-19, -2700 or NaN. 65 of onnx's own cases hold such a node.
One model is converted twelve times here; by luck all may be 0.
Needs mnn==3.6.1, onnx and numpy. Ends with 1 while the defect shows, with 0 when it is gone.
"""

import os
import sys
import tempfile

import numpy as np
import onnx
from onnx import TensorProto as T, helper as h

import MNN.expr as expressions
import MNN.nn as nn
import _tools  # the converter itself: the command mnnconvert installs packages when it starts

nodes = [
    h.make_node("ConstantOfShape", ["shape"], ["zeros"]),
    h.make_node("Concat", ["zeros", "x"], ["padded"], axis=2),
    h.make_node("Conv", ["padded", "w"], ["y"]),
]
weight = onnx.numpy_helper.from_array(np.ones((1, 2, 4), np.float32), "w")
shape = onnx.numpy_helper.from_array(np.array([1, 2, 3], np.int64), "shape")
graph = h.make_graph(
    nodes,
    "g",
    [h.make_tensor_value_info("x", T.FLOAT, [1, 2, 4])],
    [h.make_tensor_value_info("zeros", T.FLOAT, [1, 2, 3])],
    [weight, shape],
)
model = h.make_model(graph, opset_imports=[h.make_opsetid("", 17)], ir_version=8)
onnx.checker.check_model(model, full_check=True)
folder = tempfile.mkdtemp()
source = os.path.join(folder, "model.onnx")
onnx.save(model, source)
seen = set()
kept = os.dup(1)
os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
for n in range(12):
    target = os.path.join(folder, f"model{n}.mnn")
    _tools.mnnconvert(["mnnconvert", "-f", "ONNX", "--modelFile", source, "--MNNModel", target, "--bizCode", "repro"])
    module = nn.load_module_from_file(target, ["x"], ["zeros"])
    x = expressions.placeholder([1, 2, 4], expressions.NCHW, expressions.float)
    x.write(np.random.default_rng(n).standard_normal((1, 2, 4)).astype(np.float32))
    found = module.forward([x])
    found = found[0] if isinstance(found, (list, tuple)) else found
    seen.add(float(found.read().reshape(-1)[0]))
os.dup2(kept, 1)
print("expected 0.0 each time")
print("got     ", sorted(seen))
sys.exit(int(seen != {0.0}))
