"""IREE 3.13.0 (iree-base-compiler): a module that iree.compiler.extras.onnx_importer makes in the session's own context
and that is handed over by Invocation.import_module crashes the compiler (SIGSEGV in Invocation.execute), although it
verifies. The same module printed and parsed again in the same context compiles. Stage compile, symptom crash; our adapter
hands the module over as bytecode instead. The cause was not looked for in IREE's source.
Run: python iree_import_module.py direct   (crashes)     python iree_import_module.py text   (prints True)
"""
import sys

from iree.compiler import ir
from iree.compiler.api import Session
from iree.compiler.extras import onnx_importer
from onnx import TensorProto, helper

value = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [2, 4]) for name in "xy"]
graph = helper.make_graph([helper.make_node("Relu", ["x"], ["y"])], "g", value[:1], value[1:])
model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)

session = Session()
session.set_flags("--iree-hal-target-backends=llvm-cpu", "--iree-llvmcpu-target-cpu=host")
info = onnx_importer.ModelInfo(model)
owner = info.create_module(context=session.context)  # kept alive
module = owner.operation
onnx_importer.NodeImporter.define_function(info.main_graph, module).import_all()
module.verify()
if sys.argv[1] == "text":
    with session.context:
        module = ir.Module.parse(module.get_asm()).operation
invocation = session.invocation()
invocation.import_module(module)
print(invocation.execute())
