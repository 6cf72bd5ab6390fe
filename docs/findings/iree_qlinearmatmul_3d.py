"""IREE 3.13.0: QLinearMatMul of three dimensions drops both zero points and reads uint8 as int8.

Rule: QLinearMatMul 10 and 21 "behaves like numpy.matmul", of quantised tensors with zero points, for any rank. The same
product with two dimensions is right.
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


a, b = np.array([[[3, 200], [130, 7]]], np.uint8), np.array([[[1, 250], [128, 4]]], np.uint8)
one, point, scale = np.array([1], np.float32), np.array([100], np.uint8), np.array([200], np.float32)
expected = np.clip(np.rint((a.astype(int) - 100) @ (b.astype(int) - 100) / 200) + 100, 0, 255).astype(np.uint8)
inputs = [a, one, point, b, one, point, scale, point]
signless = [x.view(np.int8) if x.dtype == np.uint8 else x for x in inputs]  # the runtime has no unsigned arrays
got = run(single("QLinearMatMul", 21, inputs, expected), *signless).view(np.uint8)
print("expected", expected.ravel().tolist())
print("got     ", got.ravel().tolist())
sys.exit(0 if np.array_equal(got, expected) else 1)
