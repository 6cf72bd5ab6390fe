"""tf2onnx 1.17.0: the mean and the deviation of Keras' Normalization become inputs of the file, without values.

Rule: the inputs of a graph are what its user gives (ONNX IR, "Graphs"); the function has one input. adapt() leaves mean
and variance as tensors that the function captures, and tf2onnx makes a placeholder of each.
Upstream: none known.
Needs: pip install tf2onnx==1.17.0 tensorflow-cpu==2.21.0 keras. Exits with 1 while the defect shows.
"""

import sys

import keras
import numpy as np
import tensorflow as tf
import tf2onnx

layer = keras.layers.Normalization()
layer.adapt(np.random.default_rng(0).normal(3, 2, (50, 4)).astype("float32"))
net = keras.Sequential([keras.Input((4,)), layer, keras.layers.Dense(2)])
signature = [tf.TensorSpec((None, 4), tf.float32, name="x")]
function = tf.function(lambda x: net(x), input_signature=signature)
model, _ = tf2onnx.convert.from_function(function, input_signature=signature, opset=17)
got = [port.name for port in model.graph.input]
print("expected", ["x"])
print("got     ", got)
sys.exit(0 if got == ["x"] else 1)
