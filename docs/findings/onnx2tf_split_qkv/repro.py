"""onnx2tf: exception at run with Reshape, Transpose, Split, Squeeze, Squeeze, Squeeze

run: exception: InvalidArgumentError: Exception encountered when calling layer 'tf.split' (type TFOpLambda).
Reduced from transformer-pytorch-torchscript-opset17-to-tensorflow-onnx2tf: 6 of 111 nodes.

<
   ir_version: 8,
   opset_import: ["" : 17]
>
part (float[1,16,192] "/layers/layers.0/inputs/Add_output_0", int64[5] "/layers/layers.0/Concat_output_0") => (float[1,4,16,16] "/layers/layers.0/Squeeze_output_0", float[1,4,16,16] "/layers/layers.0/Squeeze_1_output_0", float[1,4,16,16] "/layers/layers.0/Squeeze_2_output_0") {
   ["/layers/layers.0/Reshape"] "/layers/layers.0/Reshape_output_0" = Reshape <allowzero: int = 0> ("/layers/layers.0/inputs/Add_output_0", "/layers/layers.0/Concat_output_0")
   ["/layers/layers.0/Transpose"] "/layers/layers.0/Transpose_output_0" = Transpose <perm: ints = [2, 0, 3, 1, 4]> ("/layers/layers.0/Reshape_output_0")
   ["/layers/layers.0/Constant_6"] "/layers/layers.0/Constant_6_output_0" = Constant <value: tensor = int64[3] {1,1,1}> ()
   ["/layers/layers.0/Split"] "/layers/layers.0/Split_output_0", "/layers/layers.0/Split_output_1", "/layers/layers.0/Split_output_2" = Split <axis: int = 0> ("/layers/layers.0/Transpose_output_0", "/layers/layers.0/Constant_6_output_0")
   ["/layers/layers.0/Constant_7"] "/layers/layers.0/Constant_7_output_0" = Constant <value: tensor = int64[1] {0}> ()
   ["/layers/layers.0/Squeeze"] "/layers/layers.0/Squeeze_output_0" = Squeeze ("/layers/layers.0/Split_output_0", "/layers/layers.0/Constant_7_output_0")
   ["/layers/layers.0/Constant_8"] "/layers/layers.0/Constant_8_output_0" = Constant <value: tensor = int64[1] {0}> ()
   ["/layers/layers.0/Squeeze_1"] "/layers/layers.0/Squeeze_1_output_0" = Squeeze ("/layers/layers.0/Split_output_1", "/layers/layers.0/Constant_8_output_0")
   ["/layers/layers.0/Constant_9"] "/layers/layers.0/Constant_9_output_0" = Constant <value: tensor = int64[1] {0}> ()
   ["/layers/layers.0/Squeeze_2"] "/layers/layers.0/Squeeze_2_output_0" = Squeeze ("/layers/layers.0/Split_output_2", "/layers/layers.0/Constant_9_output_0")
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
TOOL = 'onnx2tf'
SEEN_WITH = {'torch': '2.13.0+cpu',
 'torchvision': '0.28.0',
 'tensorflow-cpu': '2.21.0',
 'onnx2tf': '1.29.24',
 'onnx': '1.23.2',
 'onnxruntime': '1.31.1'}
SYMPTOM = 'exception'
WRONG = "run: exception: InvalidArgumentError: Exception encountered when calling layer 'tf.split' (type TFOpLambda)."
SAYS = 'Exception encountered when calling layer'
HOW = {}
INPUTS = [('/layers/layers.0/inputs/Add_output_0', 'in0'), ('/layers/layers.0/Concat_output_0', 'in1')]
OUTPUTS = [('/layers/layers.0/Squeeze_output_0', 'float64'),
 ('/layers/layers.0/Squeeze_1_output_0', 'float64'),
 ('/layers/layers.0/Squeeze_2_output_0', 'float64')]
SHAPES = [[1, 4, 16, 16], [1, 4, 16, 16], [1, 4, 16, 16]]
LIMITS = [(None, None), (None, None), (None, None)]
SECONDS = 120


# onnx2tf, run in TensorFlow.
PACKAGES = ["onnx2tf", "tensorflow-cpu", "onnx"]


def run(path, inputs, how):
    import onnx2tf
    import tensorflow as tf

    # Inputs of an image's rank keep their layout only when they are named here.
    net = onnx2tf.convert(
        input_onnx_file_path=path,
        output_folder_path="saved_model",
        non_verbose=True,
        not_use_onnxsim=True,
        disable_strict_mode=True,
        disable_model_save=True,
        keep_shape_absolutely_input_names=list(inputs),
    )
    given = [tf.constant(x) for x in inputs.values()]
    return [y.numpy() for y in tf.nest.flatten(net(given if len(given) > 1 else given[0], training=False))]



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
