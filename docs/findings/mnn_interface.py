"""MNN 3.6.1 (not supported): sequences and strings are converted, and its interface has variables of numbers alone.

Rule: ONNX SplitToSequence 11 gives a sequence, of three tensors here; Equal 19 takes strings.
The engine has operators for sequences (TensorArray). Python gets one variable for a whole sequence, from which no
element can be asked, forward() takes no list for one, and no type of MNN.expr is that of a string.
Upstream: none known.
Needs mnn==3.6.1, onnx and numpy. Ends with 1 while the defect shows, with 0 when it is gone.
"""

import os
import sys
import tempfile

import numpy as np
import onnx

import MNN.expr as expressions
import MNN.nn as nn
import _tools  # the converter itself: the command mnnconvert installs packages when it starts

TEXT = """<ir_version: 8, opset_import: ["": 17]> g (float[6] x) => (seq(float[2]) y) <int64 two = {2}>
{ y = SplitToSequence(x, two) }"""
model = onnx.parser.parse_model(TEXT)
onnx.checker.check_model(model, full_check=True)
folder = tempfile.mkdtemp()
source, target = os.path.join(folder, "model.onnx"), os.path.join(folder, "model.mnn")
onnx.save(model, source)
_tools.mnnconvert(["mnnconvert", "-f", "ONNX", "--modelFile", source, "--MNNModel", target, "--bizCode", "repro"])
module = nn.load_module_from_file(target, ["x"], ["y"])
x = expressions.placeholder([6], expressions.NCHW, expressions.float)
x.write(np.arange(6, dtype=np.float32))
found = module.forward([x])
types = sorted(name for name in vars(expressions.dtype) if not name.startswith("_"))
print("expected  a sequence of 3 tensors; a type of strings")
print("got      ", type(found).__name__, len(found) if isinstance(found, (list, tuple)) else found.shape, types)
whole = isinstance(found, (list, tuple)) and len(found) == 3
sys.exit(int(not whole or "string" not in types))
