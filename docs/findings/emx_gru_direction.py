"""emx-onnx-cgen 1.4.0: GRU and RNN refuse the directions reverse and bidirectional, which their code knows.

Rule: GRU 7 and RNN 7, attribute direction: "Must be one of forward (default), reverse, or bidirectional".
lowering/gru.py and rnn.py take str() of the attribute's bytes: "Unsupported GRU direction b'reverse'"; lowering/lstm.py
decodes it.
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


x, w, r = np.ones((1, 1, 1), np.float32), np.ones((1, 1, 1), np.float32), np.zeros((1, 1, 1), np.float32)
got = np.zeros((1, 1, 1, 1), np.float32)
node = helper.make_node("RNN", list("xwr"), ["y"], hidden_size=1, direction="reverse")
graph = helper.make_graph([node], "g", [port("x", x), port("w", w), port("r", r)], [port("y", got)])
try:
    run(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 14)], ir_version=8), x, w, r, got)
except Exception as error:  # of emx's own type
    print("got     ", f"{type(error).__name__}: {str(error)[:120]}")
else:
    print("got     ", float(got.ravel()[0]))
print("expected", float(np.tanh(1)))
sys.exit(0 if np.allclose(got, np.tanh(1)) else 1)
