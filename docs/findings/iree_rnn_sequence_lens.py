"""IREE 3.13.0: LSTM, GRU and RNN ignore sequence_lens: padding is computed as if it were data.

Rule: RNN 7, 14 and 22: sequence_lens has the length of each sequence of the batch, and Y_h is the hidden state after
the last step of that sequence. Here a sequence of length 1 is padded to 2 steps (RNN is the smallest; LSTM and GRU do
the same).
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


x, w, r = np.ones((2, 1, 1), np.float32), np.ones((1, 1, 1), np.float32), np.ones((1, 1, 1), np.float32)
lengths = np.array([1], np.int32)
ports = [helper.make_tensor_value_info(name, TensorProto.FLOAT, a.shape) for name, a in zip("xwr", (x, w, r))]
ports.append(helper.make_tensor_value_info("n", TensorProto.INT32, [1]))
node = helper.make_node("RNN", ["x", "w", "r", "", "n"], ["", "h"], hidden_size=1)
graph = helper.make_graph([node], "g", ports, [helper.make_tensor_value_info("h", TensorProto.FLOAT, [1, 1, 1])])
model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 14)], ir_version=8)
onnx.checker.check_model(model, full_check=True)
got = float(run(model, x, w, r, lengths).ravel()[0])
print("expected", float(np.tanh(1)), "after one step")
print("got     ", got, "where two steps give", float(np.tanh(1 + np.tanh(1))))
sys.exit(0 if np.isclose(got, np.tanh(1)) else 1)
