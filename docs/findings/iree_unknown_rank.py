"""IREE 3.13.0: the ONNX importer makes a scalar of every value whose rank shape inference could not tell.

Rule: onnx.proto, TypeProto.Tensor: a type without the field shape says nothing of the rank; only a shape without
dimensions is a scalar. type_proto_to_type asks "if not tt.shape", which protobuf never leaves None. Here six ones are
summed to 1; other graphs kill the compiler (Split by computed lengths, then Mul) or fail with errors such as "number of
elements must be preserved: 8 != 1".
Upstream: https://github.com/llvm/torch-mlir/pull/4037 names the line, https://github.com/llvm/torch-mlir/issues/3593 an
effect.
Needs: pip install iree-base-compiler==3.13.0 iree-base-runtime==3.13.0 onnx numpy. Exits with 1 while the defect shows.
"""

import sys

import numpy as np
import onnx
from iree import runtime
from iree.compiler import ir, tools
from iree.compiler.extras import onnx_importer
from onnx import TensorProto, helper


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


one = helper.make_tensor("one", TensorProto.FLOAT, [1], [1.0])
nodes = [
    helper.make_node("ConstantOfShape", ["shape"], ["a"], value=one),
    helper.make_node("ReduceSum", ["a"], ["y"], keepdims=0),
]
shape = helper.make_tensor_value_info("shape", TensorProto.INT64, ["n"])
graph = helper.make_graph(nodes, "g", [shape], [helper.make_tensor_value_info("y", TensorProto.FLOAT, [])])
model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
onnx.checker.check_model(model, full_check=True)
got = float(run(model, np.array([3, 2])))
print("expected", 6.0)
print("got     ", got)
sys.exit(0 if got == 6 else 1)
