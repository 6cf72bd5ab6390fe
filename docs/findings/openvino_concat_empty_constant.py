"""OpenVINO 2026.4.1: Concat drops a constant without elements, though the axis has a size there.

Rule: ONNX Concat 13: "All input tensors must have the same shape, except for the dimension size of the axis to
concatenate on." The sizes of the axis are added, 1 + 2 is 3.
With an input in place of the constant it is right. The importer leaves the constant out: the Concat has one operand.
Upstream: https://github.com/openvinotoolkit/openvino/pull/11979 (makes Concat ignore it, merged)
Needs openvino==2026.4.1, onnx and numpy. Ends with 1 while the defect shows, with 0 when it is gone.
"""

import sys

import numpy as np
import onnx
import openvino as ov

text = '<ir_version: 8, opset_import: ["": 17]> g (float[0,1] x) => (float[0,3] y) { y = Concat <axis = 1> (x, c) }'
model = onnx.parser.parse_model(text)
model.graph.initializer.append(onnx.numpy_helper.from_array(np.zeros((0, 2), np.float32), "c"))
onnx.checker.check_model(model, full_check=True)
core = ov.Core()
read = core.read_model(model.SerializeToString())
y = core.compile_model(read, "CPU", {"INFERENCE_PRECISION_HINT": "f32"})([np.zeros((0, 1), np.float32)])[0]
print("expected", (0, 3))
print("got     ", y.shape)
sys.exit(int(y.shape != (0, 3)))
