"""IREE 3.13.0: a - r[:, :, None] - r[:, None, :] is wrong where r is the sum of another tensor.

Rule: Sub 14 with multidirectional broadcasting. Each of the two subtractions is right alone; together with the sum they
become one loop. Distances between all pairs of points are computed so, as in networks of nearest neighbours.
Upstream: none known.
Needs: pip install iree-base-compiler==3.13.0 iree-base-runtime==3.13.0 onnx numpy. Exits with 1 while the defect shows.
"""

import sys

import numpy as np
import onnx
from iree import runtime
from iree.compiler import ir, tools
from iree.compiler.extras import onnx_importer


def run(text, *inputs):
    model = onnx.parser.parse_model(text)
    onnx.checker.check_model(model, full_check=True)
    with ir.Context() as context:
        info = onnx_importer.ModelInfo(onnx.shape_inference.infer_shapes(model))
        module = info.create_module(context=context).operation
        onnx_importer.NodeImporter.define_function(info.main_graph, module).import_all()
        text = str(module)
    code = tools.compile_str(
        text, target_backends=["llvm-cpu"], input_type="onnx", extra_args=["--iree-llvmcpu-target-cpu=host"]
    )
    return runtime.load_vm_flatbuffer(code, driver="local-sync")["g"](*inputs).to_host()


TEXT = """<ir_version: 8, opset_import: ["": 17]> g (float[1,3,12] x, float[1,12,12] a) => (float[1,12,12] y)
<int64[1] one = {1}, int64[1] two = {2}> {
    d = Relu (x)
    r = ReduceSum <keepdims = 0> (d, one)
    u = Unsqueeze (r, two)
    v = Unsqueeze (r, one)
    p = Sub (a, u)
    y = Sub (p, v)
}"""
draw = np.random.default_rng(0)
x, a = draw.normal(size=(1, 3, 12)).astype("float32"), draw.normal(size=(1, 12, 12)).astype("float32")
r = np.maximum(x, 0).sum(1)
expected, got = a - r[:, :, None] - r[:, None, :], run(TEXT, x, a)
print("expected", expected[0, 1, :4])
print("got     ", got[0, 1, :4])
sys.exit(0 if np.allclose(expected, got, atol=1e-5) else 1)
