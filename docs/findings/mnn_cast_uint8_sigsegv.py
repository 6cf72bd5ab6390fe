"""MNN 3.6.1: Cast to uint8 kills the converter (SIGSEGV).

Rule: Cast 25, constraint T2: the output may have the type tensor(uint8), whatever the input's type.
Upstream: none known.
Needs: pip install mnn==3.6.1 onnx numpy. Exits with 1 while the defect shows.
"""

import os
import sys
import tempfile

import _tools  # the converter itself: the command mnnconvert installs packages when it starts (mnn_pip.py)
import onnx
from onnx import TensorProto, helper

os.chdir(tempfile.mkdtemp())
ports = [helper.make_tensor_value_info("x", TensorProto.FLOAT, [7])]
ports.append(helper.make_tensor_value_info("y", TensorProto.UINT8, [7]))
node = helper.make_node("Cast", ["x"], ["y"], to=TensorProto.UINT8)
model = helper.make_model(
    helper.make_graph([node], "g", ports[:1], ports[1:]), opset_imports=[helper.make_opsetid("", 21)], ir_version=10
)
onnx.checker.check_model(model, full_check=True)
onnx.save(model, "m.onnx")
pid = os.fork()  # a crash must not end the script
if not pid:
    _tools.mnnconvert(["mnnconvert", "-f", "ONNX", "--modelFile", "m.onnx", "--MNNModel", "m.mnn", "--bizCode", "b"])
    os._exit(0)
status = os.waitpid(pid, 0)[1]
killed = os.WIFSIGNALED(status)
print("expected a converted file")
print("got     ", f"killed by signal {os.WTERMSIG(status)}" if killed else f"an end with status {status}")
sys.exit(int(killed))
