"""TFLite: ONNX through onnx2tf and TensorFlow's converter, run in LiteRT."""

PACKAGES = ["onnx2tf", "tensorflow-cpu", "ai-edge-litert", "onnx"]


def run(path, inputs, how):
    import os

    os.environ["TF_USE_LEGACY_KERAS"] = os.environ.get("TF_USE_LEGACY_KERAS", "0")
    import onnx2tf
    import tensorflow as tf
    from ai_edge_litert.interpreter import Interpreter

    net = onnx2tf.convert(
        input_onnx_file_path=path,
        output_folder_path="saved_model",
        non_verbose=True,
        not_use_onnxsim=True,
        disable_strict_mode=True,
        disable_model_save=True,
        keep_shape_absolutely_input_names=list(inputs),
    )
    specs = [tf.TensorSpec(x.shape, x.dtype) for x in inputs.values()]
    function = tf.function(lambda *xs: net(list(xs) if len(xs) > 1 else xs[0], training=False), input_signature=specs)
    converter = tf.lite.TFLiteConverter.from_concrete_functions([function.get_concrete_function()], net)
    if how["precision"] in ("w8", "w8a8", "w16"):
        converter.optimizations = [tf.lite.Optimize.DEFAULT]
    if how["precision"] == "w16":
        converter.target_spec.supported_types = [tf.float16]
    if how["precision"] == "w8a8":
        kinds = tf.lite.OpsSet
        converter.representative_dataset = lambda: iter([list(inputs.values())])
        converter.target_spec.supported_ops = [kinds.TFLITE_BUILTINS_INT8, kinds.TFLITE_BUILTINS]
    interpreter = Interpreter(model_content=converter.convert())
    interpreter.allocate_tensors()
    for row, x in zip(interpreter.get_input_details(), inputs.values()):
        interpreter.set_tensor(row["index"], x)
    interpreter.invoke()
    return [interpreter.get_tensor(row["index"]) for row in interpreter.get_output_details()]
