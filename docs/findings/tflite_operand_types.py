"""TensorFlow 2.21.0's converter to TFLite refuses operators for types that ONNX and TensorFlow take (not supported).

Rule: ONNX's operator list, opsets 1 to 28: Add 14, Max 13, Less 13 and the others take the types that stand here.
onnx2tf makes these operators of a file and does not widen their operands. Split's sizes are always int64 in ONNX.
Needs tensorflow-cpu==2.21.0 and numpy. Ends with 1 while one of them is refused, with 0 when none is.
"""

import os
import re
import sys

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import tensorflow as tf

ALL = "int8 int16 uint8 uint16 uint32 uint64"
CASES = {  # TFLite's operator: what is converted, and the types of its two inputs
    "ADD": (tf.add, "int8 uint8 uint16 uint64"),
    "MUL": (tf.multiply, "float64 int8 uint8 uint16 uint64"),
    "SUB": (tf.subtract, ALL),
    "DIV": (tf.divide, "float64"),
    "FLOOR_MOD": (tf.math.floormod, "float64 uint8 uint16 uint32 uint64"),
    "POW": (tf.pow, "int64"),
    "MINIMUM": (tf.minimum, f"float64 {ALL}"),
    "MAXIMUM": (tf.maximum, f"float64 {ALL}"),
    "EQUAL": (tf.equal, "int8 uint16 uint32 uint64"),
    "GREATER": (tf.greater, f"float64 {ALL}"),
    "GREATER_EQUAL": (tf.greater_equal, "int8 uint8 uint16 uint32 uint64"),
    "LESS": (tf.less, "int8 uint8 uint16 uint32 uint64"),
    "LESS_EQUAL": (tf.less_equal, ALL),
    "BITWISE_XOR": (tf.bitwise.bitwise_xor, "uint64"),
    "RIGHT_SHIFT": (tf.bitwise.right_shift, "int64 uint64"),
    "BATCH_MATMUL": (lambda x, y: tf.matmul(x, y, transpose_b=True), "float64"),
    "FULLY_CONNECTED": (lambda x, y: tf.matmul(x[0, 0], y[0, 0], transpose_b=True), "int32"),
    "TOPK_V2": (lambda x, y: tf.math.top_k(x, 1), "uint64"),
    "MAX_POOL_2D": (lambda x, y: tf.nn.max_pool2d(x, 2, 1, "VALID"), "uint8"),
    "CAST": (lambda x, y: tf.cast(x, tf.float64), "uint64"),
    "CUMSUM": (lambda x, y: tf.cumsum(x), "float64"),
    "SUM": (lambda x, y: tf.reduce_sum(x), "float64"),
    "EXP and LOG": (lambda x, y: tf.reduce_logsumexp(x), "float64"),
    "TRANSPOSE": (lambda x, y: tf.transpose(x, [1, 0, 2, 3]), "float64"),
    "SOFTMAX": (lambda x, y: tf.nn.softmax(x), "float64"),
    "CONCATENATION": (lambda x, y: tf.concat([x, y], 0), "float64"),
    "STRIDED_SLICE": (lambda x, y: x[:, 1:3], "float64"),
    "SPLIT_V": (lambda x, y: tf.split(x, [1, 3], 1), "float64"),
    "SPLIT_V, sizes": (lambda x, y: tf.split(tf.cast(x, tf.float32), tf.constant([1, 3], x.dtype), 1), "int64"),
}
wrong = False
for name, (function, types) in CASES.items():
    for kind in types.split():
        made = tf.function(function).get_concrete_function(*[tf.TensorSpec([2, 4, 4, 1], kind)] * 2)
        try:
            tf.lite.TFLiteConverter.from_concrete_functions([made], made).convert()
        except Exception as error:
            said = re.search(r"'tf\.\w+' op is neither.*", str(error)) or [str(error)]
            print(f"expected {name} {kind}: converted\ngot      {name} {kind}: {said[0][:100]}")
            wrong = True
sys.exit(int(wrong))
