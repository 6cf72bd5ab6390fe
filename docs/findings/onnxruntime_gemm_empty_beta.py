"""ONNX Runtime 1.31.1: Gemm with an inner dimension of 0 forgets beta.

Stage run, symptom mismatch. Gemm 13: Y = alpha * A' * B' + beta * C; with K = 0 the product is a matrix of zeros and Y
is beta * C. ONNX Runtime gives C itself. The same Gemm with K = 1 and A = 0 is right. Found by the property-based
search (suites/properties, Gemm). Versions: onnxruntime 1.31.1, onnx 1.23.2.
Second: MatMul of a stack of matrices without rows and a vector, float32[1, 1, 0, 1] @ float32[1], is refused at run
("cannot broadcast on dim 2"), though onnx's shape inference and the session take it; numpy.matmul gives no elements.
"""
import numpy as np
import onnx
import onnxruntime as ort
from onnx import TensorProto as T, helper as h


def run(operator, want, given, **attributes):
    value = h.make_tensor_value_info
    names = "abc"[: len(given)]
    graph = h.make_graph([h.make_node(operator, list(names), ["y"], **attributes)], "g",
                         [value(n, T.FLOAT, x.shape) for n, x in zip(names, given)], [value("y", T.FLOAT, want.shape)])
    model = h.make_model(graph, opset_imports=[h.make_opsetid("", 17)], ir_version=8)
    onnx.checker.check_model(model, full_check=True)
    try:
        session = ort.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
        found = session.run(None, dict(zip(names, given)))[0].tolist()
    except Exception as error:
        found = f"{type(error).__name__} {str(error)[:170]}"
    print(operator, attributes, [list(x.shape) for x in given], "gives", found, "expected", want.tolist())


z = lambda *shape: np.zeros(shape, np.float32)
c = np.array([4], np.float32)
print("onnxruntime", ort.__version__)
run("Gemm", c.reshape(1, 1) * np.float32(0.5), [z(1, 0), z(0, 1), c], beta=0.5)
run("Gemm", c.reshape(1, 1) * np.float32(0.5), [z(1, 1), z(1, 1), c], beta=0.5)
run("MatMul", np.matmul(z(1, 1, 0, 1), z(1)), [z(1, 1, 0, 1), z(1)])
run("MatMul", np.matmul(z(1, 1, 0, 1), z(1, 1)), [z(1, 1, 0, 1), z(1, 1)])
