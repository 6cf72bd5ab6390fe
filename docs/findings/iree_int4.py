"""IREE 3.13.0: DequantizeLinear and QuantizeLinear with integers of four bits are refused (not supported).

Rule: ONNX QuantizeLinear and DequantizeLinear 21 to 25: int4 and uint4 are among the types of y and x.
Upstream: none known.
Needs iree-base-compiler==3.13.0, onnx and numpy. Ends with 1 while the defect shows, with 0 when it is gone.
"""

import sys

import numpy as np
import onnx
from iree.compiler import ir, tools
from iree.compiler.extras import onnx_importer
from onnx import TensorProto
from onnx import helper as h


def refusal(nodes, columns, *held):
    """What the importer or the compiler says of a model, None where it is compiled."""
    ports = [h.make_tensor_value_info(name, TensorProto.FLOAT, [1, size]) for name, size in (("x", 4), ("y", columns))]
    scale = onnx.numpy_helper.from_array(np.float32(1), "s")
    graph = h.make_graph(nodes, "g", ports[:1], ports[1:], [scale, *held])
    model = h.make_model(graph, opset_imports=[h.make_opsetid("", 21)], ir_version=10)
    onnx.checker.check_model(model, full_check=True)
    try:
        with ir.Context() as context:
            info = onnx_importer.ModelInfo(onnx.shape_inference.infer_shapes(model))
            module = info.create_module(context=context).operation
            onnx_importer.NodeImporter.define_function(info.main_graph, module).import_all()
            options = ["--iree-llvmcpu-target-cpu=host"]
            tools.compile_str(str(module), target_backends=["llvm-cpu"], input_type="onnx", extra_args=options)
    except (tools.CompilerToolError, onnx_importer.OnnxImportError) as error:
        before, _, after = str(error).partition("error: ")
        return (after or before).splitlines()[0][:160]


refused = {}
for kind in ("INT4", "UINT4"):
    weights = h.make_tensor("q", getattr(TensorProto, kind), [4, 2], bytes([0x11] * 4), raw=True)
    zero = h.make_tensor("z", getattr(TensorProto, kind), [], bytes(1), raw=True)
    dequantised = [h.make_node("DequantizeLinear", ["q", "s"], ["w"]), h.make_node("MatMul", ["x", "w"], ["y"])]
    refused[f"{kind} weights"] = refusal(dequantised, 2, weights)
    quantised = [
        h.make_node("QuantizeLinear", ["x", "s", "z"], ["q"]),
        h.make_node("DequantizeLinear", ["q", "s", "z"], ["y"]),
    ]
    refused[f"{kind} activations"] = refusal(quantised, 4, zero)
for name, said in refused.items():
    if said:
        print(f"expected {name}: compiled\ngot      {name}: {said}")
sys.exit(int(any(refused.values())))
