"""TensorFlow 2.21.0's converter to TFLite: int2, uint2, uint4, float4 and float8 are refused (not supported).

Rule: ONNX Cast 25 takes them all; tf.cast takes all of them but float8_e8m0fnu, which TensorFlow does not have.
Needs tensorflow-cpu==2.21.0 and ml_dtypes. Ends with 1 while the defect shows, with 0 when it is gone.
"""

import os
import sys
import tempfile

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import ml_dtypes
import tensorflow as tf

TYPES = (
    *("int2", "uint2", "uint4", "float4_e2m1fn", "float8_e8m0fnu"),
    *("float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz"),
)


def result(name):
    """What the converter makes of a cast from this type to float32."""
    try:
        spec = tf.TensorSpec([3], tf.as_dtype(getattr(ml_dtypes, name)), name="x")
        module = tf.Module()
        module.f = tf.function(lambda x: {"y": tf.cast(x, tf.float32)}, input_signature=[spec])
        folder = tempfile.mkdtemp()
        tf.saved_model.save(module, folder, signatures=module.f)
        tf.lite.TFLiteConverter.from_saved_model(folder).convert()
    except Exception as error:
        return f"{type(error).__name__} {' '.join(str(error).split())[:160]}"
    return "converted"


results = {name: result(name) for name in TYPES}
for name, got in results.items():
    print(f"expected  {name}: converted")
    print(f"got       {name}: {got}")
sys.exit(int(set(results.values()) != {"converted"}))
