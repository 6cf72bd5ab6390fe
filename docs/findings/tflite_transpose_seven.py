"""TensorFlow 2.21.0's converter to TFLite refuses a Transpose of seven dimensions (not supported).

Rule: ONNX Transpose 13 takes a tensor of any rank, and so does tf.transpose.
TFLite's TRANSPOSE takes six dimensions at most. onnx2tf transposes the scores of NegativeLogLikelihoodLoss and
SoftmaxCrossEntropyLoss to channels last: ten of onnx's own cases, whose scores have seven dimensions.
Needs tensorflow-cpu==2.21.0 and numpy. Ends with 1 while the defect shows, with 0 when it is gone.
"""

import os
import re
import sys

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import tensorflow as tf

last = tf.function(lambda x: tf.transpose(x, [0, 2, 3, 4, 5, 6, 1]))
made = last.get_concrete_function(tf.TensorSpec([2, 3, 2, 2, 2, 2, 2]))
print("expected a .tflite file")
try:
    content = tf.lite.TFLiteConverter.from_concrete_functions([made], made).convert()
except Exception as error:
    said = re.search(r"'tf\.\w+' op is neither.*", str(error)) or [str(error)]
    print("got     ", said[0][:100])
    sys.exit(1)
print("got      a .tflite file of", len(content), "bytes")
sys.exit(0)
