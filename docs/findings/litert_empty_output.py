"""LiteRT 2.3.0 (ai-edge-litert): the interpreter does not hand out an output without elements: ValueError.

Rule: a tensor may have a dimension of 0; TensorFlow gives an array of the shape [0], and the .tflite file says so too.
Upstream: https://github.com/tensorflow/tensorflow/issues/57084 (closed as stale)
Needs tensorflow-cpu==2.21.0, ai-edge-litert==2.3.0 and numpy. Ends with 1 while the defect shows, with 0 when it is
gone.
"""

import sys

import numpy as np
import tensorflow as tf
from ai_edge_litert.interpreter import Interpreter

x = np.array([1, 2, 3], np.float32)
function = tf.function(lambda x: x[:0], input_signature=[tf.TensorSpec([3], tf.float32)])
content = tf.lite.TFLiteConverter.from_concrete_functions([function.get_concrete_function()]).convert()
interpreter = Interpreter(model_content=content)
interpreter.allocate_tensors()
interpreter.set_tensor(interpreter.get_input_details()[0]["index"], x)
interpreter.invoke()
try:
    got = interpreter.get_tensor(interpreter.get_output_details()[0]["index"]).shape
except ValueError as error:
    got = f"{type(error).__name__} {error}"
print("expected", (0,))
print("got     ", got)
sys.exit(int(got != (0,)))
