"""tract 0.23.9: Gemm of float16 with a bias is refused: "expected F16 got F32".

Rule: ONNX Gemm 13: A, B, C and Y have one type, which float16 is one of.
So fails every float16 model whose exporter writes a fully connected layer as Gemm with a bias, as PyTorch's do. A Gemm
without a bias fails too where alpha is not 1. Without both it compiles, and so do MatMul and Add.
Upstream: none known.
Needs tract==0.23.9, onnx and numpy. Ends with 1 while the defect shows, with 0 when it is gone.
"""

import os
import sys
import tempfile

import numpy as np
import onnx
import tract

os.chdir(tempfile.mkdtemp())

TEXT = """<ir_version: 8, opset_import: ["": 13]>
g (float16[1,2] a, float16[2,1] b, float16[1] c) => (float16[1,1] y) { y = Gemm(a, b, c) }"""
inputs = [np.array(v, np.float16) for v in ([[1, 2]], [[3], [4]], [5])]
expected = np.array([[16.0]])
onnx.save(onnx.parser.parse_model(TEXT), "m.onnx")
print("expected", expected.shape, expected.ravel().tolist())
try:
    model = tract.onnx().load("m.onnx")
    y = model.into_model().into_runnable().run([*inputs])[0].to_numpy()
except tract.TractError as error:
    lines = [line.strip() for line in str(error).partition("Stack backtrace")[0].splitlines() if line.strip()]
    print("got      an error:", lines[-1])
    sys.exit(1)
print("got     ", y.shape, y.ravel().tolist())
sys.exit(int(y.shape != expected.shape or not np.allclose(y, expected, atol=1e-5)))
