"""ncnn, through pnnx."""

PACKAGES = ["ncnn", "pnnx"]


def run(path, inputs):
    import importlib.util
    import re
    import subprocess

    import ncnn

    # The package's executable; `import pnnx` would want torch.
    pnnx = os.path.join(os.path.dirname(importlib.util.find_spec("pnnx").origin), "pnnx")
    kinds = {"float32": "f32", "int64": "i64", "int32": "i32", "float16": "f16"}
    shapes = ",".join(f"[{','.join(map(str, x.shape))}]{kinds[x.dtype.name]}" for x in inputs.values())
    arguments = [pnnx, path, f"inputshape={shapes}", f"fp16={int(HOW['precision'] == 'w16')}"]
    done = subprocess.run(arguments, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    stem = path[: -len(".onnx")]
    if done.returncode or not os.path.exists(stem + ".ncnn.param"):
        raise RuntimeError(f"pnnx ended with status {done.returncode}:\n{done.stdout[-2000:]}")
    net = ncnn.Net()
    for name in ("use_fp16_packed", "use_fp16_storage", "use_fp16_arithmetic", "use_vulkan_compute"):
        setattr(net.opt, name, False)
    net.opt.use_bf16_storage = HOW["precision"] == "bf16"
    if net.load_param(stem + ".ncnn.param") or net.load_model(stem + ".ncnn.bin"):
        raise RuntimeError("ncnn cannot load what pnnx wrote")
    # pnnx's own script says along which axis it holds the batch apart.
    with open(stem + "_ncnn.py") as file:
        text = file.read()
    feeds = re.findall(r'ex\.input\("in\d+", ncnn\.Mat\(.*?\.numpy\(\)(?:, batch_index=(\d+))?\)', text)
    fetches = re.findall(r"torch\.from_numpy\((?:np\.array\()?out\d+(?:\.numpy\(batch_index=(\d+)\))?", text)
    extractor = net.create_extractor()
    for index, (x, axis) in enumerate(zip(inputs.values(), feeds)):
        narrow = np.ascontiguousarray(x, np.int32 if x.dtype.kind in "iu" else np.float32)
        mat = ncnn.Mat(narrow, batch_index=int(axis)) if axis else ncnn.Mat(narrow)
        extractor.input(f"in{index}", mat.clone())
    found = []
    for index, axis in enumerate(fetches):
        status, y = extractor.extract(f"out{index}")
        if status:
            raise RuntimeError(f"extracting out{index} returned {status}")
        found.append(y.numpy(batch_index=int(axis)).copy() if axis else np.array(y))
    return found
