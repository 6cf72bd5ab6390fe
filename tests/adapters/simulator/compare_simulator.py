"""A quantised graph on the simulated accelerator against float64: every integer of every layer, bit for bit.

Run by tests/adapters/simulator/test_sim_npu.py in the toolchain of onnxruntime. Prints JSON: the layers with how many
integers differ, their kinds, and the partition report of each variant.
"""

import json
import sys
from pathlib import Path

import numpy as np
import onnx
from onnx import helper, numpy_helper
from onnx.reference import ReferenceEvaluator
from onnxruntime import quantization as q

from bench_plugin.adapters.onnx_tools import onnx_float64, onnx_operators
from bench_plugin.adapters.onnx_tools.separated import onnx_separated
from bench_plugin.adapters.simulator import npu_integers, npu_partition, npu_report
from bench_plugin.adapters.simulator.npu_cycles import Machine
from bench_plugin.adapters.simulator.sim_npu import _shapes

rng = np.random.default_rng(0)
folder = Path(sys.argv[1])


def weight(weights, name, *shape):
    weights.append(numpy_helper.from_array((0.3 * rng.standard_normal(shape)).astype("float32"), name))
    return name


def quantised(name, nodes, weights, outputs):
    """The model as a QDQ graph."""
    graph = helper.make_graph(
        nodes, name, [helper.make_tensor_value_info("x", 1, [1, 3, 8, 8])],
        [helper.make_tensor_value_info("y", 1, outputs)], weights,
    )  # fmt: skip
    path = folder / f"{name}.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)

    class Reader(q.CalibrationDataReader):
        def __init__(self):
            self.left = iter([{"x": rng.standard_normal((1, 3, 8, 8)).astype("float32")} for _ in range(16)])

        def get_next(self):
            return next(self.left, None)

    made = folder / f"{name}-qdq.onnx"
    q.quantize_static(
        path, made, Reader(), quant_format=q.QuantFormat.QDQ, per_channel=True, activation_type=q.QuantType.QUInt8,
        weight_type=q.QuantType.QInt8,
    )  # fmt: skip
    return onnx.load(made)


def everything():
    """A graph of every instruction."""
    w = []
    nodes = [
        helper.make_node("Conv", ["x", weight(w, "w1", 8, 3, 3, 3), weight(w, "b1", 8)], ["c1"], auto_pad="SAME_UPPER"),
        helper.make_node("Relu", ["c1"], ["r1"]),
        helper.make_node("Conv", ["r1", weight(w, "w2", 8, 1, 3, 3), weight(w, "b2", 8)], ["d"], group=8, pads=[1] * 4),
        helper.make_node("Add", ["d", "r1"], ["s"]),
        helper.make_node("Conv", ["s", weight(w, "w3", 4, 8, 1, 1)], ["p"]),
        helper.make_node("Conv", ["s", weight(w, "w5", 4, 4, 3, 3)], ["g2"], group=2, pads=[2] * 4, dilations=[2, 2]),
        helper.make_node("Mul", ["p", "g2"], ["u"]),
        helper.make_node("Concat", ["d", "p", "u"], ["j"], axis=1),
        helper.make_node("MaxPool", ["j"], ["m"], kernel_shape=[3, 3], strides=[2, 2], pads=[1] * 4),
        helper.make_node("Transpose", ["m"], ["t"], perm=[0, 1, 3, 2]),
        helper.make_node("AveragePool", ["t"], ["a"], kernel_shape=[2, 2], strides=[2, 2]),
        helper.make_node("GlobalAveragePool", ["a"], ["g"]),
        helper.make_node("Flatten", ["g"], ["f"]),
        helper.make_node("MatMul", ["f", weight(w, "w6", 16, 12)], ["k"]),
        helper.make_node("Gemm", ["k", weight(w, "w4", 5, 12), weight(w, "b4", 5)], ["y"], transB=1),
    ]  # fmt: skip
    return quantised("everything", nodes, w, [1, 5])


def cut():
    """A graph with an operator that has no instruction in its middle."""
    w = []
    nodes = [
        helper.make_node("Conv", ["x", weight(w, "w1", 4, 3, 3, 3)], ["c"], pads=[1] * 4),
        helper.make_node("Erf", ["c"], ["e"]),
        helper.make_node("Conv", ["e", weight(w, "w2", 4, 4, 1, 1)], ["y"]),
    ]
    return quantised("cut", nodes, w, [1, 4, 8, 8])


def normalised():
    """A graph with a BatchNormalization that nothing folded into the convolution in front of it."""
    w = [numpy_helper.from_array(np.ones(4, "float32") + n, f"s{n}") for n in range(4)]
    nodes = [
        helper.make_node("Conv", ["x", weight(w, "w1", 4, 3, 3, 3)], ["c"], pads=[1] * 4),
        helper.make_node("BatchNormalization", ["c", "s0", "s1", "s2", "s3"], ["n"]),
        helper.make_node("Relu", ["n"], ["r"]),
        helper.make_node("Conv", ["r", weight(w, "w2", 4, 4, 1, 1)], ["y"]),
    ]
    return quantised("normalised", nodes, w, [1, 4, 8, 8])


def compared(model, machine):
    """Integers that differ by layer, the largest error of the output in float32's steps, steps, and the report."""
    exposed, names = onnx_separated.exposed(onnx, onnx.ModelProto.FromString(model.SerializeToString()))
    truth = onnx_float64.promoted(onnx, onnx.ModelProto.FromString(exposed.SerializeToString()))
    evaluator = ReferenceEvaluator(truth, new_ops=onnx_operators.fast_operators(onnx))
    graph = npu_partition.graph_of(onnx, exposed)
    steps = npu_partition.planned(graph, machine.depthwise == "cpu")
    again = [npu_partition.Step(**json.loads(json.dumps(step.plain()))) for step in steps]
    runtime = npu_integers.Runtime(onnx, exposed, graph, again)
    different, worst = dict.fromkeys(names, 0), 0.0
    for _ in range(8):
        x = (2 * rng.standard_normal((1, 3, 8, 8))).astype("float32")
        found = runtime.run({"x": x})
        wanted = evaluator.run(None, {"x": x.astype("float64")})
        for name, a, b in zip(names, found, wanted, strict=False):  # its own outputs come last
            assert a.dtype.kind in "iu" and a.shape == b.shape, (name, a.dtype, a.shape, b.shape)
            different[name] += int((a.astype("int64") != b.astype("int64")).sum())
        worst = max(worst, float(np.abs(found[-1] - wanted[-1]).max() / np.abs(wanted[-1]).max()))
    report = npu_report.report(graph, steps, _shapes(onnx, exposed, {}), machine)
    return {"different": different, "output": worst, "kinds": [step.kind for step in steps], "report": report}


model = everything()
print(json.dumps({
    "own": compared(model, Machine()),
    "cpu": compared(model, Machine(depthwise="cpu")),
    "cut": compared(cut(), Machine()),
    "normalised": compared(normalised(), Machine()),
}))  # fmt: skip
