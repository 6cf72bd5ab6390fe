"""Layers of a QDQ graph with depthwise, joined and pooled convolutions: onnxruntime's integers against float64.

Run by tests/adapters/test_onnx_layers.py in the toolchain of onnxruntime. Prints the number of layers, the largest
distance of an integer from the unrounded result in steps, and that distance after one weight was changed.
"""

import sys
import tempfile
from pathlib import Path

import numpy as np
import onnx
import onnxruntime as rt
from onnx import helper, numpy_helper
from onnx.reference import ReferenceEvaluator
from onnxruntime import quantization as q

from bench_plugin.adapters.onnx_tools import onnx_float64, onnx_operators
from bench_plugin.adapters.onnx_tools.separated import onnx_separated, onnx_unrounded

rng = np.random.default_rng(0)
weights = []


def weight(name, *shape):
    weights.append(numpy_helper.from_array((0.3 * rng.standard_normal(shape)).astype("float32"), name))
    return name


nodes = [
    helper.make_node("Conv", ["x", weight("w1", 8, 3, 3, 3), weight("b1", 8)], ["c1"], pads=[1, 1, 1, 1]),
    helper.make_node("Relu", ["c1"], ["r1"]),
    helper.make_node("Conv", ["r1", weight("w2", 8, 1, 3, 3), weight("b2", 8)], ["d"], group=8, pads=[1, 1, 1, 1]),
    helper.make_node("Conv", ["r1", weight("w3", 4, 8, 1, 1), weight("b3", 4)], ["p"]),
    helper.make_node("Concat", ["d", "p"], ["j"], axis=1),
    helper.make_node("MaxPool", ["j"], ["m"], kernel_shape=[2, 2], strides=[2, 2]),
    helper.make_node("AveragePool", ["m"], ["a"], kernel_shape=[2, 2], strides=[2, 2]),
    helper.make_node("GlobalAveragePool", ["a"], ["g"]),
    helper.make_node("Flatten", ["g"], ["f"]),
    helper.make_node("Gemm", ["f", weight("w4", 12, 5), weight("b4", 5)], ["y"]),
]
graph = helper.make_graph(
    nodes, "net", [helper.make_tensor_value_info("x", 1, [1, 3, 8, 8])],
    [helper.make_tensor_value_info("y", 1, [1, 5])], weights,
)  # fmt: skip
folder = Path(tempfile.mkdtemp(dir=sys.argv[1]))
onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), folder / "net.onnx")


class Reader(q.CalibrationDataReader):
    def __init__(self):
        self.left = iter([{"x": rng.standard_normal((1, 3, 8, 8)).astype("float32")} for _ in range(16)])

    def get_next(self):
        return next(self.left, None)


q.quantize_static(
    folder / "net.onnx", folder / "qdq.onnx", Reader(), quant_format=q.QuantFormat.QDQ, per_channel=True,
    activation_type=q.QuantType.QUInt8, weight_type=q.QuantType.QInt8,
)  # fmt: skip
x = rng.standard_normal((1, 3, 8, 8)).astype("float32")
exposed, names = onnx_separated.exposed(onnx, onnx.load(folder / "qdq.onnx"))
integers = dict(zip(names, rt.InferenceSession(exposed.SerializeToString()).run(None, {"x": x}), strict=False))
given = {f"{name}_given": values for name, values in integers.items()} | {"x": x}


def distances(change):
    """The largest distance of any layer, and of which."""
    apart = onnx_separated.separated(onnx, onnx.load(folder / "qdq.onnx"))
    own = {value.name: given[value.name] for value in apart.graph.input}
    found = rt.InferenceSession(apart.SerializeToString()).run(None, own)
    exact = onnx_float64.promoted(onnx, onnx_unrounded.unrounded(onnx, apart))
    change(exact)
    evaluator = ReferenceEvaluator(exact, new_ops=onnx_operators.fast_operators(onnx))
    wanted = evaluator.run(None, {k: v.astype("float64") if v.dtype == np.float32 else v for k, v in own.items()})
    return [float(abs(a.astype("float64") - b).max()) for a, b in zip(found, wanted, strict=True)]


def one_weight(model):
    for tensor in model.graph.initializer:
        if tensor.name == "w2_quantized":
            values = numpy_helper.to_array(tensor).copy()
            values[0] = values[0] // 2
            tensor.CopyFrom(numpy_helper.from_array(values, tensor.name))
            return
    raise SystemExit("no weight w2_quantized")


operators = {node.op_type for node in onnx.load(folder / "qdq.onnx").graph.node}
assert {"Conv", "Concat", "MaxPool", "AveragePool", "GlobalAveragePool", "Gemm"} <= operators
print(len(names), "layers", max(distances(lambda model: None)), "steps; mutant", max(distances(one_weight)))
