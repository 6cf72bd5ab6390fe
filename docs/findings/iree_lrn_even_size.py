"""IREE 3.13.0 (arguable): LRN with an even size sums another window of channels than the specification writes.

Rule: LRN 13: from max(0, c - floor((size - 1) / 2)) to min(C - 1, c + ceil((size - 1) / 2)); with size 2 that is the
channel itself and the next. Arguable, because floor and ceil differ only for even sizes and several tools refuse those.
Upstream: https://github.com/apache/mxnet/issues/11281 tells the same of MXNet.
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


x = np.array([1, 2], np.float32).reshape(1, 2, 1, 1)
sums = np.array([5, 4], np.float32).reshape(1, 2, 1, 1)
expected = x / (1 + 0.25 * sums) ** 0.5
got = run(single("LRN", 13, [x], x, size=2, alpha=0.5, beta=0.5), x)
print("expected", expected.ravel().tolist())
print("got     ", got.ravel().tolist())
sys.exit(0 if np.allclose(got, expected) else 1)
