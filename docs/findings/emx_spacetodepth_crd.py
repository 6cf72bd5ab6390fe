"""emx-onnx-cgen 1.4.0: SpaceToDepth ignores the attribute mode, so CRD comes out as DCR.

Rule: SpaceToDepth 28, attribute mode: "DCR (default) for depth-column-row order re-arrangement. Use CRD for
column-row-depth order." A tool that does not know opset 28 should refuse the attribute.
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


x, got = np.arange(8, dtype=np.float32).reshape(1, 2, 2, 2), np.zeros((1, 8, 1, 1), np.float32)
node = helper.make_node("SpaceToDepth", ["x"], ["y"], blocksize=2, mode="CRD")
graph = helper.make_graph([node], "g", [port("x", x)], [port("y", got)])
run(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 28)], ir_version=13), x, got)
print("expected", x.ravel().tolist())
print("got     ", got.ravel().tolist())
sys.exit(0 if np.array_equal(got.ravel(), x.ravel()) else 1)
