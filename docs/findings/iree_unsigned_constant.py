"""IREE 3.13.0: a uint8 initializer that reaches an output is refused: the importer makes a signed literal of it.

Rule: TensorProto.DataType has UINT8, and an initializer may have any type (onnx.proto). Message:
"'torch.vtensor.literal' op inferred type(s) ... si8 are incompatible with return type(s) ... ui8".
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


held = onnx.numpy_helper.from_array(np.array([1, 200], np.uint8), "c")
y = helper.make_tensor_value_info("y", TensorProto.UINT8, [2])
graph = helper.make_graph([helper.make_node("Identity", ["c"], ["y"])], "g", [], [y], [held])
model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
onnx.checker.check_model(model, full_check=True)
try:
    got = run(model).view(np.uint8).tolist()
except tools.CompilerToolError as error:
    got = next(line for line in str(error).splitlines() if "error:" in line)[:200]
print("expected", [1, 200])
print("got     ", got)
sys.exit(0 if got == [1, 200] else 1)
