"""TensorFlow 2.21.0 (TFLite): quantising an LSTM of Keras to integers kills the converter (SIGSEGV).

Rule: TFLite's guide to post-training integer quantisation takes any model with a representative dataset; what cannot be
quantised stays in float, or is an error.
The calibrated model is right in float32. An LSTM that comes from ONNX through onnx2tf dies the same way. So does any
loop whose body reads a value that it passes on unchanged, as the input sequence is: (a * b, b) dies, (a * b, b / 2) not.
Upstream: https://github.com/tensorflow/tensorflow/issues/101050
Needs tensorflow-cpu==2.21.0 with its Keras, and numpy. Ends with 1 while the defect shows, with 0 when it is gone.
"""

import subprocess
import sys

if "child" not in sys.argv:  # a crash must not end the script
    done = subprocess.run([sys.executable, __file__, "child"], stderr=subprocess.DEVNULL)
    print("expected a .tflite file, or an exception (status 0 or 1)")
    print("got      status", done.returncode)
    sys.exit(int(done.returncode < 0))

import keras
import numpy as np
import tensorflow as tf

net = keras.Sequential([keras.layers.Input((12, 8), batch_size=1), keras.layers.LSTM(32)])
spec = tf.TensorSpec([1, 12, 8], tf.float32)
module = tf.Module()
module.f = tf.function(lambda x: net(x, training=False), input_signature=[spec], autograph=False)
module.kept = [variable.value for variable in net.variables]
converter = tf.lite.TFLiteConverter.from_concrete_functions([module.f.get_concrete_function()], module)
rng = np.random.default_rng(0)
converter.optimizations = [tf.lite.Optimize.DEFAULT]
converter.representative_dataset = lambda: ([rng.standard_normal((1, 12, 8)).astype(np.float32)] for _ in range(4))
converter.target_spec.supported_ops = [tf.lite.OpsSet.TFLITE_BUILTINS_INT8, tf.lite.OpsSet.TFLITE_BUILTINS]
converter.convert()
