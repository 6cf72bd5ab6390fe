"""IREE 3.13.0: Mod of float64 does not link: the code calls fmod, which the embedded ELF does not have.

Rule: Mod 13 and 28: float64 is a type of the operator. Message: "lld: error: undefined symbol: fmod". The same cause as
iree_armhf_fmaxf.py: LLVM makes a call of a C library that is not among the functions that IREE links.
Upstream: none known.
Needs: pip install iree-base-compiler==3.13.0 iree-base-runtime==3.13.0 onnx numpy. Exits with 1 while the defect shows.
"""

import sys

import numpy as np
import onnx
from iree import runtime
from iree.compiler import ir, tools
from iree.compiler.extras import onnx_importer
from onnx import helper


def run(model, *inputs):
    with ir.Context() as context:
        info = onnx_importer.ModelInfo(onnx.shape_inference.infer_shapes(model))
        module = info.create_module(context=context).operation
        onnx_importer.NodeImporter.define_function(info.main_graph, module).import_all()
        text = str(module)
    code = tools.compile_str(
        text,
        target_backends=["llvm-cpu"],
        input_type="onnx",
        extra_args=["--iree-llvmcpu-target-cpu=host", "--iree-input-demote-f64-to-f32=false"],
    )
    return runtime.load_vm_flatbuffer(code, driver="local-sync")["g"](*inputs).to_host()


def single(operator, opset, inputs, y, **attributes):
    """A model of one operator, its inputs and its result having the types of arrays."""
    names = [*(f"x{n}" for n in range(len(inputs))), "y"]
    ports = [
        helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(x.dtype), x.shape)
        for name, x in zip(names, [*inputs, y])
    ]
    graph = helper.make_graph(
        [helper.make_node(operator, names[:-1], ["y"], **attributes)], "g", ports[:-1], ports[-1:]
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=10)


a, b = np.array([5.5, -5.5]), np.array([2.0, 2.0])
try:
    got = run(single("Mod", 28, [a, b], a, fmod=0), a, b).tolist()
except tools.CompilerToolError as error:
    got = next(line for line in str(error).splitlines() if "error:" in line)[:200]
print("expected", [1.5, 0.5])
print("got     ", got)
sys.exit(0 if got == [1.5, 0.5] else 1)
