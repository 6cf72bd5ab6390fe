"""apache-tvm 0.27.0.post1: a float16 matmul sums in float16, so that small terms are lost once the sum is large: 4096 x 1
should be 4096 and is 2048. ONNX leaves the accumulator open, so this is no error by the specification, but onnxruntime and
IREE sum in float32, and the fp16 graphs of digits_cnn and mobilenet_v2 are 3-7 times further off here than in IREE.
Stage compare, symptom mismatch at fp16. Run: python tvm_fp16_accumulates.py     (prints 2048.0)
"""
import numpy as np
import onnx
import tvm
from onnx import TensorProto, helper
from tvm import relax
from tvm.relax.frontend.onnx import from_onnx

value = [helper.make_tensor_value_info(n, TensorProto.FLOAT16, s) for n, s in (("a", [1, 4096]), ("b", [4096, 1]), ("y", [1, 1]))]
graph = helper.make_graph([helper.make_node("MatMul", ["a", "b"], ["y"])], "g", value[:2], value[2:])
model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
machine = relax.VirtualMachine(relax.build(from_onnx(model), tvm.target.Target("llvm")), tvm.cpu())
given = [tvm.runtime.tensor(np.ones(shape, np.float16)) for shape in ((1, 4096), (4096, 1))]
print(float(machine["main"](*given).numpy()[0, 0]))
