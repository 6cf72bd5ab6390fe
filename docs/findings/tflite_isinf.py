"""TensorFlow 2.21.0's converter to TFLite makes IsInf a comparison with the largest finite float: Inf is none any more.

Rule: ONNX IsInf 20: 'map infinity to true and other values to false'; tf.math.is_inf says the same and does it.
It is lowered to ABS and EQUAL with a constant that should be Inf and is 3.4028235e+38: Inf and -Inf give False, the largest
finite float gives True. TFLite's own kernels and XNNPACK agree, since the constant is in the file.
Upstream: https://github.com/tensorflow/tensorflow/issues/45312 (a constant Inf becomes the largest float)
Needs tensorflow-cpu==2.21.0, ai-edge-litert==2.3.0 and numpy. Ends with 1 while the defect shows, with 0 when it is gone.
"""

import sys

import numpy as np
import tensorflow as tf
from ai_edge_litert.interpreter import Interpreter

x = np.array([-1.2, np.nan, np.inf, 2.8, -np.inf, np.finfo(np.float32).max], np.float32)
net = tf.Module()
net.f = tf.function(tf.math.is_inf, input_signature=[tf.TensorSpec(x.shape, tf.float32)])
made = tf.lite.TFLiteConverter.from_concrete_functions([net.f.get_concrete_function()], net).convert()
tool = Interpreter(model_content=made)
tool.allocate_tensors()
tool.set_tensor(tool.get_input_details()[0]["index"], x)
tool.invoke()
found = tool.get_tensor(tool.get_output_details()[0]["index"])
print("expected", np.isinf(x).tolist())
print("got     ", found.tolist())
sys.exit(int(not np.array_equal(found, np.isinf(x))))
