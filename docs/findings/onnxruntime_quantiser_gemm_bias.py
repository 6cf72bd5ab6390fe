"""onnxruntime.quantization 1.31.1: quantize_static fails on the bias of a Gemm that ONNX permits.

Rule: ONNX Gemm 13: C is 'unidirectional broadcastable to (M, N)', so that it may be a single number, and beta may be 0.
With one number quantize_static fails per channel (too many indices). With beta 0 it writes a scale of 0 and the least
integer, which QGemm adds. JAX's exporter writes both.
Upstream: https://github.com/microsoft/onnxruntime/issues/24815 is the same with C of shape (1, N).
Needs onnxruntime==1.31.1, onnx and numpy. Ends with 1 while the defect shows, with 0 when it is gone.
"""

import os
import sys
import tempfile

import numpy as np
import onnx
from onnx import helper as h
from onnx import numpy_helper
from onnxruntime import quantization as q

draw = np.random.default_rng(0)
weights = draw.normal(size=(8, 5)).astype("float32")


class Reader(q.CalibrationDataReader):
    def __init__(self):
        self.left = iter([{"x": draw.normal(size=(2, 8)).astype("float32")} for _ in range(4)])

    def get_next(self):
        return next(self.left, None)


wrong = []
for shape, beta in ((), 1.0), ((5,), 0.0), ((5,), 1.0):
    tensors = [numpy_helper.from_array(weights, "w"), numpy_helper.from_array(np.full(shape, 0.3, "float32"), "b")]
    ports = [h.make_tensor_value_info("x", 1, [2, 8]), h.make_tensor_value_info("y", 1, [2, 5])]
    graph = h.make_graph([h.make_node("Gemm", ["x", "w", "b"], ["y"], beta=beta)], "g", ports[:1], ports[1:], tensors)
    model = h.make_model(graph, opset_imports=[h.make_opsetid("", 17)], ir_version=8)
    onnx.checker.check_model(model, full_check=True)
    with tempfile.TemporaryDirectory() as folder:
        before, after = os.path.join(folder, "a.onnx"), os.path.join(folder, "b.onnx")
        onnx.save(model, before)
        try:
            q.quantize_static(before, after, Reader(), quant_format=q.QuantFormat.QDQ, per_channel=True)
            made = {one.name: numpy_helper.to_array(one) for one in onnx.load(after).graph.initializer}
            got, bad = f"scales {made['b_quantized_scale'].tolist()}", not made["b_quantized_scale"].all()
        except IndexError as error:
            got, bad = f"IndexError: {error}", True
    print(f"C {list(shape)}, beta {beta:g}: expected scales above 0, got {got}")
    wrong.append(bad)
sys.exit(int(any(wrong)))
