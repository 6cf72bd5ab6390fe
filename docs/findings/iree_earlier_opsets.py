"""IREE 3.13.0: Scan, Softsign and five other operators are refused in versions before those that the importer knows.

Rule: ONNX, "Operator Sets": a file names the version of its operators. What these compute did not change,
but for DFT 17, whose axis is an attribute, and Scan 8, which has a batch axis. iree_batchnorm_13.py has more of them.
Upstream: none known; torch-mlir registers each lowering with the first version that it takes.
Needs iree-base-compiler==3.13.0, onnx and numpy. Ends with 1 while the defect shows, with 0 when it is gone.
"""

import sys

import onnx
from iree.compiler import ir, tools
from iree.compiler.extras import onnx_importer

OPTIONS = ["--iree-llvmcpu-target-cpu=host"]
MODELS = {
    "Dropout 7": "(float[3] x) => (float[3] y) { y = Dropout(x) }",
    "ReduceMin 11": "(float[3] x) => (float y) { y = ReduceMin<keepdims=0>(x) }",
    "DFT 17": "(float[1,4,1] x) => (float[1,4,2] y) { y = DFT<axis=1>(x) }",
    "Scan 8": (
        "(float[1,2] s, float[1,3,2] x) => (float[1,2] y, float[1,3,2] z) { y, z = Scan<num_scan_inputs=1, "
        'body=b (float[2] i, float[2] n) => (float[2] o, float[2] p) { o = Add(i, n) p = Identity(o) }>("", s, x) }'
    ),
    "Scan 9": (
        "(float[2] s, float[3,2] x) => (float[2] y, float[3,2] z) { y, z = Scan<num_scan_inputs=1, "
        "body=b (float[2] i, float[2] n) => (float[2] o, float[2] p) { o = Add(i, n) p = Identity(o) }>(s, x) }"
    ),
    "Softsign 21": "(float[3] x) => (float[3] y) { y = Softsign(x) }",
    "LpPool 17": "(float[1,1,4] x) => (float[1,1,3] y) { y = LpPool<kernel_shape=[2]>(x) }",
    "Loop 11": (
        "(int64 n, bool c, float[1] x) => (float[1] y) { y = Loop(n, c, x) "
        "<body=b (int64 i, bool d, float[1] p) => (bool e, float[1] q) { e = Identity(d) q = Add(p, p) }> }"
    ),
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


refused = {
    name: said
    for name, graph in MODELS.items()
    if (said := refusal(f'<ir_version: 8, opset_import: ["": {name.split()[1]}]> g {graph}'))
}
for name, said in refused.items():
    print(f"expected {name}: compiled\ngot      {name}: {said}")
sys.exit(int(bool(refused)))
