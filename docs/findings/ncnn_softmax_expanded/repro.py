"""ncnn: mismatch at compare with ReduceSum, Div

compare: mismatch: y: output 0: out of 16 spread + 4 ULP: 2 of 2 elements, at [0, 0, 0, 0] 0.99999994 for
0.796392025
Reduced from test_softmax_axis_2_expanded-onnx-ncnn: 2 of 5 nodes.

<
   ir_version: 7,
   opset_import: ["" : 13]
>
part (float[1,1,2] Softmax_test_softmax_axis_2_expanded_function_X_Exp) => (float[1,1,2] y) {
   Softmax_test_softmax_axis_2_expanded_function_axes = Constant <value: tensor = int64[1] {2}> ()
   Softmax_test_softmax_axis_2_expanded_function_X_ReduceSum = ReduceSum <keepdims: int = 1> (Softmax_test_softmax_axis_2_expanded_function_X_Exp, Softmax_test_softmax_axis_2_expanded_function_axes)
   y = Div (Softmax_test_softmax_axis_2_expanded_function_X_Exp, Softmax_test_softmax_axis_2_expanded_function_X_ReduceSum)
}

Run: python repro.py (1: the defect shows, 0: it does not)
"""

import os
import shutil
import signal
import subprocess
import sys
import tempfile

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
TOOL = 'ncnn'
SEEN_WITH = {'ncnn': '1.0.20261020', 'pnnx': '20261020', 'onnx': '1.23.2'}
SYMPTOM = 'mismatch'
WRONG = ('compare: mismatch: y: output 0: out of 16 spread + 4 ULP: 2 of 2 elements, at [0, 0, 0, 0] 0.99999994 for '
 '0.796392025')
SAYS = ''
HOW = {'precision': 'fp32',
 'graph': 'original',
 'backend': '',
 'options': {'winograd': 'on'},
 'target': {'name': 'local', 'title': 'this machine'}}
INPUTS = [('Softmax_test_softmax_axis_2_expanded_function_X_Exp', 'in0')]
OUTPUTS = [('y', 'float64')]
SHAPES = [[1, 1, 2]]
LIMITS = [(2.384185791015625e-07, 2.384185791015625e-07)]
SECONDS = 20


# ncnn, through pnnx.
PACKAGES = ["ncnn", "pnnx"]


def run(path, inputs, how):
    import importlib.util
    import os
    import re
    import subprocess

    import ncnn

    # The package's executable; `import pnnx` would want torch.
    pnnx = os.path.join(os.path.dirname(importlib.util.find_spec("pnnx").origin), "pnnx")
    kinds = {"float32": "f32", "int64": "i64", "int32": "i32", "float16": "f16"}
    shapes = ",".join(f"[{','.join(map(str, x.shape))}]{kinds[x.dtype.name]}" for x in inputs.values())
    arguments = [pnnx, path, f"inputshape={shapes}", f"fp16={int(how['precision'] == 'w16')}"]
    done = subprocess.run(arguments, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    stem = path[: -len(".onnx")]
    if done.returncode or not os.path.exists(stem + ".ncnn.param"):
        raise RuntimeError(f"pnnx ended with status {done.returncode}:\n{done.stdout[-2000:]}")
    net = ncnn.Net()
    for name in ("use_fp16_packed", "use_fp16_storage", "use_fp16_arithmetic", "use_vulkan_compute"):
        setattr(net.opt, name, False)
    net.opt.use_bf16_storage = how["precision"] == "bf16"
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



def child():
    """Do it, in a folder of its own; what comes out goes to outputs.npz."""
    with np.load("inputs.npz") as file:
        inputs = {name: file[key] for name, key in INPUTS}
    print("running", TOOL, "...", flush=True)
    found = run(os.path.abspath("model.onnx"), inputs, HOW)
    np.savez("outputs.npz", **{"out%d" % index: np.asarray(y) for index, y in enumerate(found)})


def differences(folder):
    """What is wrong with the outputs, a line each."""
    with np.load(os.path.join(HERE, "expected.npz")) as file:
        expected = [file["out%d" % index] for index in range(len(OUTPUTS))]
    with np.load(os.path.join(folder, "outputs.npz")) as file:
        found = [file["out%d" % index] for index in range(len(file.files))]
    if len(found) != len(expected):
        return ["%d outputs instead of %d" % (len(found), len(expected))]
    lines = []
    for (name, _), y, t, (largest, rms) in zip(OUTPUTS, found, expected, LIMITS):
        if y.shape != t.shape:
            lines.append("%s: shape %s instead of %s" % (name, y.shape, t.shape))
            continue
        if t.dtype.kind != "f":
            if (y != t).any():
                lines.append("%s: %d of %d elements differ" % (name, (y != t).sum(), t.size))
            continue
        with np.errstate(invalid="ignore", over="ignore"):
            error = np.where((y == t) | (np.isnan(y) & np.isnan(t)), 0.0, np.abs(y.astype("f8") - t))
        error[np.isnan(error)] = np.inf
        total = float(np.sqrt((error**2).mean())) if error.size else 0.0
        if largest is not None and error.size and (error.max() > largest or total > rms):
            place = np.unravel_index(int(error.argmax()), error.shape)
            text = "%s: off by up to %.3g (at most %.3g was due), rms %.3g (%.3g); at %s %.9g instead of %.9g"
            where = tuple(int(i) for i in place)
            lines.append(text % (name, error.max(), largest, total, rms, where, y[place], t[place]))
    return lines


def versions():
    """The packages' versions; the script cannot say anything without them."""
    try:
        from importlib import metadata
    except ImportError:
        import importlib_metadata as metadata
    try:
        return {name: metadata.version(name) for name in [*PACKAGES, "numpy"]}
    except metadata.PackageNotFoundError as missing:
        print("not installed:", missing)
        sys.exit(4)


def main():
    """1 when the defect shows, 0 when not, 3 when something else happens."""
    have = versions()
    print("versions:", ", ".join("%s %s" % pair for pair in sorted(have.items())))
    print("seen with:", ", ".join("%s %s" % pair for pair in sorted(SEEN_WITH.items())))
    with tempfile.TemporaryDirectory() as folder:
        for name in ("model.onnx", "inputs.npz"):
            shutil.copy(os.path.join(HERE, name), folder)
        arguments = [sys.executable, os.path.abspath(__file__), "--child"]
        try:
            done = subprocess.run(
                arguments, cwd=folder, timeout=SECONDS, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
            )
        except subprocess.TimeoutExpired:
            happened, text = "timeout", "no end after %d s" % SECONDS
        else:
            said = done.stdout.decode("utf-8", "replace").strip()
            if done.returncode < 0:
                happened, text = (
                    "crash",
                    "ended by signal %d (%s)"
                    % (
                        -done.returncode,
                        signal.Signals(-done.returncode).name,
                    ),
                )
            elif done.returncode:
                happened, text = "exception", "\n".join(said.splitlines()[-12:])
                if SAYS not in said:
                    happened = "another exception"
            else:
                wrong = differences(folder)
                happened, text = ("mismatch", "\n".join(wrong)) if wrong else ("", "the outputs are right")
    print("expected:", WRONG)
    print("happened:", happened or "no defect")
    print(text)
    if happened == SYMPTOM:
        return 1
    return 3 if happened else 0


if __name__ == "__main__":
    child() if "--child" in sys.argv else sys.exit(main())
