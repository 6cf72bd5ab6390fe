"""IREE 3.13.0: a view of what DeviceArray.to_host() gives is written over by the next call of the module.

Rule: none of ONNX's; NumPy's is that a view keeps its memory alive. The array maps the result's buffer, which seems to
live as long as that one Python object: the array itself and a copy stay right, a slice does not. Seen with the QDQ
layers of a small CNN (iree_to_host_dangles.onnx: six uint8 outputs); modules with an addition or two did not show it.
Upstream: none known.
Needs: pip install iree-base-compiler==3.13.0 iree-base-runtime==3.13.0 onnx numpy. Exits with 1 while the defect shows.
"""

import os
import sys

import numpy as np
import onnx
from iree import runtime
from iree.compiler import ir, tools
from iree.compiler.extras import onnx_importer

model = onnx.shape_inference.infer_shapes(onnx.load(os.path.splitext(__file__)[0] + ".onnx"))
with ir.Context() as context:
    info = onnx_importer.ModelInfo(model)
    module = info.create_module(context=context).operation
    onnx_importer.NodeImporter.define_function(info.main_graph, module).import_all()
    text = str(module)
flags = ["--iree-llvmcpu-target-cpu=host"]
code = tools.compile_str(text, target_backends=["llvm-cpu"], input_type="onnx", extra_args=flags)
function = runtime.load_vm_flatbuffer(code, driver="local-sync")[model.graph.name]
rng = np.random.default_rng(0)


def drawn(value):
    shape = [dim.dim_value for dim in value.type.tensor_type.shape.dim]
    floats = value.type.tensor_type.elem_type == onnx.TensorProto.FLOAT
    return rng.standard_normal(shape).astype(np.float32) if floats else rng.integers(-128, 128, shape, np.int8)


calls = [[drawn(value) for value in model.graph.input] for _ in range(8)]
right = [[result.to_host().copy() for result in function(*given)] for given in calls]


def kept(keep):
    found = [[keep(result.to_host()) for result in function(*given)] for given in calls]
    return all(np.array_equal(a, b) for row, good in zip(found, right) for a, b in zip(row, good))


print("expected", True, "as for the array itself:", kept(lambda x: x))
got = kept(lambda x: x[:])
print("got     ", got, "for a slice of it")
sys.exit(0 if got else 1)
