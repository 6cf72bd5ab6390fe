"""onnx2pytorch."""

PACKAGES = ["onnx2pytorch", "torch", "onnx"]
SHARED = ["torchvision", "torch_module"]


def run(path, inputs):
    import torch

    kept = with_torchvision(torch)  # noqa: F841
    import onnx
    import onnx2pytorch

    return outputs_of(onnx2pytorch.ConvertModel(onnx.load(path)), inputs)
