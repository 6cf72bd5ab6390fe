"""IREE 3.13.0 (iree-base-runtime): a NumPy slice or view of what DeviceArray.to_host() gives is overwritten by the next
call of the module, while the array itself, when it is kept, is not. The array maps the result's buffer, and it seems that
the buffer lives as long as that one Python object; NumPy's rule is that a view keeps its memory alive. Seen with the QDQ
layers of a small CNN (iree_to_host_dangles.onnx beside this file: six uint8 outputs); hand-written modules with an
addition or two did not show it, and the cause was not looked for in IREE's source. Stage run, symptom mismatch; our
adapter copies at once. Run: python iree_to_host_dangles.py     (prints: array True, slice False, copy True)
"""
import io
import os

import numpy as np
import onnx
from iree import runtime
from iree.compiler import ir
from iree.compiler.api import Output, Session, Source
from iree.compiler.extras import onnx_importer

model = onnx.shape_inference.infer_shapes(onnx.load(os.path.splitext(__file__)[0] + ".onnx"))
with ir.Context() as context:
    info = onnx_importer.ModelInfo(model)
    module = info.create_module(context=context).operation
    onnx_importer.NodeImporter.define_function(info.main_graph, module).import_all()
    written = io.BytesIO()
    module.write_bytecode(written)
session = Session()
session.set_flags("--iree-hal-target-backends=llvm-cpu", "--iree-llvmcpu-target-cpu=host", "--iree-input-type=onnx")
invocation = session.invocation()
invocation.parse_source(Source.wrap_buffer(session, written.getvalue()))
assert invocation.execute()
output = Output.open_membuffer()
invocation.output_vm_bytecode(output)
loaded = runtime.load_vm_flatbuffer(bytes(output.map_memory()), driver="local-sync")
function = loaded[next(name for name in loaded.vm_module.function_names if not name.startswith("__") and "$" not in name)]

rng = np.random.default_rng(0)
calls = []
for _ in range(8):
    given = []
    for value in model.graph.input:
        shape = [dim.dim_value for dim in value.type.tensor_type.shape.dim]
        floats = value.type.tensor_type.elem_type == onnx.TensorProto.FLOAT
        given.append(rng.standard_normal(shape).astype(np.float32) if floats else rng.integers(-128, 128, shape, np.int8))
    calls.append(given)
right = [[np.array(result.to_host(), copy=True) for result in function(*given)] for given in calls]
for name, keep in (("array", lambda x: x), ("slice", lambda x: x[:]), ("copy", lambda x: x.copy())):
    kept = [[keep(result.to_host()) for result in function(*given)] for given in calls]
    print(name, all(np.array_equal(a, b) for row, good in zip(kept, right) for a, b in zip(row, good)))
