"""TensorFlow 2.21.0's converter to TFLite refuses a vector times a matrix that is no constant: ConverterError.

Rule: ONNX MatMul 13: "Matrix product that behaves like numpy.matmul", which takes a vector for a matrix of one row and gives a
vector. onnx2tf makes tf.expand_dims, tf.matmul and tf.squeeze of it, which TensorFlow runs. The converter takes the reshapes
into its BATCH_MATMUL, whose operand must have two dimensions. A constant matrix, and a matrix times a vector, convert.
Upstream: none known.
Needs tensorflow-cpu==2.21.0 and numpy. Ends with 1 while the defect shows, with 0 when it is gone.
"""

import os
import re
import sys

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import numpy as np
import tensorflow as tf

x, matrix = tf.TensorSpec([3], tf.float32), tf.TensorSpec([3, 2], tf.float32)
held = np.ones((3, 2), np.float32)
CASES = {
    "a vector times an input": (lambda x, z: tf.squeeze(tf.matmul(tf.expand_dims(x, 0), z), 0), [x, matrix]),
    "a vector times a constant": (lambda x: tf.squeeze(tf.matmul(tf.expand_dims(x, 0), held), 0), [x]),
}
wrong = False
for name, (function, specs) in CASES.items():
    made = tf.function(function).get_concrete_function(*specs)
    try:
        tf.lite.TFLiteConverter.from_concrete_functions([made], made).convert()
        got = "converted"
    except Exception as error:
        found = re.search(r"'tfl\.\w+' op .*", str(error))
        got = f"{type(error).__name__} {found[0] if found else error}"
    print(f"expected {name}: converted")
    print(f"got      {name}: {got[:160]}")
    wrong |= got != "converted"
sys.exit(int(wrong))
