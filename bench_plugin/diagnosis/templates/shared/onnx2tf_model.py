"""A Keras model through onnx2tf; inputs of an image's rank keep their layout only when they are named."""


def keras_model(path, inputs):
    import onnx2tf

    return onnx2tf.convert(
        input_onnx_file_path=path,
        output_folder_path="saved_model",
        non_verbose=True,
        not_use_onnxsim=True,
        disable_strict_mode=True,
        disable_model_save=True,
        keep_shape_absolutely_input_names=list(inputs),
    )
