"""OpenVINO 2026.4.1: an LSTM that NNCF quantised gives another state once its low-precision passes ran, as they do by default.

Rule: LP_TRANSFORMS_MODE chooses how a quantised model is run, not what it computes: both ways round by the same FakeQuantize.
The initial state is left out, as is usual; with states that are inputs of the graph both ways agree.
Upstream: none known.
Needs openvino==2026.4.1, nncf==3.4.0, onnx and numpy. Ends with 1 while the defect shows, with 0 when it is gone.
"""

import logging
import sys
import tempfile

import nncf
import numpy as np
import onnx
import openvino
from onnx import numpy_helper

logging.disable(logging.CRITICAL)
TEXT = """<ir_version: 8, opset_import: ["": 17]> g (float[14,1,10] x) => (float[1,1,20] y)
{ , y = LSTM<hidden_size=20>(x, w, r, b) }"""
draw = np.random.default_rng(0)
model = onnx.parser.parse_model(TEXT)
for name, shape, size in (("w", [1, 80, 10], 0.3), ("r", [1, 80, 20], 0.35), ("b", [1, 160], 0.2)):
    model.graph.initializer.append(numpy_helper.from_array(draw.normal(0, size, shape).astype(np.float32), name))
onnx.checker.check_model(model, full_check=True)
given = [draw.normal(size=(14, 1, 10)).astype(np.float32) for _ in range(16)]
core = openvino.Core()
plain = core.read_model(model.SerializeToString())
mixed = nncf.QuantizationPreset.MIXED
with tempfile.TemporaryDirectory() as folder:
    made = nncf.quantize(plain.clone(), nncf.Dataset(given), preset=mixed, subset_size=16)
    openvino.save_model(made, f"{folder}/m.xml", compress_to_fp16=False)
    quantised = core.read_model(f"{folder}/m.xml")


def run(which, **config):
    compiled = core.compile_model(which, "CPU", {"INFERENCE_PRECISION_HINT": "f32", **config})
    return np.array([next(iter(compiled(x).values())).copy() for x in given])


exact = run(plain)
off = {name: np.abs(run(quantised, LP_TRANSFORMS_MODE=name == "on") - exact).max() for name in ("off", "on")}
print(f"expected at most {off['off']:.3f} off, as without the passes")
print(f"got      {off['on']:.3f} off, of numbers up to {np.abs(exact).max():.2f}")
sys.exit(int(off["on"] > 3 * off["off"]))
