"""IREE 3.13.0: a float16 constant whose values are in int32_data is refused; only raw_data is read.

Rule: onnx.proto, TensorProto.int32_data: "For int32, uint8, ..., bool, (b)float16, float8, and float4";
onnx.helper.make_tensor writes float16 so. Message: "Unhandled ONNX TensorProto data". ELEM_TYPE_INLINE_TENSOR_PROTO_CB
of the importer has no FLOAT16 (nor BFLOAT16).
Upstream: none known.
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


one = TensorProto(name="one", data_type=TensorProto.FLOAT16, dims=[1], int32_data=[0x3C00])  # 1.0
ports = [helper.make_tensor_value_info(name, TensorProto.FLOAT16, [1]) for name in "xy"]
graph = helper.make_graph([helper.make_node("Add", ["x", "one"], ["y"])], "g", ports[:1], ports[1:], [one])
model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
onnx.checker.check_model(model, full_check=True)
try:
    got = run(model, np.array([2], np.float16)).tolist()
except onnx_importer.OnnxImportError as error:
    got = f"{type(error).__name__}: {' '.join(str(error).split())[:120]}"
print("expected", [3.0])
print("got     ", got)
sys.exit(0 if got == [3.0] else 1)
