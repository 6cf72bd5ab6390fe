"""IREE 3.13.0: the compiler dies (SIGFPE) of Reshape with allowzero of a tensor that has no elements.

Rule: Reshape 14, attribute allowzero: a 0 in the shape is a dimension of length 0. [0, 3, 4] to [3, 4, 0] is legal
(onnx's own case test_reshape_allowzero_reordered). iree-compile runs as a process of its own here and ends by a signal.
Upstream: none known.
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


x, shape = np.zeros((0, 3, 4), np.float32), np.array([3, 4, 0])
model = single("Reshape", 19, [x, shape], x.reshape(3, 4, 0), allowzero=1)
onnx.checker.check_model(model, full_check=True)
try:
    got = list(run(model, x, shape).shape)
except tools.CompilerToolError as error:
    got = " ".join(str(error).split())[:120]
print("expected", [3, 4, 0])
print("got     ", got)
sys.exit(0 if got == [3, 4, 0] else 1)
