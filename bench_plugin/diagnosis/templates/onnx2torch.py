"""onnx2torch."""

PACKAGES = ["onnx2torch", "torch", "onnx"]


def with_torchvision(torch):
    """torchvision's compiled operators fit one build of torch; declared by name, it can be imported without them."""
    try:
        import torchvision  # noqa: F401
    except RuntimeError:
        for name in [name for name in sys.modules if name.partition(".")[0] == "torchvision"]:
            del sys.modules[name]
        library = torch.library.Library("torchvision", "DEF")
        library.define("nms(Tensor dets, Tensor scores, float threshold) -> Tensor")
        library.define("qnms(Tensor dets, Tensor scores, float threshold) -> Tensor")
        library.define(
            "roi_align(Tensor input, Tensor rois, float scale, SymInt height, SymInt width, int ratio, bool aligned)"
            " -> Tensor"
        )
        return library


def run(path, inputs, how):
    import onnx
    import torch

    kept = with_torchvision(torch)  # noqa: F841
    import onnx2torch

    net = onnx2torch.convert(onnx.load(path)).eval()
    with torch.no_grad():
        found = net(*[torch.from_numpy(x) for x in inputs.values()])
    return [y.numpy() for y in (found if isinstance(found, (tuple, list)) else [found])]
