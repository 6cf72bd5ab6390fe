"""OpenVINO 2026.4.1, CPU plugin, INFERENCE_PRECISION_HINT f32: infinities become the largest finite float.

ReduceMax of nothing but -Inf gives -3.4028235e+38 (ONNX ReduceMax 18: the maximum, which is -Inf; ReduceMin likewise),
so the test "is the whole row masked?" of an attention fails and NaN comes out: six of onnx's expanded Attention cases.
ReduceMax over no element gives it too (ONNX 20: minus infinity). Cast between float32 and float64 turns Inf into it
(ONNX Cast: the standard conversion keeps Inf), and every operator on float64, which the plugin computes in float32,
does the same beyond float32's range: 1e300 + 1e300 is 3.4028235e+38. Cast to and from float16 keeps Inf.
"""
import numpy as np
import onnx
import openvino as ov
from onnx import TensorProto as T, helper as h

core = ov.Core()
inf = np.inf
print("openvino", ov.__version__, "onnx", onnx.__version__)


def show(operator, want, *given, constants=(), **attributes):
    kind = onnx.helper.np_dtype_to_tensor_dtype
    names = [f"x{n}" for n in range(len(given))]
    inits = [onnx.numpy_helper.from_array(c, f"c{n}") for n, c in enumerate(constants)]
    graph = h.make_graph([h.make_node(operator, names + [t.name for t in inits], ["y"], **attributes)], "g",
                         [h.make_tensor_value_info(n, kind(x.dtype), x.shape) for n, x in zip(names, given)],
                         [h.make_tensor_value_info("y", kind(want.dtype), want.shape)], inits)
    model = h.make_model(graph, opset_imports=[h.make_opsetid("", 20)], ir_version=9)
    onnx.checker.check_model(model, full_check=True)
    compiled = core.compile_model(core.read_model(model.SerializeToString()), "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
    y = compiled(dict(zip(names, given)))[0]
    same = np.array_equal(y, want)
    print(operator, [x.tolist() for x in given], "gives", y.tolist(), "expected", want.tolist(), "" if same else "<-- differs")


f = lambda *v: np.array(v, np.float32)
axis = np.array([0], np.int64)
show("ReduceMax", f(-inf), f(-inf, -inf), constants=[axis])
show("ReduceMin", f(inf), f(inf, inf), constants=[axis])
show("ReduceMax", f(-inf, -inf).reshape(1, 2), np.zeros((0, 2), np.float32), constants=[axis])
show("Cast", np.array([inf, -inf]), f(inf, -inf), to=T.DOUBLE)
show("Cast", f(inf, -inf), np.array([inf, -inf]), to=T.FLOAT)
show("Cast", np.array([inf, -inf], np.float16), f(inf, -inf), to=T.FLOAT16)
show("Add", np.array([2e300, inf]), np.array([1e300, inf]), np.array([1e300, 1.0]))
