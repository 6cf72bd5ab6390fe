"""emx-onnx-cgen 1.4.0 (arguable): BitShift is C's << and >>, undefined for a negative amount or the width.

Rule: BitShift 28: "If Y is negative, or is greater than or equal to the number of bits of T, then the result is ... -1
for a right shift on a negative X ... and 0 in every other case."
BitShift 11 says nothing of such amounts, and no tool that does not know opset 28 has to follow it.
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


x, amount, got = np.array([1, 8], np.int32), np.array([33, 33], np.int32), np.zeros(2, np.int32)
node = helper.make_node("BitShift", ["x", "n"], ["y"], direction="LEFT")
graph = helper.make_graph([node], "g", [port("x", x), port("n", amount)], [port("y", x)])
run(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 28)], ir_version=13), x, amount, got)
print("expected", [0, 0])
print("got     ", got.tolist())
sys.exit(0 if got.tolist() == [0, 0] else 1)
