"""tflite: crash at compile with LSTM

compile: crash: the agent was killed by SIGSEGV in stage compile
Reduced from lstm-pytorch-torchscript-opset17-tflite-w8a8-own: one node of 17.

<
   ir_version: 8,
   opset_import: ["" : 17]
>
part (float[1,1,1] "/recurrent/Transpose_output_0") => (float[1,1,1,32] "/recurrent/LSTM_output_0", float[1,1,32] "/recurrent/LSTM_output_1", float[1,1,32] "/recurrent/LSTM_output_2") {
   ["/recurrent/LSTM"] "/recurrent/LSTM_output_0", "/recurrent/LSTM_output_1", "/recurrent/LSTM_output_2" = LSTM <hidden_size: int = 32> ("/recurrent/Transpose_output_0", "onnx::LSTM_193", "onnx::LSTM_194", "onnx::LSTM_195", "", "/recurrent/Slice_output_0", "/recurrent/Slice_1_output_0")
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
TOOL = 'tflite'
SEEN_WITH = {'torch': '2.13.0+cpu',
 'torchvision': '0.28.0',
 'tensorflow-cpu': '2.21.0',
 'ai-edge-litert': '2.3.0',
 'keras': '3.15.1',
 'onnx2tf': '1.29.24',
 'tf-keras': '2.21.0',
 'onnxruntime': '1.31.1',
 'onnx': '1.23.2'}
SYMPTOM = 'crash'
WRONG = 'compile: crash: the agent was killed by SIGSEGV in stage compile'
SAYS = ''
HOW = {'precision': 'w8a8',
 'graph': 'original',
 'backend': 'xnnpack',
 'options': {},
 'target': {'name': 'local', 'title': 'this machine'}}
INPUTS = [('/recurrent/Transpose_output_0', 'in0')]
OUTPUTS = [('/recurrent/LSTM_output_0', 'float64'),
 ('/recurrent/LSTM_output_1', 'float64'),
 ('/recurrent/LSTM_output_2', 'float64')]
SHAPES = [[1, 1, 1, 32], [1, 1, 32], [1, 1, 32]]
LIMITS = [(None, None), (None, None), (None, None)]
SECONDS = 100


# TFLite: ONNX through onnx2tf and TensorFlow's converter, run in LiteRT.
PACKAGES = ["onnx2tf", "tensorflow-cpu", "ai-edge-litert", "onnx"]


def run(path, inputs, how):
    import os

    os.environ["TF_USE_LEGACY_KERAS"] = os.environ.get("TF_USE_LEGACY_KERAS", "0")
    import onnx2tf
    import tensorflow as tf
    from ai_edge_litert.interpreter import Interpreter

    net = onnx2tf.convert(
        input_onnx_file_path=path,
        output_folder_path="saved_model",
        non_verbose=True,
        not_use_onnxsim=True,
        disable_strict_mode=True,
        disable_model_save=True,
        keep_shape_absolutely_input_names=list(inputs),
    )
    specs = [tf.TensorSpec(x.shape, x.dtype) for x in inputs.values()]
    function = tf.function(lambda *xs: net(list(xs) if len(xs) > 1 else xs[0], training=False), input_signature=specs)
    converter = tf.lite.TFLiteConverter.from_concrete_functions([function.get_concrete_function()], net)
    if how["precision"] in ("w8", "w8a8", "w16"):
        converter.optimizations = [tf.lite.Optimize.DEFAULT]
    if how["precision"] == "w16":
        converter.target_spec.supported_types = [tf.float16]
    if how["precision"] == "w8a8":
        kinds = tf.lite.OpsSet
        converter.representative_dataset = lambda: iter([list(inputs.values())])
        converter.target_spec.supported_ops = [kinds.TFLITE_BUILTINS_INT8, kinds.TFLITE_BUILTINS]
    interpreter = Interpreter(model_content=converter.convert())
    interpreter.allocate_tensors()
    for row, x in zip(interpreter.get_input_details(), inputs.values()):
        interpreter.set_tensor(row["index"], x)
    interpreter.invoke()
    return [interpreter.get_tensor(row["index"]) for row in interpreter.get_output_details()]



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
