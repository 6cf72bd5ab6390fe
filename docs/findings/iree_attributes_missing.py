"""IREE 3.13.0: values of attributes of seven operators are refused (not supported).

Rule: ONNX Bernoulli 22, ConvTranspose 22, GridSample 22, LpPool 22, MaxPool 22, RandomUniformLike 22 and
ScatterElements 18 have them.
Upstream: none known.
Needs iree-base-compiler==3.13.0, onnx and numpy. Ends with 1 while the defect shows, with 0 when it is gone.
"""

import sys

import onnx
from iree.compiler import ir, tools
from iree.compiler.extras import onnx_importer

OPTIONS = ["--iree-llvmcpu-target-cpu=host"]
GRID = "(float[1,1,3,2] x, float[1,2,4,2] g) => (float[1,1,2,4] y) {{ y = GridSample<{}>(x, g) }}"
POOL = "(float[1,1,4,4] x) => (float[1,1,h,w] y) {{ y = LpPool<kernel_shape=[2, 2], {}>(x) }}"
SCATTER = '(float[5] x, int64[2] i, float[2] u) => (float[5] y) {{ y = ScatterElements<reduction="{}">(x, i, u) }}'
HEADER = '<ir_version: 10, opset_import: ["": 22]> g '
MODELS = {
    "Bernoulli seed": "(float[9] x) => (float[9] y) { y = Bernoulli<seed=1.0>(x) }",
    "RandomUniformLike seed": "(float[9] x) => (float[9] y) { y = RandomUniformLike<seed=1.0>(x) }",
    "ConvTranspose auto_pad": """(float[1,1,3] x, float[1,1,3] w) => (float[1,1,6] y)
        { y = ConvTranspose<auto_pad="SAME_UPPER", strides=[2]>(x, w) }""",
    "GridSample cubic": GRID.format('mode="cubic"'),
    "GridSample border": GRID.format('padding_mode="border"'),
    "GridSample reflection": GRID.format('padding_mode="reflection"'),
    "LpPool auto_pad SAME_UPPER": POOL.format('auto_pad="SAME_UPPER"'),
    "LpPool auto_pad SAME_LOWER": POOL.format('auto_pad="SAME_LOWER"'),
    "LpPool dilations": POOL.format("dilations=[2, 2]"),
    "MaxPool storage_order": """(float[1,1,4,4] x) => (float[1,1,3,3] y, int64[1,1,3,3] z)
        { y, z = MaxPool<storage_order=1, kernel_shape=[2, 2]>(x) }""",
    "ScatterElements max": SCATTER.format("max"),
    "ScatterElements min": SCATTER.format("min"),
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
