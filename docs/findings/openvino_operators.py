"""OpenVINO 2026.4.1, CPU plugin, ONNX frontend, INFERENCE_PRECISION_HINT f32: single operators that differ.

Found by the property-based search (suites/properties), each confirmed here with OpenVINO alone; `0-sized` and `scalar`
say what the minimal example needs. Every model passes onnx.checker (full_check), opset 17, static shapes. Stage run
and symptom mismatch unless said otherwise. Rules: ONNX's operator specifications at opset 17.
- HardSigmoid beta = 0.0: the default 0.5 is used (HardSigmoid 6: y = max(0, min(1, alpha x + beta))).
- ReduceL1, ReduceLogSum, ReduceLogSumExp, attribute axes (opset 13): axes is ignored, everything is reduced.
- ReduceMax, ReduceMin of int32, int64: computed in float32: 2147483647 comes as -2147483648, 16777217 as 16777216.
- BitShift LEFT of uint8 saturates: 255 << 1 gives 255; bits that leave are lost, 254.
- Greater, GreaterOrEqual: 0 > NaN is True (comparisons with NaN are false, IEEE 754, numpy).
- LRN with an even size: the window is another than floor((size - 1) / 2) before, ceil((size - 1) / 2) after.
- BitShift, Expand of scalars: shape [1] for [].
- 0-sized: Concat, Where, Max, Div, Flatten: another shape, with an element that nobody wrote (Flatten, Div).
- 0-sized: MatMul, Gemm with a constant of no rows: compile, exception; a sum over nothing is 0 (numpy.matmul).
- 0-sized: Expand to [2, 0], Gather with no indices: compile, crash: SIGFPE ends the process.
- int64: values beyond int32 are narrowed without a word while the output still says int64 (documented of the plugin).
"""
import os
import sys

import numpy as np
import onnx
import openvino as ov
from onnx import TensorProto as T, helper as h

KINDS = {"float32": T.FLOAT, "int64": T.INT64, "int32": T.INT32, "uint8": T.UINT8, "bool": T.BOOL}
f = lambda *v: np.array(v, np.float32)
i = lambda *v: np.array(v, np.int64)


def show(operator, want, *given, constants=(), **attributes):
    names = [f"x{n}" for n in range(len(given))]
    want = np.asarray(want)
    port = lambda n, x: h.make_tensor_value_info(n, KINDS[x.dtype.name], x.shape)
    inits = [onnx.numpy_helper.from_array(c, f"c{n}") for n, c in enumerate(constants)]
    graph = h.make_graph([h.make_node(operator, names + [t.name for t in inits], ["y"], **attributes)], "g",
                         [port(n, x) for n, x in zip(names, given)], [port("y", want)], inits)
    model = h.make_model(graph, opset_imports=[h.make_opsetid("", 17)], ir_version=8)
    onnx.checker.check_model(model, full_check=True)
    text = f"{operator} {attributes or ''} {[list(x.shape) for x in given]}:"
    pid = os.fork()  # a crash must not end the script
    if pid:
        _, status = os.waitpid(pid, 0)
        if os.WIFSIGNALED(status):
            print(text, "killed by signal", os.WTERMSIG(status), flush=True)
        return
    try:
        core = ov.Core()
        compiled = core.compile_model(core.read_model(model.SerializeToString()), "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
        y = list(compiled({n: x for n, x in zip(names, given)}).values())[0]
        same = y.shape == want.shape and np.array_equal(y, want, equal_nan=want.dtype.kind == "f")
        print(text, "gives", y.reshape(-1)[:6].tolist(), list(y.shape), "expected", want.reshape(-1)[:6].tolist(), list(want.shape),
              "" if same else "  <-- differs", flush=True)
    except Exception as error:
        print(text, type(error).__name__, " ".join(str(error).split())[:150], "expected", list(want.shape), flush=True)
    sys.stdout.flush()
    os._exit(0)


print("openvino", ov.__version__, "onnx", onnx.__version__, flush=True)
for name in ("Max", "Min", "Sum"):
    show(name, np.float32(2), np.array(2, np.float32))
    show(name, f(1, 2, 3), f(1, 2, 3))
show("HardSigmoid", f(0.2), f(1), beta=0.0)
show("HardSigmoid", f(0.3), f(1), beta=0.1)
for name in ("ReduceL1", "ReduceLogSumExp", "ReduceL2", "ReduceLogSum", "ReduceSumSquare", "ReduceMean"):
    show(name, f(1, 1).reshape(1, 2), f(1, 1).reshape(1, 2) if name != "ReduceLogSum" else f(np.e, np.e).reshape(1, 2), axes=[0])
show("BitShift", np.array([254], np.uint8), np.array([255], np.uint8), np.array([1], np.uint8), direction="LEFT")
show("BitShift", np.array(2, np.uint8), np.array(1, np.uint8), np.array(1, np.uint8), direction="LEFT")
show("Expand", np.float32(0), np.array(0, np.float32), constants=[np.zeros(0, np.int64)])
show("Concat", np.zeros((2, 0), np.float32), np.zeros((1, 0), np.float32), constants=[np.zeros((1, 0), np.float32)], axis=0)
for x in (2147483647, 16777217):
    show("ReduceMax", np.int32(x), np.array(x, np.int32))
    show("ReduceMin", i(x), i(x), axes=[0], keepdims=1)
show("Greater", np.array(False), np.array(0, np.float32), np.array(np.nan, np.float32))
show("GreaterOrEqual", np.array([False]), f(0), f(np.nan))
show("Less", np.array([False]), f(0), f(np.nan))
show("Where", np.zeros((0, 2), np.float32), np.array([True]), np.zeros((0, 1), np.float32), constants=[np.zeros((0, 2), np.float32)])
show("Max", np.zeros((0, 1), np.float32), f(1), constants=[np.zeros((0, 1), np.float32)])
show("Div", np.zeros(0, np.int32), np.array(4, np.int32), constants=[np.zeros(0, np.int32)])
show("Flatten", np.zeros((1, 0), np.float32), np.zeros((1, 1, 0), np.float32), axis=-1)
show("LRN", (f(1, 2) / (1 + 1e-4 / 2 * f(5, 4)) ** .75).astype("f").reshape(1, 2, 1, 1), f(1, 2).reshape(1, 2, 1, 1), size=2)
show("MatMul", np.zeros((1, 1), np.float32), np.zeros((1, 0), np.float32), constants=[np.zeros((0, 1), np.float32)])
show("Gemm", np.zeros((1, 1), np.float32), np.zeros((1, 0), np.float32), constants=[np.zeros((0, 1), np.float32)])
show("Expand", np.zeros((2, 0), np.float32), np.zeros((1, 0), np.float32), constants=[i(2, 0)])
show("Gather", np.zeros((0, 1), bool), np.ones((1, 1), bool), np.zeros(0, np.int64), axis=0)
show("Transpose", i(2**40), i(2**40))
show("Transpose", i(2**40).reshape(()), i(2**40).reshape(()))
