"""IREE 3.13.0: the compiler dies (SIGSEGV) of an LSTM whose weights have a rank that shape inference does not know.

Rule: LSTM 7 and 14: W is any tensor, and here a Reshape 13 of an initializer to [1, 4, 1], which a Concat computes; the
file passes the full check. MXNet's exporter writes recurrent layers so. The importer takes an unknown rank for rank 0, and
the lowering reads the sizes of W without looking. A Reshape to a constant shape compiles.
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


nodes = [
    helper.make_node("Concat", ["one", "four", "one"], ["shape"], axis=0),
    helper.make_node("Reshape", ["w", "shape"], ["W"]),
    helper.make_node("LSTM", ["x", "W", "r", "b"], ["y"], hidden_size=1),
]
held = {"w": np.ones(4, np.float32), "r": np.ones((1, 4, 1), np.float32), "b": np.zeros((1, 8), np.float32)}
held.update(one=np.array([1]), four=np.array([4]))
ports = [
    helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 1, 1]),
    helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 1, 1, 1]),
]
constants = [onnx.numpy_helper.from_array(x, name) for name, x in held.items()]
graph = helper.make_graph(nodes, "g", ports[:1], ports[1:], constants)
model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
onnx.checker.check_model(model, full_check=True)
sigmoid = 1 / (1 + np.exp(-1))
expected = sigmoid * np.tanh(sigmoid * np.tanh(1))
try:
    got = float(run(model, np.ones((1, 1, 1), np.float32)).ravel()[0])
except tools.CompilerToolError as error:
    got = " ".join(str(error).split())[:120]
print("expected", float(expected))
print("got     ", got)
sys.exit(0 if isinstance(got, float) and np.isclose(got, expected) else 1)
