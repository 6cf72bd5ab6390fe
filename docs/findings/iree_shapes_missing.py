"""IREE 3.13.0: shapes of MatMul, GridSample, MaxUnpool, ConvInteger and Expand are refused (not supported).

Rule: ONNX MatMul 13 is numpy.matmul; GridSample 20 takes volumes; MaxUnpool 11 has any number of spatial dimensions and
an input output_shape; ConvInteger 10 has a zero point for each output channel; Expand 13 broadcasts both ways.
Upstream: none known.
Needs iree-base-compiler==3.13.0, onnx and numpy. Ends with 1 while the defect shows, with 0 when it is gone.
"""

import sys

import onnx
from iree.compiler import ir, tools
from iree.compiler.extras import onnx_importer

OPTIONS = ["--iree-llvmcpu-target-cpu=host"]
HEADER = '<ir_version: 10, opset_import: ["": 22]> g '
MODELS = {
    "MatMul of a vector and a stack": "(float[4] a, float[2,4,1] b) => (float[2,1] y) { y = MatMul(a, b) }",
    "MatMul of a stack and a vector": "(float[2,1,4] a, float[4] b) => (float[2,1] y) { y = MatMul(a, b) }",
    "GridSample of volumes, linear": """(float[1,1,3,2,2] x, float[1,2,4,2,3] g) => (float[1,1,2,4,2] y)
        { y = GridSample<mode="linear">(x, g) }""",
    "GridSample of volumes, nearest": """(float[1,1,3,2,2] x, float[1,2,4,2,3] g) => (float[1,1,2,4,2] y)
        { y = GridSample<mode="nearest">(x, g) }""",
    "MaxUnpool of two spatial dimensions": """(float[1,1,2,2] x, int64[1,1,2,2] i) => (float[1,1,4,4] y)
        { y = MaxUnpool<kernel_shape=[2, 2], strides=[2, 2]>(x, i) }""",
    "MaxUnpool with output_shape": """(float[1,1,2,2] x, int64[1,1,2,2] i, int64[4] s) => (float[1,1,5,5] y)
        { y = MaxUnpool<kernel_shape=[2, 2], strides=[2, 2]>(x, i, s) }""",
    "ConvInteger with a zero point by channel": """(uint8[1,1,3,3] x, uint8[2,1,2,2] w, uint8 p, uint8[2] q) =>
        (int32[1,2,2,2] y) { y = ConvInteger(x, w, p, q) }""",
    "Expand to a shape of fewer lengths": "(float[1,3,1] x, int64[2] s) => (float[1,3,3] y) { y = Expand(x, s) }",
}


def refusal(text):
    """What the importer or the compiler says of a model, None where it is compiled."""
    model = onnx.parser.parse_model(text)
    onnx.checker.check_model(model, full_check=True)
    try:
        with ir.Context() as context:
            info = onnx_importer.ModelInfo(onnx.shape_inference.infer_shapes(model))
            module = info.create_module(context=context).operation
            onnx_importer.NodeImporter.define_function(info.main_graph, module).import_all()
            tools.compile_str(str(module), target_backends=["llvm-cpu"], input_type="onnx", extra_args=OPTIONS)
    except (tools.CompilerToolError, onnx_importer.OnnxImportError) as error:
        before, _, after = str(error).partition("error: ")
        return (after or before).splitlines()[0][:160]


refused = {name: said for name, graph in MODELS.items() if (said := refusal(HEADER + graph))}
for name, said in refused.items():
    print(f"expected {name}: compiled\ngot      {name}: {said}")
sys.exit(int(bool(refused)))
