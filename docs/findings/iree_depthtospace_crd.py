"""IREE 3.13.0: DepthToSpace in mode CRD takes the channels for [b, b, c / b^2], so that elements are exchanged.

Rule: ONNX DepthToSpace 13: in mode CRD "tmp = np.reshape(x, [b, c // (blocksize ** 2), blocksize, blocksize, h, w])".
It is right only where c / b^2 is b, as with 8 channels and blocks of 2; mode DCR is right. PyTorch's PixelShuffle is
exported as CRD.
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


wrong = False
for channels, block in ((3, 1), (4, 2), (8, 2), (12, 2)):
    kept = channels // block**2
    x = np.arange(channels * 6, dtype=np.float32).reshape(1, channels, 2, 3)
    expected = x.reshape(1, kept, block, block, 2, 3).transpose(0, 1, 4, 2, 5, 3).reshape(1, kept, 2 * block, 3 * block)
    shapes = f"(float[1,{channels},2,3] x) => (float[1,{kept},{2 * block},{3 * block}] y)"
    got = run(f'g {shapes} {{ y = DepthToSpace <blocksize = {block}, mode = "CRD"> (x) }}', x)
    off = int((got != expected).sum())
    print(f"{channels} channels, blocksize {block}: expected 0 elements to differ, got {off} of {got.size}")
    wrong |= off > 0
sys.exit(int(wrong))
