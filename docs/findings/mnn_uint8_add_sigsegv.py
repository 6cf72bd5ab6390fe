"""MNN 3.6.1 (CPU, x86): Add of two uint8 inputs kills the process (SIGSEGV), with either interface of the engine.

The converter declares the inputs as uint8 (``module.get_info()`` says so), and ONNX Add 14 takes uint8. The same holds for
Sub, Mul, Div, Mod, Max and Min of uint8 and int8; comparisons and BitShift end with "Create execution error : 7" instead.
Handed over as int32, which the engine accepts although the file says uint8, the values come out right, but in 32 bits:
200 + 100 is 300 and not 44. Stage run, symptom crash. Needs numpy, onnx, mnn==3.6.1.
"""
import os
import sys
import tempfile

import numpy as np
import onnx
from onnx import TensorProto as T, helper as h

import MNN
import MNN.expr as expressions
import MNN.nn as nn
import _tools  # the converter itself: the command mnnconvert installs packages when it starts

os.chdir(tempfile.mkdtemp())
port = lambda name: h.make_tensor_value_info(name, T.UINT8, [2])
graph = h.make_graph([h.make_node("Add", ["a", "b"], ["y"])], "g", [port("a"), port("b")], [port("y")])
model = h.make_model(graph, opset_imports=[h.make_opsetid("", 17)], ir_version=8)
onnx.checker.check_model(model, full_check=True)
onnx.save(model, "model.onnx")
_tools.mnnconvert(["mnnconvert", "-f", "ONNX", "--modelFile", "model.onnx", "--MNNModel", "model.mnn", "--bizCode", "repro"])
VALUES = {"a": np.array([200, 1], np.uint8), "b": np.array([100, 1], np.uint8)}


def module(kind, dtype):
    loaded = nn.load_module_from_file("model.mnn", ["a", "b"], ["y"])
    print("declared:", [str(x.dtype) for x in loaded.get_info()["inputs"]], flush=True)
    variables = [expressions.placeholder([2], expressions.NCHW, kind) for _ in VALUES]
    for variable, x in zip(variables, VALUES.values()):
        variable.write(x.astype(dtype))
    found = loaded.forward(variables)
    return (found[0] if isinstance(found, (list, tuple)) else found).read()


def session():
    interpreter = MNN.Interpreter("model.mnn")
    opened = interpreter.createSession({"backend": "CPU", "numThread": 1})
    for name, x in VALUES.items():
        tensor = interpreter.getSessionInput(opened, name)
        tensor.copyFrom(MNN.Tensor((2,), MNN.Halide_Type_Uint8, x, MNN.Tensor_DimensionType_Caffe))
    interpreter.runSession(opened)
    return interpreter.getSessionOutput(opened, "y").getData()


crashed = 0
for title, call in (("module, uint8", lambda: module(expressions.uint8, np.uint8)), ("session, uint8", session),
                    ("module, int32", lambda: module(expressions.int, np.int32))):
    sys.stdout.flush()
    pid = os.fork()  # a crash must not end the script
    if not pid:
        print(f"{title}: gives {np.asarray(call()).tolist()}; expected [44, 2]", flush=True)
        os._exit(0)
    _, status = os.waitpid(pid, 0)
    if os.WIFSIGNALED(status):
        crashed = 1
        print(f"{title}: killed by signal {os.WTERMSIG(status)}", flush=True)
sys.exit(crashed)
