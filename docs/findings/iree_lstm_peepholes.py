"""IREE 3.13.0: LSTM drops its input P, the peephole weights.

Rule: LSTM 7, 14 and 22: "it = f(Xt*(Wi^T) + Ht-1*(Ri^T) + Pi (.) Ct-1 + Wbi + Rbi)"; likewise for the gates o and f.
Nothing warns.
Upstream: none known; the lowering came with https://github.com/llvm/torch-mlir/pull/2969
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


x, w, r = np.ones((1, 1, 1), np.float32), np.zeros((1, 4, 1), np.float32), np.zeros((1, 4, 1), np.float32)
zero, one, p = np.zeros((1, 1, 1), np.float32), np.ones((1, 1, 1), np.float32), np.array([[0, 2, 0]], np.float32)
given = {"x": x, "w": w, "r": r, "h": zero, "c": one, "p": p}
ports = [helper.make_tensor_value_info(name, TensorProto.FLOAT, a.shape) for name, a in given.items()]
node = helper.make_node("LSTM", ["x", "w", "r", "", "", "h", "c", "p"], ["", "y"], hidden_size=1)
graph = helper.make_graph([node], "g", ports, [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 1, 1])])
model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 14)], ir_version=8)
onnx.checker.check_model(model, full_check=True)
cell = 0.5  # gates i and f are sigmoid(0) = 0.5, tanh(0) = 0 is added, the cell was 1
expected = np.tanh(cell) / (1 + np.exp(-2 * cell))  # output gate: sigmoid of the peephole 2 x the cell
got = float(run(model, *given.values()).ravel()[0])
print("expected", float(expected))
print("got     ", got, "where no peepholes give", float(np.tanh(cell) / 2))
sys.exit(0 if np.isclose(got, expected) else 1)
