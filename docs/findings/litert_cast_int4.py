"""LiteRT 2.3.0 (not supported): CAST of int4 is converted to every type, and run to float32 alone.

Rule: ONNX Cast 21: T1 int4, T2 int8 and float16 among others.
TensorFlow's converter writes the CAST of an int4 tensor; the kernel refuses it: "Type INT8 is unsupported by op Cast".
Upstream: none known.
Needs tensorflow-cpu==2.21.0, ai-edge-litert==2.3.0, ml_dtypes and numpy. Ends with 1 while the defect shows, with 0 when it is
gone.
"""

import os
import sys
import tempfile

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import ml_dtypes
import numpy as np
import tensorflow as tf
from ai_edge_litert.interpreter import Interpreter


def result(kind):
    """What a cast from int4 to this type gives for -8, 7 and 1."""
    spec = tf.TensorSpec([3], tf.as_dtype(ml_dtypes.int4), name="x")
    module = tf.Module()
    module.f = tf.function(lambda x: {"y": tf.cast(x, kind)}, input_signature=[spec])
    folder = tempfile.mkdtemp()
    tf.saved_model.save(module, folder, signatures=module.f)
    runner = Interpreter(model_content=tf.lite.TFLiteConverter.from_saved_model(folder).convert()).get_signature_runner()
    try:
        return runner(x=np.array([-8, 7, 1], np.int8))["y"].tolist()
    except RuntimeError as error:
        return " ".join(str(error).split())[:160]


results = {kind: result(kind) for kind in ("float32", "int8", "float16")}
for kind, got in results.items():
    print(f"expected  {kind}: [-8, 7, 1]")
    print(f"got       {kind}: {got}")
sys.exit(int(any(got != [-8, 7, 1] for got in results.values())))
