"""TFLite: ONNX through onnx2tf and TensorFlow's converter, run in LiteRT."""

PACKAGES = ["onnx2tf", "tensorflow-cpu", "ai-edge-litert", "onnx"]
SHARED = ["onnx2tf_model"]


def run(path, inputs):
    os.environ.setdefault("TF_USE_LEGACY_KERAS", "0")
    import tensorflow as tf
    from ai_edge_litert.interpreter import Interpreter

    net = keras_model(path, inputs)
    specs = [tf.TensorSpec(x.shape, x.dtype) for x in inputs.values()]
    function = tf.function(lambda *xs: net(list(xs) if len(xs) > 1 else xs[0], training=False), input_signature=specs)
    converter = tf.lite.TFLiteConverter.from_concrete_functions([function.get_concrete_function()], net)
    if HOW["precision"] in ("w8", "w8a8", "w16"):
        converter.optimizations = [tf.lite.Optimize.DEFAULT]
    if HOW["precision"] == "w16":
        converter.target_spec.supported_types = [tf.float16]
    if HOW["precision"] == "w8a8":
        kinds = tf.lite.OpsSet
        converter.representative_dataset = lambda: iter([list(inputs.values())])
        converter.target_spec.supported_ops = [kinds.TFLITE_BUILTINS_INT8, kinds.TFLITE_BUILTINS]
    interpreter = Interpreter(model_content=converter.convert())
    interpreter.allocate_tensors()
    for row, x in zip(interpreter.get_input_details(), inputs.values()):
        interpreter.set_tensor(row["index"], x)
    interpreter.invoke()
    return [interpreter.get_tensor(row["index"]) for row in interpreter.get_output_details()]
