"""OpenVINO 2026.4.1: DFT 17 with a negative axis transforms the axis in front of the one that is meant.

Rule: ONNX DFT 17, attribute axis: "Negative value means counting dimensions from the back", in [-r, -2] with the rank r of
the input: of [2, 4, 6, 1], -2 is the axis of length 6 and -3 that of length 4. The axis is counted without the last
dimension, which holds real and imaginary parts.
Upstream: none known.
Needs: pip install openvino==2026.4.1 onnx numpy. Ends with 1 while the defect shows, with 0 when it is gone.
"""

import sys

import numpy as np
import onnx
import openvino
from onnx import TensorProto, helper

signal = np.random.default_rng(0).normal(size=(2, 4, 6, 1)).astype("float32")
wrong = 0
for axis in (1, 2, -2, -3):
    graph = helper.make_graph(
        [helper.make_node("DFT", ["x"], ["y"], axis=axis)],
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, signal.shape)],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, (2, 4, 6, 2))],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.checker.check_model(model, full_check=True)
    core = openvino.Core()
    compiled = core.compile_model(
        core.read_model(model.SerializeToString()), "CPU", {"INFERENCE_PRECISION_HINT": "f32"}
    )
    got = compiled([signal])[0]
    spectra = [np.fft.fft(signal[..., 0], axis=one) for one in range(3)]
    off = [float(np.abs(got - np.stack([one.real, one.imag], -1)).max()) for one in spectra]
    print(f"axis {axis}: expected a transform along {axis % 4}, got one along {int(np.argmin(off))}")
    wrong += int(np.argmin(off)) != axis % 4
sys.exit(int(wrong > 0))
