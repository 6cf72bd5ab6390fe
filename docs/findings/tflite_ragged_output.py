"""TensorFlow 2.21.0's converter to TFLite: a SavedModel with a ragged output is refused (arguable).

Rule: none says that from_saved_model takes ragged outputs; from_concrete_functions takes the same function.
The converter looks up each output by the name of its tensor, and a ragged tensor has several tensors and no name.
That is how a sequence, which onnx2tf makes a ragged tensor, fails as an output.
Needs tensorflow-cpu==2.21.0. Ends with 1 while the defect shows, with 0 when it is gone.
"""

import os
import sys
import tempfile

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import tensorflow as tf

spec = tf.TensorSpec([3], tf.float32, name="x")
module = tf.Module()
module.f = tf.function(lambda x: {"y": tf.RaggedTensor.from_row_lengths(x, [1, 2])}, input_signature=[spec])
converter = tf.lite.TFLiteConverter.from_concrete_functions([module.f.get_concrete_function()])
print("expected  converted, as by from_concrete_functions:", len(converter.convert()), "bytes")
folder = tempfile.mkdtemp()
tf.saved_model.save(module, folder, signatures=module.f)
try:
    got = f"converted: {len(tf.lite.TFLiteConverter.from_saved_model(folder).convert())} bytes"
except Exception as error:
    got = f"{type(error).__name__} {' '.join(str(error).split())[:160]}"
print("got      ", got)
sys.exit(int(not got.startswith("converted")))
