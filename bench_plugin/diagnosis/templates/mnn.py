"""MNN; the converter's own compiled module, since the command `mnnconvert` installs packages when it starts."""

PACKAGES = ["mnn"]


def run(path, inputs):
    import _tools
    import MNN.expr as expressions
    import MNN.nn as nn

    switches = {"w16": ["--fp16"], "w8": ["--weightQuantBits", "8"]}.get(HOW["precision"], [])
    switches += ["--useGeluApproximation", "1" if HOW["options"].get("gelu") == "approximate" else "0"]
    target = path + ".mnn"
    _tools.mnnconvert(
        ["mnnconvert", "-f", "ONNX", "--modelFile", path, "--MNNModel", target, "--bizCode", "repro", *switches]
    )
    if not os.path.exists(target):
        raise RuntimeError("mnnconvert wrote no model; its words are above")
    manager = nn.create_runtime_manager(({"backend": "CPU", "precision": "high", "numThread": 1},))
    module = nn.load_module_from_file(target, list(inputs), list(OUTPUTS), runtime_manager=manager, rearrange=False)
    variables = []
    for x in inputs.values():
        whole = x.dtype.kind in "iub"
        kind = expressions.int if whole else expressions.float
        variable = expressions.placeholder(list(x.shape), expressions.NCHW, kind)
        variable.write(np.ascontiguousarray(x, np.int32 if whole else np.float32))
        variables.append(variable)
    found = module.forward(variables)
    found = list(found) if isinstance(found, (list, tuple)) else [found]
    return [expressions.convert(y, expressions.NCHW).read().copy() for y in found]
