"""emx-onnx-cgen 1.4.0: Attention with is_causal and nonpad_kv_seqlen aligns the causal mask at the top left.

ONNX Attention 24 and 25: query i attends key j iff j <= i + offset, and without past_key offset = nonpad_kv_seqlen - q_sequence_length
per sample. emx's C has `if (1 && ki > qi + 0)`: with one query and a cache of four keys, of which three are valid, it looks at the
first key alone. So every step of decoding with an external cache is silently wrong.
Needs: emx-onnx-cgen (with onnx, numpy) and gcc. Run: python emx_attention_causal.py   (ends with 1 while the defect shows)
"""
import ctypes, importlib, os, subprocess, sys, tempfile
import numpy as np
from onnx import TensorProto, helper
from emx_onnx_cgen.compiler import Compiler, CompilerOptions

importlib.import_module("emx_onnx_cgen.lowering").load_lowering_registry()
F, I = TensorProto.FLOAT, TensorProto.INT64
node = helper.make_node("Attention", ["Q", "K", "V", "", "", "", "n"], ["Y"], is_causal=1)
shapes = {"Q": [1, 1, 1, 2], "K": [1, 1, 4, 2], "V": [1, 1, 4, 2]}
inputs = [helper.make_tensor_value_info(name, F, shape) for name, shape in shapes.items()]
graph = helper.make_graph(
    [node], "g", [*inputs, helper.make_tensor_value_info("n", I, [1])], [helper.make_tensor_value_info("Y", F, [1, 1, 1, 2])]
)
model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 24)], ir_version=11)
source, _ = Compiler(CompilerOptions(model_name="model")).compile_with_weight_data(model)
folder = tempfile.mkdtemp()
with open(os.path.join(folder, "m.c"), "w") as file:
    file.write(source)
subprocess.run(["gcc", "-O2", "-std=c99", "-w", "-fPIC", "-shared", "m.c", "-o", "m.so", "-lm"], cwd=folder, check=True)
q, k = np.zeros((1, 1, 1, 2), np.float32), np.zeros((1, 1, 4, 2), np.float32)  # equal weights for what is not masked
v = np.array([[[[1, 10], [2, 20], [6, 60], [100, 1000]]]], np.float32)
n, y = np.array([3], np.int64), np.zeros((1, 1, 1, 2), np.float32)
ctypes.CDLL(os.path.join(folder, "m.so")).model(*(ctypes.c_void_p(x.ctypes.data) for x in (q, k, v, n, y)))
print("gives", y.ravel().tolist(), "wanted", v[0, 0, :3].mean(0).tolist())
sys.exit(int(not np.allclose(y.ravel(), v[0, 0, :3].mean(0))))
