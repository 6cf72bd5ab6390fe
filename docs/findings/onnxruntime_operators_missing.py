"""onnxruntime 1.31.1 (not supported): the released package has no kernel for six of ONNX's operators.

Rule: ONNX's operator list: ImageDecoder 20, ai.onnx.preview's FlexAttention 1, and ai.onnx.preview.training's Adagrad
1, Adam 1, Gradient 1 and Momentum 1. Each is one of onnx's own cases. The domains ai.onnx.preview and
ai.onnx.preview.training are not registered at all.
Needs onnxruntime==1.31.1, onnx and numpy. Ends with 1 while the defect shows, with 0 when it is gone.
"""

import os
import sys
import warnings

import onnx
import onnxruntime
from onnx.backend.test import loader

CASES = {
    "FlexAttention": "test_flexattention",
    "ImageDecoder": "test_image_decoder_decode_bmp_rgb",
    "Momentum": "test_momentum",
    "Adagrad": "test_adagrad",
    "Adam": "test_adam",
    "Gradient": "test_gradient_of_add",
}

onnxruntime.set_default_logger_severity(4)
warnings.simplefilter("ignore")  # some of onnx's cases divide by zero
models = {case.name: case.model for case in loader.load_model_tests(kind="node")}
simple = os.path.join(os.path.dirname(onnx.__file__), "backend/test/data/simple")
models["test_gradient_of_add"] = onnx.load(os.path.join(simple, "test_gradient_of_add", "model.onnx"))
refused = 0
for operator, name in CASES.items():
    try:
        onnxruntime.InferenceSession(models[name].SerializeToString(), providers=["CPUExecutionProvider"])
    except Exception as error:  # a class of the extension module
        refused += 1
        print(f"expected  {operator}: a session")
        print(f"got       {operator}:", str(error).splitlines()[0])
sys.exit(int(refused > 0))
