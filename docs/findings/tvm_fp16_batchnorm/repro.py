"""tvm: exception at compile with BatchNormalization, Relu, Conv

compile: exception: TypeError: Binary operators must have the same datatype for both operands.  However,
R.nn.conv2d(lv4, metadata["ir.GenericConst"][0], strides=[1, 1], padding=[1, 1, 1, 1], dilation=[1, 1],
groups=1, data_layout="NCHW", kernel_layout="OIHW", out_layout="NCHW", out_dtype=None)
Reduced from digits_cnn-mxnet-mx2onnx-opset13-tvm-fp16: 3 of 11 nodes.

<
   ir_version: 8,
   opset_import: ["" : 13]
>
part (float16[1,1,1,1] conv0_fwd) => (float16[1,1,3,3] conv1_fwd) 
   <float16[1] batchnorm0_gamma =  {15188}, float16[1] batchnorm0_beta =  {43141}, float16[1] batchnorm0_running_mean =  {44972}, float16[1] batchnorm0_running_var =  {18598}, float16[1,1,1,1] conv1_weight =  {11504}, float16[1] conv1_bias =  {9489}>
{
   [batchnorm0_fwd] batchnorm0_fwd = BatchNormalization <epsilon: float = 1e-05, momentum: float = 0.9> (conv0_fwd, batchnorm0_gamma, batchnorm0_beta, batchnorm0_running_mean, batchnorm0_running_var)
   [relu0_fwd] relu0_fwd = Relu (batchnorm0_fwd)
   conv1_fwd = Conv <dilations: ints = [1, 1], group: int = 1, kernel_shape: ints = [1, 1], pads: ints = [1, 1, 1, 1], strides: ints = [1, 1]> (relu0_fwd, conv1_weight, conv1_bias)
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
TOOL = 'tvm'
SEEN_WITH = {'mxnet': '1.9.1',
 'gluoncv': '0.10.5.post0',
 'apache-tvm': '0.27.0.post1',
 'onnxruntime': '1.31.1',
 'onnx': '1.23.2'}
SYMPTOM = 'exception'
WRONG = ('compile: exception: TypeError: Binary operators must have the same datatype for both operands.  However, '
 'R.nn.conv2d(lv4, metadata["ir.GenericConst"][0], strides=[1, 1], padding=[1, 1, 1, 1], dilation=[1, 1], '
 'groups=1, data_layout="NCHW", kernel_layout="OIHW", out_layout="NCHW", out_dtype=None)')
SAYS = 'Binary operators must have the same datatype for both operands.  However,'
HOW = {'precision': 'fp16',
 'graph': 'fp16',
 'backend': '',
 'options': {'pipeline': 'default', 'shapes': 'kept'},
 'target': {'name': 'local', 'title': 'this machine'}}
INPUTS = [('conv0_fwd', 'in0')]
OUTPUTS = [('conv1_fwd', 'float64')]
SHAPES = [[1, 1, 3, 3]]
LIMITS = [(None, None)]
SECONDS = 120


# Apache TVM.
PACKAGES = ["apache-tvm", "onnx"]


def run(path, inputs, how):
    import onnx
    import tvm
    from tvm import relax
    from tvm.relax.frontend.onnx import from_onnx

    module = from_onnx(onnx.load(path))
    target = tvm.target.Target({"kind": "llvm", "mcpu": tvm.target.codegen.llvm_get_system_cpu()})
    with target:
        if how["options"].get("pipeline") == "zero":
            module = relax.get_pipeline("zero")(module)
    machine = relax.VirtualMachine(relax.build(module, target), tvm.cpu())
    found = machine["main"](*[tvm.runtime.tensor(x) for x in inputs.values()])
    shape = tvm.runtime.ShapeTuple
    several = [found] if hasattr(found, "numpy") or isinstance(found, shape) else found
    return [np.array(list(y), "int64") if isinstance(y, shape) else y.numpy() for y in several]



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
