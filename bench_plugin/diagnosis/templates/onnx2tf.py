"""onnx2tf, run in TensorFlow."""

PACKAGES = ["onnx2tf", "tensorflow-cpu", "onnx"]
SHARED = ["onnx2tf_model"]


def run(path, inputs):
    import tensorflow as tf

    given = [tf.constant(x) for x in inputs.values()]
    net = keras_model(path, inputs)
    return [y.numpy() for y in tf.nest.flatten(net(given if len(given) > 1 else given[0], training=False))]
