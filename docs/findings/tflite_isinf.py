"""TensorFlow's converter to TFLite makes IsInf a comparison with the largest finite float: Inf is no infinity any more.

tensorflow-cpu 2.21.0, ai-edge-litert 2.3.0. tf.math.is_inf, and so ONNX IsInf-20 ("map infinity to true and other values to
false"), is lowered to ABS and EQUAL with a constant that should be Inf and is 3.4028235e+38. Inf and -Inf give False, the
largest finite float gives True; no error, no warning. TFLite's own kernels and XNNPACK agree, as the constant is in the file.
Needs tensorflow-cpu and ai-edge-litert. Ends with 1 while the defect shows.
"""

import sys

import numpy as np
import tensorflow as tf
from ai_edge_litert import interpreter as litert

x = np.array([-1.2, np.nan, np.inf, 2.8, -np.inf, np.finfo(np.float32).max], np.float32)
net = tf.Module()
net.f = tf.function(tf.math.is_inf, input_signature=[tf.TensorSpec(x.shape, tf.float32)])
made = tf.lite.TFLiteConverter.from_concrete_functions([net.f.get_concrete_function()], net).convert()
tool = litert.Interpreter(model_content=made)
tool.allocate_tensors()
tool.set_tensor(tool.get_input_details()[0]["index"], x)
tool.invoke()
found = tool.get_tensor(tool.get_output_details()[0]["index"])
print("x         ", x)
print("TensorFlow", net.f(x).numpy())
print("TFLite    ", found, [row["op_name"] for row in tool._get_ops_details()])
sys.exit(not np.array_equal(found, np.isinf(x)))
