"""ONNX Runtime 1.31.1: MatMul with an inner dimension of 0 and a one-dimensional right operand.

Stage run; symptom: wrong values (uninitialised memory: NaN, 4.6e-41, left-overs of earlier work), or, where the left
operand has no rows either, an exception "Compute left operand cannot broadcast". Shape inference and output shape are
right. MatMul "behaves like numpy.matmul" (ONNX operator specification, MatMul 13): a sum over nothing is 0, and
float32[3, 0] @ float32[0] is [0, 0, 0]. With a two-dimensional right operand (float32[0, 1]) the result is right.
Found by the property-based search (suites/properties, MatMul). Versions: onnxruntime 1.31.1, onnx 1.23.2, numpy 2.
Run: python onnxruntime_matmul_empty_inner.py
"""
import numpy as np
import onnx
import onnxruntime as ort
from onnx import TensorProto as T, helper as h


def run(left, right, out):
    """y = a @ b beside z = Neg(Abs(n)), whose intermediate result is NaN and whose memory y may get."""
    value = h.make_tensor_value_info
    nodes = [h.make_node("Abs", ["n"], ["m"]), h.make_node("Neg", ["m"], ["z"]), h.make_node("MatMul", ["a", "b"], ["y"])]
    graph = h.make_graph(nodes, "g", [value("a", T.FLOAT, left), value("b", T.FLOAT, right), value("n", T.FLOAT, out)],
                         [value("z", T.FLOAT, out), value("y", T.FLOAT, out)])
    model = h.make_model(graph, opset_imports=[h.make_opsetid("", 17)], ir_version=8)
    onnx.checker.check_model(model, full_check=True)
    session = ort.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    feed = {"a": np.zeros(left, np.float32), "b": np.zeros(right, np.float32), "n": np.full(out, np.nan, np.float32)}
    for _ in range(3):
        try:
            print(left, right, session.run(None, feed)[1].tolist())
        except Exception as error:
            print(left, right, type(error).__name__, str(error)[:160])


print(ort.__version__, "expected: zeros", np.matmul(np.zeros((1, 1, 4, 0)), np.zeros(0)))
run([1, 1, 4, 0], [0], [1, 1, 4])
run([1, 1, 4, 0], [0, 1], [1, 1, 4, 1])
run([1, 1, 0, 0], [0], [1, 1, 0])
