"""IREE 3.13.0 (ONNX importer, llvm-cpu): operators whose numbers are wrong without an error.

- Gelu, approximate="tanh" (Gelu 20: sqrt(2/pi) = 0.7978846): the constant is 0.7977240, off by 4.5e-5 at x = 1 and -1.
- SoftmaxCrossEntropyLoss, reduction="mean" with weights (13): the sum of the weights is kept in int64, so that every
  weight is cut off to a whole number first: inf where all are below 1, a wrong mean for weights such as 1.5.
- QLinearMatMul (21) of three dimensions: both zero points are dropped, and uint8 is read as int8; the same product with
  two dimensions is right.
- Selu (6, 22) and HammingWindow (17): constants with six digits (1.67326 and 1.0507; 0.543478 and -0.456522) where the
  specification gives those of float32; off by 3e-6 and 5e-7.
- Det (22) of a matrix whose first element is 0: NaN, there is no pivoting (the assertion that says so is compiled away).
- SpaceToDepth, mode="CRD" (28): the attribute is ignored, the result is that of DCR.
- AveragePool (19) with ceil_mode and count_include_pad: the last window, which hangs over, is divided by the whole kernel.
- GridSample, mode="nearest" (20: halves go to the even index): halves go up.
Versions: iree-base-compiler and iree-base-runtime 3.13.0, onnx 1.23.2, numpy. Ends with 1 while a defect shows.
"""
import io
import math
import sys

import numpy as np
import onnx
from iree import runtime
from iree.compiler import ir
from iree.compiler.api import Output, Session, Source
from iree.compiler.extras import onnx_importer
from onnx import helper as h


def run(model, inputs):
    written = io.BytesIO()
    with ir.Context() as context:
        info = onnx_importer.ModelInfo(onnx.shape_inference.infer_shapes(model, data_prop=True))
        module = info.create_module(context=context).operation
        onnx_importer.NodeImporter.define_function(info.main_graph, module).import_all()
        module.write_bytecode(written)
    session = Session()
    session.set_flags("--iree-hal-target-backends=llvm-cpu", "--iree-llvmcpu-target-cpu=host", "--iree-input-type=onnx")
    invocation = session.invocation()
    if not invocation.parse_source(Source.wrap_buffer(session, written.getvalue())) or not invocation.execute():
        raise RuntimeError("does not compile")
    output = Output.open_membuffer()
    invocation.output_vm_bytecode(output)
    loaded = runtime.load_vm_flatbuffer(bytes(output.map_memory()), driver="local-sync")
    names = [one for one in loaded.vm_module.function_names if not one.startswith("__") and not one.endswith("$async")]
    signless = [x.view(f"i{x.dtype.itemsize}") if x.dtype.kind == "u" else x for x in inputs]
    return loaded[names[0]](*signless).to_host().copy()


def check(name, opset, inputs, expected, limit=1e-6, **attributes):
    kind = lambda x: h.np_dtype_to_tensor_dtype(x.dtype)
    names = [f"x{n}" for n in range(len(inputs))]
    ports = [h.make_tensor_value_info(one, kind(x), x.shape) for one, x in zip(names, inputs)]
    y = h.make_tensor_value_info("y", kind(expected), expected.shape)
    graph = h.make_graph([h.make_node(name, names, ["y"], **attributes)], "g", ports, [y])
    model = h.make_model(graph, opset_imports=[h.make_opsetid("", opset)], ir_version=10 if opset < 28 else 14)
    onnx.checker.check_model(model, full_check=True)
    found = run(model, inputs)
    found = found.view(expected.dtype) if expected.dtype.kind == "u" else found
    error = np.abs(found.astype(float) - expected.astype(float)).max()
    wrong = not error <= limit
    print(f"{'WRONG' if wrong else 'right'}  {name} {attributes or ''}\n   got      {found.ravel()[:6]}\n   expected "
          f"{expected.ravel()[:6]}")
    return wrong


f32 = lambda *v: np.array(v, np.float32)
x = f32(-1, 0, 1)
gelu = f32(*(0.5 * v * (1 + math.tanh(math.sqrt(2 / math.pi) * (v + 0.044715 * v**3))) for v in x.tolist()))
scores, labels, weights = np.zeros((2, 3), np.float32), np.array([0, 1]), f32(1.5, 0.5, 1)
a, b = np.array([[[3, 200], [130, 7]]], np.uint8), np.array([[[1, 250], [128, 4]]], np.uint8)
one, point = f32(1), np.array([100], np.uint8)
scale = f32(200)
product = np.clip(np.rint((a.astype(int) - 100) @ (b.astype(int) - 100) / 200) + 100, 0, 255).astype(np.uint8)
selu = f32(*(1.05070102 * v if v > 0 else 1.05070102 * 1.67326319 * math.expm1(v) for v in (-2.0, 1.0, 3.0)))
window = f32(*(25 / 46 - 21 / 46 * math.cos(2 * math.pi * n / 10) for n in range(10)))
depth = np.arange(8, dtype=np.float32).reshape(1, 2, 2, 2)
crd = depth.reshape(1, 2, 1, 2, 1, 2).transpose(0, 1, 3, 5, 2, 4).reshape(1, 8, 1, 1)
at = np.stack([f32(1.5, 2.5, 3.5) / 4 * 2 - 1, f32(0, 0, 0)], -1)[None, None]

wrong = [
    check("Gelu", 20, [x], gelu, approximate="tanh"),
    check("SoftmaxCrossEntropyLoss", 13, [scores, labels, weights], np.array(math.log(3), np.float32), reduction="mean"),
    check("QLinearMatMul", 21, [a[0], one, point, b[0], one, point, scale, point], product[0], 0),
    check("QLinearMatMul", 21, [a, one, point, b, one, point, scale, point], product, 0),
    check("Selu", 6, [f32(-2, 1, 3)], selu),
    check("HammingWindow", 17, [np.array(10, np.int32)], window, 2e-7),
    check("Det", 22, [np.arange(4, dtype=np.float32).reshape(2, 2)], np.array(-2, np.float32)),
    check("SpaceToDepth", 28, [depth], crd, blocksize=2, mode="CRD"),
    check("AveragePool", 19, [np.ones((1, 1, 4), np.float32)], np.ones((1, 1, 2), np.float32), kernel_shape=[3], strides=[2],
          ceil_mode=1, count_include_pad=1),
    check("GridSample", 20, [np.arange(5, dtype=np.float32).reshape(1, 1, 1, 5), at], f32(2, 2, 4).reshape(1, 1, 1, 3), 1e-5,
          mode="nearest", align_corners=1),
]
sys.exit(1 if any(wrong) else 0)
