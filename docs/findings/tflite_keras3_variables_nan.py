"""TensorFlow 2.21.0's TFLite converter, Keras 3.15.1: a tf.Module that holds a Keras 3 model converts to noise, silently.

Rule: a converted model computes what the SavedModel computes, and TensorFlow computes the right numbers from the same one.
The .tflite has VAR_HANDLE and READ_VARIABLE nodes that nothing initialises: LiteRT runs it without an error, and gives what
the memory held, often NaN. Holding the variables themselves beside the model (`module.kept = [v.value for v in net.variables]`) gives the right file.
Needs tensorflow-cpu==2.21.0, keras==3.15.1, ai-edge-litert==2.3.0 and numpy. Ends with 1 while the defect shows, else 0.
"""

import sys
import tempfile

import keras
import numpy as np
import tensorflow as tf
from ai_edge_litert.interpreter import Interpreter

net = keras.Sequential([keras.layers.Input((8,)), keras.layers.Dense(3)])
x = np.linspace(-1, 1, 8, dtype=np.float32)[None]
module = tf.Module()
module.net = net
spec = tf.TensorSpec([1, 8], tf.float32, name="x")
module.f = tf.function(lambda x: {"y": net(x, training=False)}, input_signature=[spec], autograph=False)
folder = tempfile.mkdtemp()
tf.saved_model.save(module, folder, signatures=module.f)
expected = tf.saved_model.load(folder).signatures["serving_default"](x=tf.constant(x))["y"].numpy()
interpreter = Interpreter(model_content=tf.lite.TFLiteConverter.from_saved_model(folder).convert())
found = interpreter.get_signature_runner("serving_default")(x=x)["y"]
print("expected", expected.tolist())
print("got     ", found.tolist())
sys.exit(int(not np.allclose(found, expected, atol=1e-5)))
