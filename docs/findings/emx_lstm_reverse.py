"""emx-onnx-cgen 1.4.0: LSTM writes Y of the reverse direction in the order of its steps, not of the sequence.

Rule: LSTM 22, output Y: [seq_length, num_directions, batch_size, hidden_size]; ONNX's reference and onnxruntime have
the state of step t at Y[t] whatever the direction is. Y_h is right, and the cases of ONNX ask for nothing else.
Upstream: none known.
Needs: pip install emx-onnx-cgen==1.4.0 onnx numpy, and gcc. Exits with 1 while the defect shows.
"""

import ctypes
import importlib
import os
import subprocess
import sys
import tempfile

import numpy as np
import onnx
from emx_onnx_cgen.compiler import Compiler, CompilerOptions
from onnx import helper
from onnx.reference import ReferenceEvaluator


def run(model, *arrays):
    """Call the C of the model; the last array is written to."""
    onnx.checker.check_model(model, full_check=True)
    importlib.import_module("emx_onnx_cgen.lowering").load_lowering_registry()
    source, _ = Compiler(CompilerOptions(model_name="model")).compile_with_weight_data(model)
    folder = tempfile.mkdtemp()
    with open(os.path.join(folder, "m.c"), "w") as file:
        file.write(source)
    subprocess.run(
        ["gcc", "-O2", "-std=c99", "-w", "-fPIC", "-shared", "m.c", "-o", "m.so", "-lm"], cwd=folder, check=True
    )
    ctypes.CDLL(os.path.join(folder, "m.so")).model(*(ctypes.c_void_p(x.ctypes.data) for x in arrays))


def port(name, x):
    return helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(x.dtype), x.shape)


x = np.arange(3, dtype=np.float32).reshape(3, 1, 1)
w, r = np.ones((1, 4, 1), np.float32), np.zeros((1, 4, 1), np.float32)
got = np.zeros((3, 1, 1, 1), np.float32)
node = helper.make_node("LSTM", list("xwr"), ["y"], hidden_size=1, direction="reverse")
graph = helper.make_graph([node], "g", [port("x", x), port("w", w), port("r", r)], [port("y", got)])
model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 14)], ir_version=8)
[expected] = ReferenceEvaluator(model).run(None, {"x": x, "w": w, "r": r})
run(model, x, w, r, got)
print("got     ", got.ravel())
print("expected", expected.ravel())
sys.exit(0 if np.allclose(got, expected, atol=1e-5) else 1)
