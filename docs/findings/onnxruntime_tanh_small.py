"""onnxruntime 1.31.1 (arguable): Tanh of the smallest normal numbers is off by a relative 3e-6.

Rule: none states a bound; ONNX Tanh 13 'calculates the hyperbolic tangent', and this project wants 5 ULP
(docs/operators.md). tanh(x) is x there; the rational function loses it, on x86-64.
Upstream: https://github.com/microsoft/onnxruntime/pull/162 brought these kernels, with Eigen's polynomials.
Needs onnxruntime==1.31.1, onnx and numpy. Ends with 1 while it is off by more than 5 ULP, else 0.
"""

import sys

import numpy as np
import onnx
import onnxruntime

TEXT = """<ir_version: 8, opset_import: ["": 13]> g (float[100] x) => (float[100] y) { y = Tanh(x) }"""
x = np.geomspace(1.2e-38, 1e-36, 100).astype(np.float32)
session = onnxruntime.InferenceSession(onnx.parser.parse_model(TEXT).SerializeToString())
found = session.run(None, {"x": x})[0]
truth = np.tanh(x.astype(np.float64))
error = np.abs(found - truth) / np.spacing(np.abs(truth).astype(np.float32))
at = int(error.argmax())
print(f"expected {truth[at]:.9g} at x = {x[at]:.9g}, within 5 ULP")
print(f"got      {found[at]:.9g}, {error[at]:.1f} ULP off")
sys.exit(int(error[at] > 5))
