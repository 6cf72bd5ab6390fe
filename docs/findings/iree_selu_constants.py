"""IREE 3.13.0: Selu's default alpha and gamma are 1.67326 and 1.0507, truncated to six digits.

Rule: Selu 6 and 22, attributes: alpha is 1.67326319217681884765625 by default, gamma 1.05070102214813232421875. Results
are off by 2 to 3 parts in a million, 30 units in the last place.
Upstream: the constants came with https://github.com/llvm/torch-mlir/pull/3221
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


x = np.array([-2, 1, 3], np.float32)
wide = x.astype(np.float64)
expected = 1.0507010221481323 * np.where(wide > 0, wide, 1.6732631921768188 * np.expm1(wide))
got = run(single("Selu", 6, [x], x), x)
print("expected", expected.tolist())
print("got     ", got.tolist())
sys.exit(0 if np.allclose(got, expected, rtol=1e-6) else 1)
