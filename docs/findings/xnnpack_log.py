"""XNNPACK in LiteRT 2.3.0 (arguable): the logarithm loses most of its digits near 1.

Rule: none states a bound; ONNX Log 13 'calculates the natural log', and this project wants 4 ULP of transcendentals (Tanh 5;
docs/operators.md). Measured on 20,000 seeded floats on x86-64: thousands of ULP of the result close to 1, where the absolute
error stays near 1e-7. TFLite's own kernels (BUILTIN_WITHOUT_DEFAULT_DELEGATES) are within 1 ULP on the same file.
Needs tensorflow-cpu==2.21.0, ai-edge-litert==2.3.0 and numpy. Ends with 1 while it is off by more than 4 ULP, else 0.
"""

import sys

import numpy as np
import tensorflow as tf
from ai_edge_litert.interpreter import Interpreter

x = (2 * np.abs(np.random.default_rng(0).standard_normal(20000))).astype(np.float32)
net = tf.Module()
net.f = tf.function(tf.math.log, input_signature=[tf.TensorSpec(x.shape, tf.float32)])
made = tf.lite.TFLiteConverter.from_concrete_functions([net.f.get_concrete_function()], net).convert()
tool = Interpreter(model_content=made)  # with XNNPACK, which is the default
tool.allocate_tensors()
tool.set_tensor(tool.get_input_details()[0]["index"], x)
tool.invoke()
found = tool.get_tensor(tool.get_output_details()[0]["index"])
truth = np.log(x.astype(np.float64))
error = np.abs(found - truth) / np.spacing(np.abs(truth).astype(np.float32))
at = int(error.argmax())
print(f"expected {truth[at]:.9g} at x = {x[at]:.9g}, within 4 ULP")
print(f"got      {found[at]:.9g}, {error[at]:.0f} ULP off")
sys.exit(int(error[at] > 4))
