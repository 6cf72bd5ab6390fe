"""OpenVINO."""

PACKAGES = ["openvino"]


def run(path, inputs):
    import openvino

    core = openvino.Core()
    settings = {"INFERENCE_PRECISION_HINT": {"bf16": "bf16"}.get(HOW["precision"], "f32")}
    compiled = core.compile_model(core.read_model(path), "CPU", settings)
    ports = {name: index for index, port in enumerate(compiled.inputs) for name in port.get_names()}
    request = compiled.create_infer_request()
    request.infer({ports[name]: x for name, x in inputs.items() if name in ports})
    return [request.get_output_tensor(index).data.copy() for index in range(len(compiled.outputs))]
