"""TensorFlow 2.21.0's converter to TFLite has no operator for what these of ONNX become (not supported).

Rule: ONNX's operator list, opsets 1 to 28: all of the operators that stand here are in it.
onnx2tf makes these operators of TensorFlow of them; the conversion ends there, unless Flex operators are allowed.
Upstream: https://github.com/tensorflow/tensorflow/issues/48775 (Acos, Asin, Atan; closed as stale)
Needs tensorflow-cpu==2.21.0 and numpy. Ends with 1 while one of them is refused, with 0 when none is.
"""

import os
import re
import sys

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import tensorflow as tf

real, whole, words = tf.TensorSpec([3, 3]), tf.TensorSpec([4], tf.int32), tf.TensorSpec([2], tf.string)
image, volume = tf.TensorSpec([1, 4, 4, 1]), tf.TensorSpec([1, 4, 4, 4, 1])
window = [1] * 4, "VALID", "NHWC", [1, 2, 2, 1]
NAMES = "Acos Acosh Asin Asinh Atan Atanh Cosh Sinh Tan Erf"
CASES = {name: (getattr(tf.math, name.lower()), real) for name in NAMES.split()}
CASES |= {  # ONNX's operator: TensorFlow's, or what onnx2tf builds of several, and its inputs
    "BitShift LEFT": (tf.bitwise.left_shift, whole, whole),
    "BitwiseAnd": (tf.bitwise.bitwise_and, whole, whole),
    "BitwiseNot": (tf.bitwise.invert, whole),
    "BitwiseOr": (tf.bitwise.bitwise_or, whole, whole),
    "CumProd": (tf.math.cumprod, real),
    "DFT": (lambda x, y: tf.signal.fft(tf.complex(x, y)), real, real),
    "DFT, inverse": (lambda x, y: tf.signal.ifft(tf.complex(x, y)), real, real),
    "Det": (tf.linalg.det, real),
    "Einsum ii->i": (lambda x: tf.einsum("ii->i", x), real),
    "Einsum ij,ij": (lambda x, y: tf.einsum("ij,ij", x, y), real, real),
    "AveragePool and LpPool, 3-D": (lambda x: tf.nn.avg_pool3d(x, 2, 1, "VALID"), volume),
    "MaxPool, 3-D": (lambda x: tf.nn.max_pool3d(x, 2, 1, "VALID"), volume),
    "MaxPool, 3-D, dilations": (lambda x: tf.nn.pool(x, [2] * 3, "MAX", dilations=[2] * 3), volume),
    "MaxPool, dilations": (lambda x: tf.nn.dilation2d(x, tf.zeros([2, 2, 1]), *window), image),
    "MaxPool, Indices": (lambda x: tf.nn.max_pool_with_argmax(x, 2, 1, "VALID"), image),
    "Resize, cubic": (lambda x: tf.image.resize(x, [2, 2], "bicubic"), image),
    "Resize, antialias": (lambda x: tf.image.resize(x, [2, 2], antialias=True), image),
    "RoiAlign": (lambda x: tf.image.crop_and_resize(x, [[0, 0, 1, 1]], [0], [2, 2]), image),
    "Unique": (lambda x: tf.raw_ops.UniqueWithCountsV2(x=x, axis=[0]), whole),
    "ImageDecoder and TfIdfVectorizer": (lambda x: tf.numpy_function(abs, [x], tf.int32), whole),
    "SequenceLength": (lambda x: tf.RaggedTensor.from_row_lengths(x, [2, 2]).to_sparse().dense_shape, whole),
    "RegexFullMatch": (lambda x: tf.strings.regex_full_match(x, "a"), words),
    "StringConcat": (lambda x: tf.strings.join([x, x]), words),
    "StringConcat, broadcast": (lambda x: tf.broadcast_to(x, [2, 2]), words),
    "StringNormalizer, LOWER": (tf.strings.lower, words),
    "StringNormalizer, UPPER": (tf.strings.upper, words),
    "StringSplit": (lambda x: tf.strings.split(x, ",").values, words),
}
wrong = False
for name, (function, *inputs) in CASES.items():
    made = tf.function(function).get_concrete_function(*inputs)
    try:
        tf.lite.TFLiteConverter.from_concrete_functions([made], made).convert()
    except Exception as error:
        said = re.search(r"'tf\.\w+' op is neither.*", str(error)) or [str(error)]
        print(f"expected {name}: converted\ngot      {name}: {said[0][:100]}")
        wrong = True
sys.exit(int(wrong))
