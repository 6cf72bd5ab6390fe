"""TensorFlow 2.21.0: a padded maximum is quantised by the range of its padding, which leaves nothing of the numbers.

Rule: TFLite's quantization specification, 'real_value = (int8_value - zero_point) * scale': numbers around 1 need a scale
around 1/100. onnx2tf pads what a MaxPool with pads takes with the lowest float32 (PADV2). The quantiser counts that
number as one of the range, so the scale becomes 1.3e36, and XNNPACK refuses the convolutions before and behind it
("failed to prepare").
Upstream: none known.
Needs tensorflow-cpu==2.21.0, ai-edge-litert and numpy. Ends with 1 while the defect shows, with 0 when it is gone.
"""

import sys

import numpy as np
import tensorflow as tf
from ai_edge_litert.interpreter import Interpreter

LOWEST = float(np.finfo(np.float32).min)


@tf.function(input_signature=[tf.TensorSpec([1, 4, 4, 1], tf.float32)])
def pooled(x):
    padded = tf.pad(x * 0.5, [[0, 0], [1, 1], [1, 1], [0, 0]], constant_values=LOWEST)
    return tf.nn.max_pool2d(padded, 3, 2, "VALID") * 2.0


x = np.arange(16, dtype=np.float32).reshape(1, 4, 4, 1) / 16
converter = tf.lite.TFLiteConverter.from_concrete_functions([pooled.get_concrete_function()])
converter.optimizations = [tf.lite.Optimize.DEFAULT]
converter.representative_dataset = lambda: [[x]]
converter.target_spec.supported_ops = [tf.lite.OpsSet.TFLITE_BUILTINS_INT8]
interpreter = Interpreter(model_content=converter.convert())
scales = [row["quantization_parameters"]["scales"].max(initial=0) for row in interpreter.get_tensor_details()]
print("expected scales below 1")
print("got      the largest scale", max(scales))
sys.exit(int(max(scales) > 1))
