"""MNN 3.6.1 (converter of the wheel, CPU, precision high): single operators that differ from ONNX's specification.

Found by the property-based search (suites/properties); here with MNN alone. Every model passes onnx.checker with
full_check; opset 17, static shapes. Rules: ONNX's operator specifications. Stage run, symptom mismatch, unless said.
- any tensor without elements: its own read() raises "call to readMap meet a error"; Slice to none gives an
  element that nobody wrote.
- Max, Min, Sum, Mean of one operand: compile, crash (SIGSEGV while the module is loaded).
- Max, Min, Mean, Sum of three operands: the third is not broadcast with the others (wrong values, wrong shape).
- Mean of two scalars, comparisons, Clip, Mod of uint8: run, exception "Compute Shape Error", no output comes.
- Less, LessOrEqual, Greater, GreaterOrEqual of float32: compared as integers in some kernels: -1 < -1.43 is true.
- Equal: 0.0 and -0.0 are not equal. Cast of 0.07 to bool is false (cut off to 0 first).
- Where: a branch that is broadcast along the last axis is read wrongly.
- Clip of int32 without bounds: -1 becomes 2139095039 (the bits of a float bound).
- ArgMax of int32: the place of the smallest of negative numbers. TopK: of equal values the higher index first
  ("given two equivalent values, this operator uses the indices along the axis as a tiebreaker").
- Mod fmod = 1: the sign of the divisor instead of the dividend's.
- Shrink with its defaults: -1 becomes 0 (Shrink 9: x < -lambd, then x + bias).
- GatherElements, ScatterElements: negative indices are not taken from the end.
- Resize without a mode interpolates linearly; the default is nearest.
- ReduceL1, ReduceL2 without axes drop the axis though keepdims is 1 by default.
- MatMul with a one-dimensional right operand: wrong shape, or no output.
- ConvTranspose in one dimension: four dimensions come out.
Versions: MNN 3.6.1, onnx 1.23.2.
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

import MNN.expr as expressions
import MNN.nn as nn
import _tools  # the converter itself: the command mnnconvert installs packages when it starts

import importlib.metadata

VERSIONS = "MNN " + importlib.metadata.version("mnn")


def run(path, inputs, outputs):
    target = path + ".mnn"
    _tools.mnnconvert(["mnnconvert", "-f", "ONNX", "--modelFile", path, "--MNNModel", target, "--bizCode", "repro"])
    if not os.path.exists(target):
        raise RuntimeError("mnnconvert wrote no model")
    manager = nn.create_runtime_manager(({"backend": "CPU", "precision": "high", "numThread": 1},))
    names = [name for name, _ in outputs]
    module = nn.load_module_from_file(target, list(inputs), names, runtime_manager=manager, rearrange=False)
    variables = []
    for x in inputs.values():
        whole = x.dtype.kind in "iub"
        variable = expressions.placeholder(list(x.shape), expressions.NCHW, expressions.int if whole else expressions.float)
        variable.write(np.ascontiguousarray(x, np.int32 if whole else np.float32))
        variables.append(variable)
    found = module.forward(variables)
    found = list(found) if isinstance(found, (list, tuple)) else [found]
    return [expressions.convert(y, expressions.NCHW).read().copy() for y in found]


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
show("Identity", z(0), z(0))
show("Slice", z(0), z(0), constants=[i(0), i(1), i(0), i(2)])
for name in ("Max", "Min", "Sum", "Mean"):
    show(name, np.float32(2), np.array(2, np.float32))
show("Max", np.maximum(f(1, 5, 2), f(3).reshape(1, 1) * np.ones((2, 1), np.float32)), f(1, 5, 2), f(3, 3).reshape(2, 1), f(1, 5, 2))
show("Mean", np.float32(1), np.array(0, np.float32), np.array(2, np.float32))
show("Less", np.array(True), np.array(1, np.uint8), constants=[np.array(2, np.uint8)])
show("Less", np.array([False, False]), f(-1, 1), f(-1.43))
show("GreaterOrEqual", f(-1, 1).reshape(1, 2, 1) >= f(-1.5, 0, 1.5), f(-1, 1).reshape(1, 2, 1), f(-1.5, 0, 1.5).reshape(1, 1, 3))
show("Equal", np.array([True]), f(0.0), f(-0.0))
show("Cast", np.array([True]), f(0.07), to=T.BOOL)
show("Where", np.array([[-1.8, -1], [0.6, 1]], np.float32), np.array([[True, False], [True, False]]),
     np.array([[-1.8, -0.6], [0.6, 1.8]], np.float32), f(-1, 1).reshape(2, 1))
show("Clip", i32(-1, 1), i32(-1, 1))
show("ArgMax", i(1), i32(-2, -1))
show("TopK", i(1, 3), i32(0, 3, -2, 3), constants=[i(2)], outputs=2)
show("Mod", f(1), f(5), constants=[f(-2)], fmod=1)
show("Shrink", f(-1, 1), f(-1, 1))
show("GatherElements", f(1).reshape(1, 1), f(1).reshape(1, 1), i(-1).reshape(1, 1))
show("ScatterElements", f(0), f(0.5), i(-1), f(0))
show("Resize", f(-1, -1, 1, 1).reshape(1, 1, 1, 4), f(-1, 1).reshape(1, 1, 1, 2), constants=[f(1, 1, 1, 2)], inputs=["x0", "", "c0"])
show("ReduceL1", f(1), f(1))
show("MatMul", z(1, 1, 2), f(-1, 1).reshape(1, 1, 2, 1), constants=[f(0)])
show("ConvTranspose", z(1, 1, 1), z(1, 1, 1), z(1, 1, 1), kernel_shape=[1], strides=[1])
