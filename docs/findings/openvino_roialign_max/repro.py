"""openvino: mismatch at compare with RoiAlign

compare: mismatch: Y: output 0: out of 16 spread + 4 ULP: 1 of 25 elements, at [0, 0, 0, 0, 0] 0.570309997 for
0.530034998
Reduced from test_roialign_mode_max-onnx-openvino: one node of 1.

<
   ir_version: 10,
   opset_import: ["" : 22]
>
part (float[1,1,2,2] X, float[1,4] rois, int64[1] batch_indices) => (float[1,1,5,5] Y) {
   Y = RoiAlign <coordinate_transformation_mode: string = "output_half_pixel", mode: string = "max", output_height: int = 5, output_width: int = 5, sampling_ratio: int = 2, spatial_scale: float = 1> (X, rois, batch_indices)
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
TOOL = 'openvino'
SEEN_WITH = {'openvino': '2026.4.1', 'nncf': '3.4.0', 'onnx': '1.23.2'}
SYMPTOM = 'mismatch'
WRONG = ('compare: mismatch: Y: output 0: out of 16 spread + 4 ULP: 1 of 25 elements, at [0, 0, 0, 0, 0] 0.570309997 '
 'for 0.530034998')
SAYS = ''
HOW = {'precision': 'fp32',
 'graph': 'original',
 'backend': '',
 'options': {},
 'target': {'name': 'local', 'title': 'this machine'}}
INPUTS = [('X', 'in0'), ('rois', 'in1'), ('batch_indices', 'in2')]
OUTPUTS = [('Y', 'float64')]
SHAPES = [[1, 1, 5, 5]]
LIMITS = [(1.1574744913644963e-06, 1.1574744913644963e-06)]
SECONDS = 20


# OpenVINO.
PACKAGES = ["openvino"]


def run(path, inputs, how):
    import openvino

    core = openvino.Core()
    settings = {"INFERENCE_PRECISION_HINT": {"bf16": "bf16"}.get(how["precision"], "f32")}
    compiled = core.compile_model(core.read_model(path), "CPU", settings)
    ports = {name: index for index, port in enumerate(compiled.inputs) for name in port.get_names()}
    request = compiled.create_infer_request()
    request.infer({ports[name]: x for name, x in inputs.items() if name in ports})
    return [request.get_output_tensor(index).data.copy() for index in range(len(compiled.outputs))]



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
