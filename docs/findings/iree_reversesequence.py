"""IREE 3.13.0: ReverseSequence along the first axis does not compile for a CPU.

Rule: ReverseSequence 10: time_axis and batch_axis are 0 and 1 in either order. With time_axis 0: "LLVM Translation
failed for operation: builtin.unrealized_conversion_cast", of i64 to index, at O0 and O2 and for a generic processor.
Slice with negative steps on several axes and Pad in mode reflect (test_ReflectionPad2d) end alike.
Upstream: https://github.com/iree-org/iree/issues/24229 and https://github.com/iree-org/iree/issues/20011 met wrong
results with these axes (closed).
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


x, lengths = np.array([[0, 1], [2, 3]], np.float32), np.array([1, 2])
expected = [[0.0, 3.0], [2.0, 1.0]]
try:
    got = run(single("ReverseSequence", 10, [x, lengths], x, batch_axis=1, time_axis=0), x, lengths).tolist()
except tools.CompilerToolError as error:
    got = next(line for line in str(error).splitlines() if "error:" in line)[:200]
print("expected", expected)
print("got     ", got)
sys.exit(0 if got == expected else 1)
