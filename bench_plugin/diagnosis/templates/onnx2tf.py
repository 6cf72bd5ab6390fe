"""onnx2tf, run in TensorFlow."""

PACKAGES = ["onnx2tf", "tensorflow-cpu", "onnx"]


def run(path, inputs, how):
    import onnx2tf
    import tensorflow as tf

    # Inputs of an image's rank keep their layout only when they are named here.
    net = onnx2tf.convert(
        input_onnx_file_path=path,
        output_folder_path="saved_model",
        non_verbose=True,
        not_use_onnxsim=True,
        disable_strict_mode=True,
        disable_model_save=True,
        keep_shape_absolutely_input_names=list(inputs),
    )
    given = [tf.constant(x) for x in inputs.values()]
    return [y.numpy() for y in tf.nest.flatten(net(given if len(given) > 1 else given[0], training=False))]
