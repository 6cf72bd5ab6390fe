"""onnxruntime.quantization 1.31.1: quantize_dynamic transposes a weight that two Gemm share once for each of them.

Rule: ONNX Gemm 13: with transB=1 Y is A * B' + C, for each of the nodes. quantize_dynamic makes MatMul and Add of a Gemm,
and transposes B in place, assuming that no other node uses it. Two Gemm that share B both get it as it was: a square B
gives other results without a word, and with another B it fails. With a weight for each Gemm it is right.
Needs onnxruntime==1.31.1, onnx and numpy. Ends with 1 while the defect shows, with 0 when it is gone.
"""

import os
import sys
import tempfile

import numpy as np
import onnx
import onnxruntime as ort
from onnx import numpy_helper, parser
from onnxruntime import quantization as q

draw = np.random.default_rng(0)
weight = draw.normal(size=(16, 16)).astype("float32")
x = draw.normal(size=(4, 16)).astype("float32")
expected = x @ weight.T @ weight.T  # float32 is exact enough here: eight bits lose about 1 %
wrong = False
for shared in (False, True):
    text = f"""<ir_version: 8, opset_import: ["": 17]> g (float[4,16] x) => (float[4,16] y)
        {{ a = Gemm<transB=1>(x, w) y = Gemm<transB=1>(a, {"w" if shared else "v"}) }}"""
    model = parser.parse_model(text)
    model.graph.initializer.extend([numpy_helper.from_array(weight, name) for name in ("w" if shared else "wv")])
    onnx.checker.check_model(model, full_check=True)
    with tempfile.TemporaryDirectory() as folder:
        before, after = os.path.join(folder, "a.onnx"), os.path.join(folder, "b.onnx")
        onnx.save(model, before)
        q.quantize_dynamic(before, after, weight_type=q.QuantType.QInt8)
        got = ort.InferenceSession(after, providers=["CPUExecutionProvider"]).run(None, {"x": x})[0]
    off = float(np.abs(got - expected).max() / np.abs(expected).max())
    wrong |= off > 0.1
    print(f"{'one weight for both' if shared else 'a weight for each'}: expected within 5 % of y, got {off:.1%} off")
sys.exit(int(wrong))
