"""MNN 3.6.1 (converter of the wheel): ConstantOfShape without a value fills with 4 bytes that nobody wrote.

ConstantOfShape 9: "If attribute 'value' is not specified, the value in the output defaults to 0, and the datatype
defaults to float32." The converter makes its constant from the attribute's bytes, of which there are none, and the branch
that would take 0.0 is never reached, since it adds an attribute of its own (onnx_opset_version) to every node. So the
value is frozen into the .mnn file from whatever the memory held while converting: often 0, sometimes 1e-19, -2700 or NaN, and
another one for the next conversion of the same file. Stage compile, symptom mismatch. The script converts one model twelve
times in one process and shows what comes out. 65 of ONNX's tests hold such a node (expanded Attention, AffineGrid, causal
convolution); which of them fail changes from run to run. Needs numpy, onnx, mnn==3.6.1.
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
graph = h.make_graph(nodes, "g", [h.make_tensor_value_info("x", T.FLOAT, [1, 2, 4])],
                     [h.make_tensor_value_info("zeros", T.FLOAT, [1, 2, 3])], [weight, shape])
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
print("MNN: ConstantOfShape without a value filled with", sorted(seen), "; 0.0 was expected")
sys.exit(1 if seen - {0.0} else 0)
