"""torchvision's compiled operators fit one build of torch; declared by name, it can be imported without them."""


def with_torchvision(torch):
    """Import torchvision; returns the library of declared operators, which lives as long as somebody holds it."""
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
