"""IREE 3.13.0: RotaryEmbedding of ONNX is lowered as com.microsoft's operator of the same name.

Rule: an operator is named by domain and name (onnx.proto, NodeProto.domain). RotaryEmbedding 23 of ai.onnx has the
inputs X, cos_cache, sin_cache, position_ids; com.microsoft's has input, position_ids, cos_cache, sin_cache. The
importer drops the domain, so torch-mlir takes its only lowering of the name, and the caches arrive as position_ids.
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


x, positions = np.ones((1, 1, 1, 2), np.float32), np.zeros((1, 1), np.int64)
cos, sin = np.full((1, 1), 0, np.float32), np.full((1, 1), 1, np.float32)  # a quarter turn: (1, 1) becomes (-1, 1)
inputs = [x, cos, sin, positions]
try:
    got = run(single("RotaryEmbedding", 23, inputs, x), *inputs).ravel().tolist()
except tools.CompilerToolError as error:
    got = next(line for line in str(error).splitlines() if "error:" in line)[:200]
print("expected", [-1.0, 1.0])
print("got     ", got)
sys.exit(0 if got == [-1.0, 1.0] else 1)
