"""IREE 3.13.0: the weighted mean of SoftmaxCrossEntropyLoss cuts each weight off to a whole number when it sums them.

Rule: SoftmaxCrossEntropyLoss 12 and 13, reduction "mean": the sum of the weighted losses is divided by the sum of the
weights of the labels. The sum of the weights is kept in int64: with weights of 1.5 and 0.5 the divisor is 1 + 0, not 2.
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


scores, labels, weights = np.zeros((2, 3), np.float32), np.array([0, 1]), np.array([1.5, 0.5, 1], np.float32)
expected = np.log(np.float32(3))
got = run(
    single("SoftmaxCrossEntropyLoss", 13, [scores, labels, weights], expected, reduction="mean"),
    scores,
    labels,
    weights,
)
print("expected", float(expected))
print("got     ", float(got))
sys.exit(0 if np.allclose(got, expected, rtol=1e-6) else 1)
