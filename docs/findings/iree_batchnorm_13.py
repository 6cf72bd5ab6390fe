"""IREE 3.13.0: BatchNormalization of an opset before 15 is refused.

Rule: BatchNormalization 9 and 14 in inference compute the same as BatchNormalization 15, which compiles; the same holds
of MaxPool before 12, Softmax before 13 and Add before 7 (without broadcasting). Exporters such as mx2onnx write opset
13.
Upstream: none known; torch-mlir registers the lowering with "BatchNormalization", 15.
Needs: pip install iree-base-compiler==3.13.0 iree-base-runtime==3.13.0 onnx numpy. Exits with 1 while the defect shows.
"""

import sys

import numpy as np
import onnx
from iree import runtime
from iree.compiler import ir, tools
from iree.compiler.extras import onnx_importer
from onnx import helper


def run(model, *inputs):
    with ir.Context() as context:
        info = onnx_importer.ModelInfo(onnx.shape_inference.infer_shapes(model))
        module = info.create_module(context=context).operation
        onnx_importer.NodeImporter.define_function(info.main_graph, module).import_all()
        text = str(module)
    code = tools.compile_str(
        text, target_backends=["llvm-cpu"], input_type="onnx", extra_args=["--iree-llvmcpu-target-cpu=host"]
    )
    return runtime.load_vm_flatbuffer(code, driver="local-sync")["g"](*inputs).to_host()


def single(operator, opset, inputs, y, **attributes):
    """A model of one operator, its inputs and its result having the types of arrays."""
    names = [*(f"x{n}" for n in range(len(inputs))), "y"]
    ports = [
        helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(x.dtype), x.shape)
        for name, x in zip(names, [*inputs, y])
    ]
    graph = helper.make_graph(
        [helper.make_node(operator, names[:-1], ["y"], **attributes)], "g", ports[:-1], ports[-1:]
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=10)


x, one, zero = np.array([[1], [2]], np.float32), np.ones(1, np.float32), np.zeros(1, np.float32)
inputs = [x, one, zero, zero, one]
try:
    got = run(single("BatchNormalization", 13, inputs, x, epsilon=0.0), *inputs).tolist()
except tools.CompilerToolError as error:
    got = next(line for line in str(error).splitlines() if "error:" in line)[:200]
print(
    "expected",
    x.tolist(),
    "and with opset 15",
    run(single("BatchNormalization", 15, inputs, x, epsilon=0.0), *inputs).tolist(),
)
print("got     ", got)
sys.exit(0 if got == x.tolist() else 1)
