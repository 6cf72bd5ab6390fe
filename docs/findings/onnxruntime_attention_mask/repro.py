"""onnxruntime: mismatch at compare with Attention

compare: mismatch: qk_matmul_output: output 0: Inf in other places: 18 of 72 elements, at [0, 0, 0, 0, 13]
-3.40282347e+38 for -inf
Reduced from test_attention_4d_with_past_and_present_qk_matmul_bias_3d_mask_causal-onnx-onnxruntime: one node
of 1.

<
   ir_version: 11,
   opset_import: ["" : 23]
>
part (float[2,1,2,1] Q, float[2,1,6,1] K, float[2,1,6,1] V, float[2,1,2,18] attn_mask, float[2,1,12,1] past_key, float[2,1,12,1] past_value) => (float[2,1,2,1] Y, float[2,1,18,1] present_key, float[2,1,18,1] present_value, float[2,1,2,18] qk_matmul_output) {
   Y, present_key, present_value, qk_matmul_output = Attention <is_causal: int = 1, qk_matmul_output_mode: int = 2> (Q, K, V, attn_mask, past_key, past_value)
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
TOOL = 'onnxruntime'
SEEN_WITH = {'onnxruntime': '1.31.1', 'onnx': '1.23.2'}
SYMPTOM = 'mismatch'
WRONG = ('compare: mismatch: qk_matmul_output: output 0: Inf in other places: 18 of 72 elements, at [0, 0, 0, 0, 13] '
 '-3.40282347e+38 for -inf')
SAYS = ''
HOW = {'precision': 'fp32',
 'graph': 'original',
 'backend': 'cpu',
 'options': {'optimisation': 'all'},
 'target': {'name': 'local', 'title': 'this machine'}}
INPUTS = [('Q', 'in0'), ('K', 'in1'), ('V', 'in2'), ('attn_mask', 'in3'), ('past_key', 'in4'), ('past_value', 'in5')]
OUTPUTS = [('Y', 'float64'), ('present_key', 'float64'), ('present_value', 'float64'), ('qk_matmul_output', 'float64')]
SHAPES = [[2, 1, 2, 1], [2, 1, 18, 1], [2, 1, 18, 1], [2, 1, 2, 18]]
LIMITS = [(None, None), (None, None), (None, None), (0.0, 0.0)]
SECONDS = 20


# ONNX Runtime.
PACKAGES = ["onnxruntime"]


def run(path, inputs, how):
    import onnxruntime

    options = onnxruntime.SessionOptions()
    if how["options"].get("optimisation") == "none":
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    providers = {"xnnpack": ["XnnpackExecutionProvider"], "cuda": ["CUDAExecutionProvider"]}.get(how["backend"], [])
    session = onnxruntime.InferenceSession(path, options, providers=[*providers, "CPUExecutionProvider"])
    return session.run(None, inputs)



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
