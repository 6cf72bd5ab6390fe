"""IREE 3.13.0: Resize with axes, antialias, exclude_outside or tf_crop_and_resize is refused (not supported).

Rule: ONNX Resize 19 has these attributes, and align_corners in every mode.
keep_aspect_ratio_policy is ignored where nothing else refuses the node.
Upstream: https://github.com/llvm/torch-mlir/issues/3420 lists what the lowering takes, and what it does not (closed).
Needs iree-base-compiler==3.13.0, onnx and numpy. Ends with 1 while the defect shows, with 0 when it is gone.
"""

import sys

import onnx
from iree.compiler import ir, tools
from iree.compiler.extras import onnx_importer

OPTIONS = ["--iree-llvmcpu-target-cpu=host"]
GRAPH = "(float[1,1,4,4] x, {}) => (float[1,1,{},{}] y) {{ y = Resize<{}>(x, {}) }}"
SIZES, TWO, SCALES = ("int64[4] n", 3, 3), ("int64[2] n", 3, 3), ("float[2] n", 8, 8)
CROP = 'mode="linear", coordinate_transformation_mode="tf_crop_and_resize"'
CORNERS = 'mode="nearest", nearest_mode="floor", coordinate_transformation_mode="align_corners"'
POLICY = 'axes=[2, 3], mode="nearest", keep_aspect_ratio_policy="not_larger"'
HEADER = '<ir_version: 9, opset_import: ["": 19]> g '
MODELS = {
    "axes": GRAPH.format(*TWO, 'axes=[2, 3], mode="nearest"', '"", "", n'),
    "axes, with scales": GRAPH.format(*SCALES, 'axes=[2, 3], mode="nearest"', '"", n'),
    "axes and keep_aspect_ratio_policy": GRAPH.format(*TWO, POLICY, '"", "", n'),
    "antialias, linear": GRAPH.format(*SIZES, 'antialias=1, mode="linear"', '"", "", n'),
    "antialias, cubic": GRAPH.format(*SIZES, 'antialias=1, mode="cubic"', '"", "", n'),
    "exclude_outside": GRAPH.format(*SIZES, 'exclude_outside=1, mode="cubic"', '"", "", n'),
    "cubic_coeff_a": GRAPH.format(*SIZES, 'cubic_coeff_a=-0.5, mode="cubic"', '"", "", n'),
    "tf_crop_and_resize": GRAPH.format("float[8] r, int64[4] n", 3, 3, CROP, 'r, "", n'),
    "extrapolation_value": GRAPH.format("float[8] r, int64[4] n", 3, 3, CROP + ", extrapolation_value=9.0", 'r, "", n'),
    "tf_crop_and_resize and axes": GRAPH.format("float[4] r, int64[2] n", 3, 3, CROP + ", axes=[2, 3]", 'r, "", n'),
    "align_corners, nearest": GRAPH.format(*SIZES, CORNERS, '"", "", n'),
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
