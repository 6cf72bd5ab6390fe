"""Apache TVM 0.27.0.post1 (relax ONNX frontend, llvm): single operators that fail or differ.

Found by the property-based search (suites/properties); here with TVM alone. Every model passes onnx.checker with
full_check; opset 17, static shapes. Stage compile, symptom exception, unless said.
- Elementwise operators of a constant without elements beside an operand without elements: "CodeGenVM cannot emit this
  Relax operator directly" (a call to relax.add is left over).
- Equal of two bool tensors: "LLVM module verification failed: Invalid operand types for FCmp instruction".
- Sign of uint8: "cannot make uint from negative value -1" (Sign 13 takes all numeric types).
- PRelu of scalars, or without elements: ValueError.
- An exported library that holds a constant without elements cannot be loaded: run, exception "Invalid DLTensor file
  format"; the same module runs in the process that built it.
Versions: apache-tvm 0.27.0.post1, onnx 1.23.2.
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

import tvm
from tvm import relax
from tvm.relax.frontend.onnx import from_onnx

VERSIONS = "tvm " + tvm.__version__


def run(path, inputs, outputs):
    target = tvm.target.Target({"kind": "llvm", "mcpu": tvm.target.codegen.llvm_get_system_cpu()})
    built = relax.build(from_onnx(onnx.load(path)), target)
    if os.environ.get("EXPORT"):
        built.export_library("model.so")
        built = tvm.runtime.load_module("model.so")
    found = relax.VirtualMachine(built, tvm.cpu())["main"](*[tvm.runtime.tensor(x) for x in inputs.values()])
    return [y.numpy() for y in ([found] if hasattr(found, "numpy") else found)]


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
show("Add", z(0), z(0), constants=[z(0)])
show("Add", z(0), z(0), z(0))
show("Equal", np.array([True]), np.array([True]), np.array([True]))
show("Sign", u8(1), u8(2))
show("PRelu", np.float32(0), np.array(0, np.float32), np.array(0, np.float32))
show("PRelu", z(0), z(0), z(0))
show("Div", np.zeros((1, 0), np.int32), np.array(3, np.int32), constants=[np.zeros((1, 0), np.int32)])
os.environ["EXPORT"] = "1"  # in another process a library is what there is
show("Div", np.zeros((1, 0), np.int32), np.array(3, np.int32), constants=[np.zeros((1, 0), np.int32)])
