"""XNNPACK in LiteRT 2.3.0 (arguable): sine and cosine lose their digits beside their zeros.

Rule: none states a bound; ONNX Sin 7 'calculates the sine of the given input tensor', Cos 7 alike, and this project wants
4 ULP of transcendentals (docs/operators.md). Measured on 20,000 seeded floats on x86-64: the absolute error stays below 3e-7,
which is thousands of ULP where the result is small. TFLite's own kernels (BUILTIN_WITHOUT_DEFAULT_DELEGATES) are within
1 ULP on the same file.
Upstream: none known.
Needs tensorflow-cpu==2.21.0, ai-edge-litert==2.3.0 and numpy. Ends with 1 while it is off by more than 4 ULP, else 0.
"""

import sys

import numpy as np
import tensorflow as tf
from ai_edge_litert.interpreter import Interpreter

x = (2 * np.random.default_rng(0).standard_normal(20000)).astype(np.float32)
wrong = False
for name, function in {"sin": tf.math.sin, "cos": tf.math.cos}.items():
    net = tf.Module()
    net.f = tf.function(function, input_signature=[tf.TensorSpec(x.shape, tf.float32)])
    made = tf.lite.TFLiteConverter.from_concrete_functions([net.f.get_concrete_function()], net).convert()
    tool = Interpreter(model_content=made)  # with XNNPACK, which is the default
    tool.allocate_tensors()
    tool.set_tensor(tool.get_input_details()[0]["index"], x)
    tool.invoke()
    found = tool.get_tensor(tool.get_output_details()[0]["index"])
    truth = getattr(np, name)(x.astype(np.float64))
    error = np.abs(found - truth) / np.spacing(np.abs(truth).astype(np.float32))
    at = int(error.argmax())
    print(f"expected {name}({x[at]:.9g}) = {truth[at]:.9g}, within 4 ULP")
    print(f"got      {found[at]:.9g}, {error[at]:.0f} ULP off")
    wrong |= error[at] > 4
sys.exit(int(wrong))
