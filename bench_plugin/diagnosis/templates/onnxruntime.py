"""ONNX Runtime."""

PACKAGES = ["onnxruntime"]


def run(path, inputs):
    import onnxruntime

    options = onnxruntime.SessionOptions()
    if HOW["options"].get("optimisation") == "none":
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    providers = {"xnnpack": ["XnnpackExecutionProvider"], "cuda": ["CUDAExecutionProvider"]}.get(HOW["backend"], [])
    session = onnxruntime.InferenceSession(path, options, providers=[*providers, "CPUExecutionProvider"])
    return session.run(None, inputs)
