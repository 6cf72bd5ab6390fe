"""IREE 3.13.0 (ONNX importer, llvm-cpu): single operators that fail or differ.

Found by the property-based search (suites/properties); here with IREE alone. Every model passes onnx.checker with
full_check; opset 17, static shapes.
- LRN with an even size: run, mismatch: another window than floor((size - 1) / 2) before and ceil((size - 1) / 2) after
  (LRN 13).
- An unsigned constant (uint8 initializer): compile, exception "'torch.vtensor.literal' op inferred type(s) ... si8 are
  incompatible with return type(s) ... ui8".
- Slice of a tensor without elements: compile, exception "offset 1 is out-of-bounds: 0 >= 0".
- Slice with negative steps of int64: compile, exception "LLVM Translation failed for operation:
  builtin.unrealized_conversion_cast".
Versions: iree-base-compiler and runtime 3.13.0, onnx 1.23.2.
"""
import os
import sys
import tempfile

import numpy as np
import onnx
from onnx import TensorProto as T, helper as h

KINDS = {"float32": T.FLOAT, "int64": T.INT64, "int32": T.INT32, "uint8": T.UINT8, "bool": T.BOOL}
f = lambda *v: np.array(v, np.float32)
i = lambda *v: np.array(v, np.int64)
i32 = lambda *v: np.array(v, np.int32)
u8 = lambda *v: np.array(v, np.uint8)
z = lambda *shape: np.zeros(shape, np.float32)

import io
import importlib.metadata

from iree import runtime
from iree.compiler import ir
from iree.compiler.api import Output, Session, Source
from iree.compiler.extras import onnx_importer

VERSIONS = "iree " + importlib.metadata.version("iree-base-compiler")


def run(path, inputs, outputs):
    written = io.BytesIO()
    with ir.Context() as context:
        info = onnx_importer.ModelInfo(onnx.shape_inference.infer_shapes(onnx.load(path), data_prop=True))
        module = info.create_module(context=context).operation
        onnx_importer.NodeImporter.define_function(info.main_graph, module).import_all()
        module.write_bytecode(written)
    session = Session()
    session.set_flags("--iree-hal-target-backends=llvm-cpu", "--iree-llvmcpu-target-cpu=host", "--iree-input-type=onnx",
                      "--iree-input-demote-f64-to-f32=false")
    said = []
    session.context.attach_diagnostic_handler(lambda one: not said.append(str(one.message)))
    invocation = session.invocation()
    if not invocation.parse_source(Source.wrap_buffer(session, written.getvalue())) or not invocation.execute():
        raise RuntimeError(said[0] if said else "the compiler gave up without a message")
    output = Output.open_membuffer()
    invocation.output_vm_bytecode(output)
    loaded = runtime.load_vm_flatbuffer(bytes(output.map_memory()), driver="local-sync")
    names = [one for one in loaded.vm_module.function_names if not one.startswith("__") and not one.endswith("$async")]
    found = loaded[names[0]](*inputs.values())
    return [y.to_host().copy() for y in (found if isinstance(found, (tuple, list)) else [found])]


def show(operator, want, *given, constants=(), inputs=None, outputs=1, **attributes):
    """The operator alone; what is expected of its last output."""
    names = [f"x{n}" for n in range(len(given))]
    want = np.asarray(want)
    port = lambda n, x: h.make_tensor_value_info(n, KINDS[x.dtype.name], x.shape)
    inits = [onnx.numpy_helper.from_array(c, f"c{n}") for n, c in enumerate(constants)]
    results = [f"y{n}" for n in range(outputs)]
    graph = h.make_graph([h.make_node(operator, inputs or names + [t.name for t in inits], results, **attributes)], "g",
                         [port(n, x) for n, x in zip(names, given)], [port(results[-1], want)], inits)
    model = h.make_model(graph, opset_imports=[h.make_opsetid("", 17)], ir_version=8)
    onnx.checker.check_model(model, full_check=True)
    text = f"{operator} {attributes or ''} {[list(x.shape) for x in given]} {[x.tolist() for x in (*given, *constants) if x.size < 9]}:"
    pid = os.fork()  # a crash must not end the script
    if pid:
        _, status = os.waitpid(pid, 0)
        if os.WIFSIGNALED(status):
            print(text, "killed by signal", os.WTERMSIG(status), flush=True)
        return
    os.chdir(tempfile.mkdtemp())
    path = os.path.abspath("model.onnx")
    onnx.save(model, path)
    kept, null = os.dup(1), os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, 1)
    os.dup2(null, 2)
    try:
        ys = run(path, dict(zip(names, given)), [(results[-1], want.shape)])
        if not ys:
            said = "gives no output"
        else:
            y = np.asarray(ys[-1])
            same = y.shape == want.shape and np.allclose(y, want, rtol=1e-6, atol=0, equal_nan=want.dtype.kind == "f")
            said = f"gives {y.reshape(-1)[:8].tolist()} {list(y.shape)}" + ("" if same else "  <-- differs")
    except Exception as error:
        said = f"{type(error).__name__} {' '.join(str(error).split())[:170]}"
    line = f"{text} {said}; expected {want.reshape(-1)[:8].tolist()} {list(want.shape)}\n"
    os.write(kept, line.encode())
    os._exit(0)


print(VERSIONS, flush=True)
x = f(1, 2).reshape(1, 2, 1, 1)
show("LRN", (x / (1 + 0.25 * f(5, 4).reshape(1, 2, 1, 1)) ** 0.5).astype("f"), x, size=2, alpha=0.5, beta=0.5)
show("LRN", (x / (1 + 0.5 / 3 * f(5, 5).reshape(1, 2, 1, 1)) ** 0.5).astype("f"), x, size=3, alpha=0.5, beta=0.5)
show("Concat", u8(0, 3), np.zeros(0, np.uint8), constants=[u8(0, 3)], axis=0)
show("Concat", f(0, 3), z(0), constants=[f(0, 3)], axis=0)
x = np.zeros((3, 0, 5, 5), np.int32)
show("Slice", x[-2::-2, :0:2, 1::2, 1:0:-2], x, constants=[i(-2, 1, 1, 1), i(-2147483647, 0, 2147483647, 0), i(0, 1, 2, 3), i(-2, 2, 2, -2)])
show("Slice", x[:, 1:0:2], x, constants=[i(1), i(0), i(1), i(2)])
x = np.arange(20, dtype=np.int64).reshape(1, 2, 2, 5)
show("Slice", x[:, ::-1, 1:, -2:4:2], x, constants=[i(-2, -1, 1), i(4, -2147483647, 2147483647), i(-1, -3, 2), i(2, -1, 1)])
show("Slice", x[:, ::-1], x, constants=[i(-1), i(-2147483647), i(1), i(-1)])
