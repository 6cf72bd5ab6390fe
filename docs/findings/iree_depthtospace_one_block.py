"""IREE 3.13.0: DepthToSpace in mode CRD with blocksize 1 exchanges the elements.

Rule: ONNX DepthToSpace 13: in mode CRD "tmp = np.reshape(x, [b, c // (blocksize ** 2), blocksize, blocksize, h, w])" is
transposed and reshaped; with blocksize 1 nothing moves.
In mode DCR, and with blocksize 2, it is right.
Upstream: none known.
Needs iree-base-compiler==3.13.0 and iree-base-runtime==3.13.0, onnx and numpy.
Ends with 1 while the defect shows, with 0 when it is gone.
"""

import sys

import numpy as np
import onnx
from iree import runtime
from iree.compiler import ir, tools
from iree.compiler.extras import onnx_importer


def run(text, *inputs):
    """What IREE gives for a graph in text."""
    model = onnx.parser.parse_model('<ir_version: 8, opset_import: ["": 17]> ' + text)
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


x = np.arange(6, dtype=np.float32).reshape(1, 3, 1, 2)
got = run('g (float[1,3,1,2] x) => (float[1,3,1,2] y) { y = DepthToSpace <blocksize = 1, mode = "CRD"> (x) }', x)
print("expected", x.ravel().tolist())
print("got     ", got.ravel().tolist())
sys.exit(int(got.tolist() != x.tolist()))
