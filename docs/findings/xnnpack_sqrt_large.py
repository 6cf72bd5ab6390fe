"""XNNPACK in LiteRT 2.3.0: the square root of every number above 2^126 is one and a half times too large.

Rule: ONNX Sqrt 13 'y = x^0.5': of 3.4e38 it is 1.8e19. TFLite's own kernels (BUILTIN_WITHOUT_DEFAULT_DELEGATES) give that.
XNNPACK corrects an estimate r of 1 / sqrt(x) by the factor 1.5 - 0.5 * x * r * r, and flushes numbers below the smallest
normal float32 to 0, which r * r then is: the factor is 1.5 in place of 1. Seen on x86-64 with AVX-512.
Upstream: none known.
Needs tensorflow-cpu==2.21.0, ai-edge-litert==2.3.0 and numpy. Ends with 1 while the defect shows, with 0 when it is gone.
"""

import sys

import numpy as np
import tensorflow as tf
from ai_edge_litert.interpreter import Interpreter

x = np.array([2.0**124, 2.0**125, 2.0**126, 2.0**127, 1e38, np.finfo(np.float32).max], np.float32)
net = tf.Module()
net.f = tf.function(tf.math.sqrt, input_signature=[tf.TensorSpec(x.shape, tf.float32)])
made = tf.lite.TFLiteConverter.from_concrete_functions([net.f.get_concrete_function()], net).convert()
tool = Interpreter(model_content=made)  # with XNNPACK, which is the default
tool.allocate_tensors()
tool.set_tensor(tool.get_input_details()[0]["index"], x)
tool.invoke()
found = tool.get_tensor(tool.get_output_details()[0]["index"])
expected = np.sqrt(x)
print("expected", expected.tolist())
print("got     ", found.tolist())
sys.exit(int(not np.allclose(found, expected, rtol=1e-6)))
