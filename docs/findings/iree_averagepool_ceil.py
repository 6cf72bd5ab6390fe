"""IREE 3.13.0 (arguable): AveragePool divides a window that hangs over the end (ceil_mode) by the whole kernel.

Rule: AveragePool 19 and 22, attribute count_include_pad: "whether include pad pixels"; what hangs over because of
ceil_mode is no pad pixel. Arguable, because only onnx's case
test_averagepool_3d_dilations_large_count_include_pad_is_1_ceil_mode_is_True says so.
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


x = np.ones((1, 1, 4), np.float32)
attributes = dict(kernel_shape=[3], strides=[2], ceil_mode=1, count_include_pad=1)
got = run(single("AveragePool", 19, [x], x[..., :2], **attributes), x)
print("expected", [1.0, 1.0])
print("got     ", got.ravel().tolist())
sys.exit(0 if np.allclose(got, 1) else 1)
