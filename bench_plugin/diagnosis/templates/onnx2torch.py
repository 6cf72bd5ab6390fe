"""onnx2torch."""

PACKAGES = ["onnx2torch", "torch", "onnx"]
SHARED = ["torchvision", "torch_module"]


def run(path, inputs):
    import torch

    kept = with_torchvision(torch)  # noqa: F841
    import onnx
    import onnx2torch

    return outputs_of(onnx2torch.convert(onnx.load(path)), inputs)
