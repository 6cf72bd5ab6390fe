"""ONNX Runtime."""

PACKAGES = ["onnxruntime"]


def run(path, inputs, how):
    import onnxruntime

    options = onnxruntime.SessionOptions()
    if how["options"].get("optimisation") == "none":
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    providers = {"xnnpack": ["XnnpackExecutionProvider"], "cuda": ["CUDAExecutionProvider"]}.get(how["backend"], [])
    session = onnxruntime.InferenceSession(path, options, providers=[*providers, "CPUExecutionProvider"])
    return session.run(None, inputs)
