"""OpenVINO 2026.4.1: a Concat of a tensor and a quantised Concat of that tensor kills the process (SIGSEGV).

Rule: ONNX QuantizeLinear 13, 'y = saturate((x / y_scale) + y_zero_point)', and Concat 13 put no bound on what they take.
Its low precision transformation MoveFakeQuantize moves the quantisation before the first Concat
(NetworkHelper::moveDequantizationBefore), and reads a node that is not there, where the zero point is not 0 and there
is more than one channel. DenseNet is made of such layers.
Upstream: none known.
Needs openvino==2026.4.1, onnx and numpy. Ends with 1 while the defect shows, with 0 when it is gone.
"""

import os
import subprocess
import sys
import tempfile

import onnx

RUN = """
import numpy as np, openvino
core = openvino.Core()
compiled = core.compile_model(core.read_model("m.onnx"), "CPU")
print(compiled(np.ones((1, 2, 2, 2), np.float32))[0].ravel().tolist())
"""

os.chdir(tempfile.mkdtemp())
model = onnx.parser.parse_model("""<ir_version: 8, opset_import: ["": 17]>
g (float[1,2,2,2] x) => (float[1,6,2,2] y) <float s = {0.5}, float t = {0.25}, uint8 z = {100}, uint8 o = {0}> {
  a = Concat<axis = 1>(x, x)
  q = QuantizeLinear(a, s, z)
  b = DequantizeLinear(q, s, z)
  r = QuantizeLinear(b, t, o)
  c = DequantizeLinear(r, t, o)
  y = Concat<axis = 1>(x, c)
}""")
onnx.checker.check_model(model, full_check=True)
onnx.save(model, "m.onnx")
done = subprocess.run([sys.executable, "-c", RUN], capture_output=True, text=True)
got = done.stdout.strip() or f"the process ends with {done.returncode}"
print("expected", [1.0] * 24)
print("got     ", got)
sys.exit(int(got != str([1.0] * 24)))
