"""OpenVINO 2026.4.1 (arguable): without a hint a float32 model runs in bfloat16 on a CPU that has it.

Rule: ONNX MatMul 13 computes in the type of its inputs, float32 here. OpenVINO documents INFERENCE_PRECISION_HINT as a hint
whose default may be lower than the model's, so this is a trap and no breach; f32 asked for is f32.
On a CPU with AVX512_BF16 and without AVX512_FP16 the hint f16 becomes bf16 too.
Needs openvino==2026.4.1, onnx and numpy. Ends with 1 while the defect shows, with 0 when it is gone (or has no such CPU).
"""

import sys

import onnx
import openvino as ov
from onnx import TensorProto
from onnx import helper as h

ports = {name: h.make_tensor_value_info(name, TensorProto.FLOAT, [4, 4]) for name in "xwy"}
graph = h.make_graph([h.make_node("MatMul", ["x", "w"], ["y"])], "g", [ports["x"], ports["w"]], [ports["y"]])
model = h.make_model(graph, opset_imports=[h.make_opsetid("", 17)], ir_version=8)
core = ov.Core()
compiled = core.compile_model(core.read_model(model.SerializeToString()), "CPU")
found = compiled.get_property("INFERENCE_PRECISION_HINT").get_type_name()
print("expected f32")
print("got     ", found)
sys.exit(int(found == "bf16"))
