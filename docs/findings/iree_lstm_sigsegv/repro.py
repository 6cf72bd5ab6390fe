"""iree: crash at compile with Concat, Reshape, LSTM

compile: crash: the agent was killed by SIGSEGV in stage compile
Reduced from lstm-mxnet-mx2onnx-opset13-iree: 3 of 78 nodes.

<
   ir_version: 8,
   opset_import: ["" : 13]
>
part (float[1,1,16] classifier0_transpose0) => (float[1,1,1,32] classifier0_lstm0_rnn00_, float[1,1,32] classifier0_lstm0_rnn01, float[1,1,32] classifier0_lstm0_rnn02) 
   <int64[1] classifier0_lstm0_rnn0_input_size =  {16}, float[1,2] classifier0_lstm0_rnn0_B =  {0.056958582,0.029849634}, int32[1] classifier0_lstm0_rnn0_seq_len =  {1}, int64[1] classifier0_lstm0_rnn0_1 =  {1}, int64[1] "classifier0_lstm0_rnn0_4*state_size" =  {128}>
{
   classifier0_lstm0_rnn0_W_shape = Concat <axis: int = 0> (classifier0_lstm0_rnn0_1, "classifier0_lstm0_rnn0_4*state_size", classifier0_lstm0_rnn0_input_size)
   classifier0_lstm0_rnn0_W = Reshape (classifier0_lstm0_rnn0_W_, classifier0_lstm0_rnn0_W_shape)
   classifier0_lstm0_rnn00_, classifier0_lstm0_rnn01, classifier0_lstm0_rnn02 = LSTM <hidden_size: int = 32> (classifier0_transpose0, classifier0_lstm0_rnn0_W, classifier0_lstm0_rnn0_R, classifier0_lstm0_rnn0_B, classifier0_lstm0_rnn0_seq_len, classifier0_lstm0_rnn0initial_h, classifier0_lstm0_rnn0initial_c)
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
TOOL = 'iree'
SEEN_WITH = {'mxnet': '1.9.1',
 'gluoncv': '0.10.5.post0',
 'iree-base-compiler': '3.13.0',
 'iree-base-runtime': '3.13.0',
 'onnxruntime': '1.31.1',
 'onnx': '1.23.2'}
SYMPTOM = 'crash'
WRONG = 'compile: crash: the agent was killed by SIGSEGV in stage compile'
SAYS = ''
HOW = {'precision': 'fp32',
 'graph': 'original',
 'backend': '',
 'options': {'optimisation': 'O0', 'shapes': 'kept'},
 'target': {'name': 'local', 'title': 'this machine'}}
INPUTS = [('classifier0_transpose0', 'in0')]
OUTPUTS = [('classifier0_lstm0_rnn00_', 'float64'),
 ('classifier0_lstm0_rnn01', 'float64'),
 ('classifier0_lstm0_rnn02', 'float64')]
SHAPES = [[1, 1, 1, 32], [1, 1, 32], [1, 1, 32]]
LIMITS = [(None, None), (None, None), (None, None)]
SECONDS = 120


# IREE, through its compiler's API.
PACKAGES = ["iree-base-compiler", "iree-base-runtime", "onnx"]


def run(path, inputs, how):
    import io

    import onnx
    from iree import runtime
    from iree.compiler import ir
    from iree.compiler.api import Output, Session, Source
    from iree.compiler.extras import onnx_importer

    written = io.BytesIO()
    with ir.Context() as context:
        info = onnx_importer.ModelInfo(onnx.shape_inference.infer_shapes(onnx.load(path), data_prop=True))
        module = info.create_module(context=context).operation
        onnx_importer.NodeImporter.define_function(info.main_graph, module).import_all()
        module.write_bytecode(written)
    session = Session()
    session.set_flags(
        "--iree-hal-target-backends=llvm-cpu",
        "--iree-llvmcpu-target-cpu=host",
        "--iree-input-type=onnx",
        "--iree-input-demote-f64-to-f32=false",
        "--iree-opt-level=" + how["options"].get("optimisation", "O0"),
    )
    said = []
    session.context.attach_diagnostic_handler(lambda one: not said.append(str(one.message)))
    invocation = session.invocation()
    if not invocation.parse_source(Source.wrap_buffer(session, written.getvalue())) or not invocation.execute():
        raise RuntimeError(said[0] if said else "the compiler gave up without a message")
    output = Output.open_membuffer()
    invocation.output_vm_bytecode(output)
    loaded = runtime.load_vm_flatbuffer(bytes(output.map_memory()), driver="local-sync")
    # Functions that begin so are IREE's own, or the asynchronous form of the same one.
    names = [one for one in loaded.vm_module.function_names if not one.startswith("__") and not one.endswith("$async")]
    found = loaded[names[0]](*inputs.values())
    return [y.to_host().copy() for y in (found if isinstance(found, (tuple, list)) else [found])]



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
