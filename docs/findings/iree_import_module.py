"""IREE 3.13.0 (arguable): a module of the ONNX importer, handed over in the session's own context, kills the compiler.

Rule: none of ONNX's. Invocation.import_module takes a module that verifies; Invocation.execute then ends by SIGSEGV.
The same module printed and parsed again in the same context compiles. Arguable, because the interface says nothing of
who owns the module.
Upstream: none known.
Needs: pip install iree-base-compiler==3.13.0 onnx. Exits with 1 while the defect shows.
"""

import subprocess
import sys

from iree.compiler import ir
from iree.compiler.api import Session
from iree.compiler.extras import onnx_importer
from onnx import TensorProto, helper


def compiled(how):
    ports = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [2, 4]) for name in "xy"]
    graph = helper.make_graph([helper.make_node("Relu", ["x"], ["y"])], "g", ports[:1], ports[1:])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    session = Session()
    session.set_flags("--iree-hal-target-backends=llvm-cpu", "--iree-llvmcpu-target-cpu=host", "--iree-input-type=onnx")
    info = onnx_importer.ModelInfo(model)
    owner = info.create_module(context=session.context)  # kept alive
    module = owner.operation
    onnx_importer.NodeImporter.define_function(info.main_graph, module).import_all()
    module.verify()
    if how == "text":
        with session.context:
            module = ir.Module.parse(module.get_asm()).operation
    invocation = session.invocation()
    invocation.import_module(module)
    return invocation.execute()


if len(sys.argv) > 1:
    sys.exit(0 if compiled(sys.argv[1]) else 1)
ends = {
    how: subprocess.run([sys.executable, __file__, how], capture_output=True).returncode for how in ("text", "direct")
}
print("expected status 0, as by way of text:", ends["text"])
print("got     ", ends["direct"], "(a negative number is a signal)")
sys.exit(0 if ends["direct"] == 0 else 1)
