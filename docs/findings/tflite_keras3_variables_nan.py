"""TensorFlow 2.21.0's TFLite converter with Keras 3.15.1: a tf.Module that holds a Keras 3 model converts to NaN, silently.

The same SavedModel, loaded by TensorFlow, computes the right numbers. The .tflite has VAR_HANDLE / READ_VARIABLE nodes that
nothing initialises, and LiteRT 2.3.0 runs it without an error. Holding the tf.Variables themselves beside the model
(`module.kept = [v.value for v in net.variables]`) gives the right file. Needs: tensorflow-cpu==2.21.0, keras==3.15.1,
ai-edge-litert==2.3.0.
"""

import tempfile

import keras
import numpy as np
import tensorflow as tf
from ai_edge_litert.interpreter import Interpreter

net = keras.Sequential([keras.layers.Input((8,)), keras.layers.Dense(3)])
x = np.linspace(-1, 1, 8, dtype=np.float32)[None]
for held in (False, True):
    module = tf.Module()
    module.net = net
    if held:
        module.kept = [v.value for v in net.variables]
    spec = tf.TensorSpec([1, 8], tf.float32, name="x")
    module.f = tf.function(lambda x: {"y": net(x, training=False)}, input_signature=[spec], autograph=False)
    folder = tempfile.mkdtemp()
    tf.saved_model.save(module, folder, signatures=module.f)
    loaded = tf.saved_model.load(folder).signatures["serving_default"](x=tf.constant(x))["y"].numpy()
    content = tf.lite.TFLiteConverter.from_saved_model(folder).convert()
    interpreter = Interpreter(model_content=content)
    interpreter.allocate_tensors()
    y = interpreter.get_signature_runner("serving_default")(x=x)["y"]
    ops = [row["op_name"] for row in interpreter._get_ops_details()]
    print("variables held:", held, "| Keras", net(x).numpy(), "| SavedModel", loaded, "| LiteRT", y, ops)
