"""What the float64 references say of sums, and of quantisation at run time, as JSON: for test_onnx_truths.py.

Executed by the interpreter of the onnxruntime toolchain.
"""

from __future__ import annotations

import json
from fractions import Fraction
from typing import Any

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

from bench_plugin.adapters.onnx_tools import onnx_float64, onnx_operators, onnx_truths

RNG = np.random.default_rng(0)
# name -> operator, attributes, inputs: shapes of random ones, or values
SUMS: dict[str, tuple[str, dict[str, Any], list[Any]]] = {
    "matmul": ("MatMul", {}, [(2, 3, 70), (70, 4)]),
    "gemm": ("Gemm", {"transA": 1}, [(70, 3), (70, 4), (4,)]),
    "conv": ("Conv", {"group": 2}, [(1, 8, 9, 9), (6, 4, 3, 5), (6,)]),
    "conv_transpose": ("ConvTranspose", {}, [(1, 8, 5, 5), (8, 3, 3, 3)]),
    "einsum": ("Einsum", {"equation": "bij, bjk -> ik"}, [(2, 3, 5), (2, 5, 4)]),
    "einsum_ellipsis": ("Einsum", {"equation": "...ij->...i"}, [(2, 3, 5)]),
    "reduce_mean": ("ReduceMean", {}, [(3, 4, 5), np.array([0, 2])]),
    "reduce_all": ("ReduceSum", {"keepdims": 0}, [(3, 4, 5)]),
    "average_pool": ("AveragePool", {"kernel_shape": [3, 4]}, [(1, 2, 8, 8)]),
    "global_average_pool": ("GlobalAveragePool", {}, [(1, 2, 8, 9)]),
    "cumsum": ("CumSum", {}, [(3, 7), np.array(1)]),
    "sum": ("Sum", {}, [(3,), (3,), (3,)]),
    "loss": ("SoftmaxCrossEntropyLoss", {}, [(3, 5, 20), RNG.integers(0, 5, (3, 20))]),
    "loss_of_each": ("SoftmaxCrossEntropyLoss", {"reduction": "none"}, [(3, 5, 20), RNG.integers(0, 5, (3, 20))]),
    "relu": ("Relu", {}, [(3, 4)]),
}  # fmt: skip


def function(operator: str, attributes: dict[str, Any], inputs: list[Any]) -> Any:
    """The operator as a case in float64, with its inputs."""
    values = [RNG.random(one).astype(np.float32) if isinstance(one, tuple) else one for one in inputs]
    names = [f"x{index}" for index in range(len(values))]
    kinds = [helper.np_dtype_to_tensor_dtype(value.dtype) for value in values]
    ports = [
        helper.make_tensor_value_info(*one) for one in zip(names, kinds, (value.shape for value in values), strict=True)
    ]
    node = helper.make_node(operator, names, ["y"], **attributes)
    graph = helper.make_graph([node], "g", ports, [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8)
    return onnx_truths._Function(model.SerializeToString(), values)


def terms() -> dict[str, int]:
    """The terms of every row of the table."""
    found = {}
    for name, row in SUMS.items():
        made = function(*row)
        made(made.inputs)
        found[name] = made.terms
    return found


def mean() -> dict[str, float]:
    """A mean of 90,000 numbers added one by one in float32: its error, and what 16 times the spread allows."""
    made = function("ReduceMean", {"keepdims": 0}, [(300, 300)])
    truth = made(made.inputs)
    values = made.inputs["x0"].astype(np.float32).reshape(-1)
    total = np.float32(0)
    for value in values:
        total += value
    error = abs(float(total / np.float32(values.size)) - float(truth[0]))
    (spread,) = onnx_truths._spread(made, truth, network=False)
    return {"error": error, "spread": float(spread or 0), "mean": float(truth[0])}


def dynamic() -> dict[str, float]:
    """A product with dynamic quantisation of values in the middle between two steps: what differs in ONNX Runtime."""
    weights = RNG.integers(-128, 127, (64, 32)).astype(np.int8)
    nodes = [
        helper.make_node("DynamicQuantizeLinear", ["x"], ["q", "s", "z"]),
        helper.make_node("MatMulInteger", ["q", "w", "z"], ["i"]),
        helper.make_node("Cast", ["i"], ["f"], to=TensorProto.FLOAT), helper.make_node("Mul", ["f", "s"], ["y"]),
    ]  # fmt: skip
    outputs = [("y", TensorProto.FLOAT, [8, 32]), ("q", TensorProto.UINT8, [8, 64])]
    graph = helper.make_graph(
        nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [8, 64])],
        [helper.make_tensor_value_info(*one) for one in outputs], [numpy_helper.from_array(weights, "w")],
    )  # fmt: skip
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    promoted = onnx_float64.promoted(onnx, onnx.ModelProto.FromString(model.SerializeToString()))
    evaluator = onnx.reference.ReferenceEvaluator(promoted, new_ops=onnx_operators.fast_operators(onnx))
    worst, steps = 0.0, 0
    for _ in range(20):
        x = (np.round(RNG.standard_normal((8, 64)) * 100) / 8).astype(np.float32)
        y, q = session.run(None, {"x": x})
        truth, expected = evaluator.run(None, {"x": x.astype(np.float64)})
        worst, steps = max(worst, float(abs(y - truth).max() / abs(truth).max())), steps + int((q != expected).sum())
    return {"worst": worst, "steps": steps, "kind": str(truth.dtype)}


def cubic() -> float:
    """By how much the reference of a cubic Resize of seven numbers is off the exact result, of rational numbers."""
    scale = np.float32(0.6)
    made = onnx_truths._Function(
        onnx.parser.parse_model("""
        <ir_version: 9, opset_import: ["": 19]> g (float[7] x, float[1] s) => (float[4] y) {
            y = Resize<mode = "cubic">(x, , s)
        }""").SerializeToString(),
        [np.arange(1, 8, dtype=np.float32), np.array([scale])],
    )  # fmt: skip
    step, a = Fraction(float(scale)), Fraction(-3, 4)
    exact = []
    for place in range(4):
        center = (place + Fraction(1, 2)) / step - Fraction(1, 2)
        weights = {at: _weight(abs(at - center), a) for at in range(int(center) - 4, int(center) + 5)}
        exact.append(float(sum(weight * (1 + min(max(at, 0), 6)) for at, weight in weights.items())))
    return float(np.abs(made(made.inputs)[0] - exact).max())


def _weight(distance: Fraction, a: Fraction) -> Fraction:
    """The weight of an element by its distance: ONNX Resize, cubic."""
    if distance <= 1:
        return ((a + 2) * distance - (a + 3)) * distance**2 + 1
    return a * (((distance - 5) * distance + 8) * distance - 4) if distance < 2 else Fraction(0)


if __name__ == "__main__":
    print(json.dumps({"terms": terms(), "mean": mean(), "dynamic": dynamic(), "cubic": cubic()}))
