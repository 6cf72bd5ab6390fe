"""NNCF 3.4.0 + OpenVINO 2026.4.1: depthwise convolutions that NNCF quantised run in float32 on the CPU (placement).

17 of MobileNetV2's 53 convolutions, all depthwise, read back f32 after nncf.quantize for the CPU; the same model as an
onnxruntime QDQ graph runs all 53 in int8. Not wrong numbers: a promise of speed that is not kept, shown in our rows as
placement. Cause not known: NNCF gives these layers one activation range per channel, but with one range per tensor
(second line) they stay in float32, and without the overflow fix too. Needs numpy, onnx, openvino, nncf; measured on an
AMD EPYC with AVX-512 VNNI.
"""

import nncf
import numpy as np
import onnx
import openvino as ov
from nncf.quantization.advanced_parameters import AdvancedQuantizationParameters as Advanced
from nncf.quantization.advanced_parameters import QuantizationParameters as Q
from onnx import TensorProto as T
from onnx import helper as h
from onnx import numpy_helper

rng, shape = np.random.default_rng(0), [1, 32, 28, 28]
w1, w2 = (rng.standard_normal(s).astype("f4") / 5 for s in ((32, 32, 1, 1), (32, 1, 3, 3)))
nodes = [h.make_node("Conv", ["x", "w1"], ["a"]), h.make_node("Relu", ["a"], ["b"]),
         h.make_node("Conv", ["b", "w2"], ["c"], pads=[1] * 4, group=32), h.make_node("Relu", ["c"], ["d"]),
         h.make_node("Conv", ["d", "w1"], ["y"])]
graph = h.make_graph(nodes, "g", [h.make_tensor_value_info("x", T.FLOAT, shape)],
                     [h.make_tensor_value_info("y", T.FLOAT, shape)],
                     [numpy_helper.from_array(w1, "w1"), numpy_helper.from_array(w2, "w2")])
onnx.save(h.make_model(graph, opset_imports=[h.make_opsetid("", 17)], ir_version=8), "dw.onnx")
data = nncf.Dataset([{"x": rng.standard_normal(shape).astype("f4")} for _ in range(8)])
for title, advanced in (("default", None), ("per tensor", Advanced(activations_quantization_params=Q(per_channel=False)))):
    model = nncf.quantize(ov.Core().read_model("dw.onnx"), data, subset_size=8, target_device=nncf.TargetDevice.CPU,
                          advanced_parameters=advanced)
    compiled = ov.Core().compile_model(model, "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
    said = [o.get_rt_info() for o in compiled.get_runtime_model().get_ordered_ops()]
    print("RESULT", title, [r["primitiveType"].value for r in said if r["layerType"].value == "Convolution"])
