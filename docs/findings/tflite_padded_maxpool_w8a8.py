"""TensorFlow 2.21.0: a padded maximum is quantised by the range of its padding, and XNNPACK refuses the model.

Rule: TFLite's quantization specification, 'real_value = (int8_value - zero_point) * scale': numbers around 1 need a scale
around 1/100. onnx2tf pads what a MaxPool with pads takes with the lowest float32 (PADV2). The quantiser counts that
number as one of the range, so the scale becomes 1.3e36, and XNNPACK does not prepare the convolutions before and behind
it; with a padding of -10 it does.
Upstream: none known.
Needs tensorflow-cpu==2.21.0, ai-edge-litert and numpy. Ends with 1 while the defect shows, with 0 when it is gone.
"""

import sys

import numpy as np
import tensorflow as tf
from ai_edge_litert.interpreter import Interpreter

x = np.random.default_rng(1).standard_normal((1, 4, 4, 4)).astype("float32")
weights = np.random.default_rng(0).standard_normal((1, 1, 4, 4)).astype("float32")
got = {}
for lowest in (-10.0, float(np.finfo(np.float32).min)):

    @tf.function(input_signature=[tf.TensorSpec([1, 4, 4, 4], tf.float32)])
    def network(image):
        rectified = tf.nn.relu(tf.nn.conv2d(image, weights, 1, "VALID"))
        padded = tf.pad(rectified, [[0, 0], [1, 1], [1, 1], [0, 0]], constant_values=lowest)
        return tf.nn.conv2d(tf.nn.max_pool2d(padded, 3, 2, "VALID"), weights, 1, "VALID")

    converter = tf.lite.TFLiteConverter.from_concrete_functions([network.get_concrete_function()])
    converter.optimizations = [tf.lite.Optimize.DEFAULT]
    converter.representative_dataset = lambda: [[x]]
    converter.target_spec.supported_ops = [tf.lite.OpsSet.TFLITE_BUILTINS_INT8]
    interpreter = Interpreter(model_content=converter.convert())
    rows = interpreter.get_tensor_details()
    largest = max(row["quantization_parameters"]["scales"].max(initial=0) for row in rows)
    try:
        interpreter.allocate_tensors()
        got[lowest] = f"prepared, the largest scale is {largest:.2g}"
    except RuntimeError as error:
        got[lowest] = f"{error} The largest scale is {largest:.2g}"
for lowest, said in got.items():
    print(f"padding {lowest:.2g}: expected prepared, got", said)
sys.exit(int(not said.startswith("prepared")))
