"""ONNX Runtime: what the machine lacks is no failure of the tool, and a backend that does nothing gets no verdict."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from tests.docs.fences import ROOT

# In the toolchain's own interpreter, where a folder without locales stands for a machine that has none.
SCRIPT = """
import onnx
from bench_plugin.adapters.compilers.onnxruntime import Adapter
from bench_plugin.agent.adapter import NotProvided
from bench_plugin.agent.contract import CompileCall, Place, Port, Target
from onnx import TensorProto, helper

ports = [helper.make_tensor_value_info(name, TensorProto.STRING, [2]) for name in "xy"]
node = helper.make_node("StringNormalizer", ["x"], ["y"], case_change_action="UPPER", is_case_sensitive=1)
graph = helper.make_graph([node], "g", ports[:1], ports[1:])
model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 10)], ir_version=8)
onnx.save(model, "model.onnx")
call = CompileCall(
    batched=False, precision="fp32", graph="original", target=Target(), input_ports=(Port("x", "str", (2,)),),
    output_ports=(Port("y"),), binding={},
)
try:
    Adapter().compile(call.at(Place(".", {"model.onnx": "model.onnx"}, {}, lambda stage: None)))
except NotProvided as error:
    print("NotProvided:", error)
"""


def test_a_locale_that_the_machine_lacks_is_not_provided(tmp_path: Path, tools_python: Path) -> None:
    environment = {**os.environ, "LOCPATH": str(tmp_path), "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [str(tools_python), "-c", SCRIPT], cwd=tmp_path, env=environment, text=True, capture_output=True, timeout=120
    )
    assert done.stdout == "NotProvided: this machine has no locale en_US.UTF-8; Debian: package locales\n", done.stderr


# A build with CUDA on a machine without it makes a session of the CPU alone; here the session is one of the CPU too.
ASSIGNED = """
import onnx, onnxruntime
from bench_plugin.adapters.compilers import onnxruntime as adapter
from bench_plugin.agent.adapter import NotProvided, Unsupported
from onnx import TensorProto, helper

ports = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [2]) for name in "xy"]
nodes = [helper.make_node("Softmax", ["x"], ["h"]), helper.make_node("Tanh", ["h"], ["y"])]
graph = helper.make_graph(nodes, "g", ports[:1], ports[1:])
model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
options = onnxruntime.SessionOptions()
options.add_session_config_entry("session.record_ep_graph_assignment_info", "1")
session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])

class Half:
    \"\"\"The session, in which the nodes of a kind are another provider's.\"\"\"
    def __init__(self, *kinds):
        self.kinds = kinds
    def get_providers(self):
        return ["XnnpackExecutionProvider", *session.get_providers()]
    def get_provider_graph_assignment_info(self):
        parts = session.get_provider_graph_assignment_info()
        return [Part(node, self.kinds) for part in parts for node in part.get_nodes()]

class Part:
    def __init__(self, node, kinds):
        self.node, self.ep_name = node, "XnnpackExecutionProvider" if node.op_type in kinds else "CPUExecutionProvider"
    def get_nodes(self):
        return [self.node]

class Cuda:
    \"\"\"The session of a machine with a GPU, as far as its options are asked for.\"\"\"
    def get_session_options(self):
        return options
    def get_provider_options(self):
        return {"CUDAExecutionProvider": {"use_tf32": "0", "device_id": "0"}}

print(adapter._read_back(Cuda(), [], "CUDAExecutionProvider"), adapter._read_back(session, [], "CPUExecutionProvider"))
print(adapter._assigned(session, "CPUExecutionProvider"))
print(adapter._assigned(Half("Softmax"), "XnnpackExecutionProvider"))
print(adapter._assigned(Half("Softmax", "Tanh"), "XnnpackExecutionProvider"))
adapter._computes(session, "CPUExecutionProvider")
for ask, one, provider in (
    (adapter._computes, session, "CUDAExecutionProvider"), (adapter._assigned, Half(), "XnnpackExecutionProvider")
):
    try:
        ask(one, provider)
    except (NotProvided, Unsupported) as error:
        print(type(error).__name__ + ":", error)
"""


def test_nodes_that_a_backend_leaves_to_the_cpu_are_counted(tmp_path: Path, tools_python: Path) -> None:
    done = subprocess.run(
        [str(tools_python), "-c", ASSIGNED], cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(ROOT)}, text=True,
        capture_output=True, timeout=120,
    )  # fmt: skip
    assert done.stdout.splitlines() == [
        "{'use_tf32': '0'} {}",
        "{}",
        "{'requested': 0.5, 'nodes': 2, 'fallback': ['Tanh x 1']}",
        "{'requested': 1.0, 'nodes': 2, 'fallback': []}",
        "NotProvided: CUDAExecutionProvider cannot be used on this machine: onnxruntime left it out of its session",
        "Unsupported: XnnpackExecutionProvider takes no node of this model",
    ], done.stderr


# What was compiled elsewhere runs on a machine that lacks the backend: a board, for example.
RUN = """
import numpy, onnx, onnxruntime
from bench_plugin.adapters.compilers.onnxruntime import Adapter
from bench_plugin.agent.adapter import NotProvided
from bench_plugin.agent.arrays import from_numpy
from bench_plugin.agent.contract import Place, Port, RunCall
from onnx import TensorProto, helper

ports = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [2]) for name in "xy"]
graph = helper.make_graph([helper.make_node("Tanh", ["x"], ["y"])], "g", ports[:1], ports[1:])
onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), "model.onnx")
call = RunCall(
    batched=False, precision="fp32", graph="original", input_ports=(Port("x", "float32", (2,)),),
    output_ports=(Port("y"),), binding={}, backend="cuda",
)
given = {"in:x": from_numpy(numpy.zeros(2, "float32"))}
made = onnxruntime.InferenceSession

def session(*arguments, providers):
    print(providers)
    return made(*arguments, providers=providers)

onnxruntime.InferenceSession = session
try:
    Adapter().run(call.at(Place(".", {"model.onnx": "model.onnx"}, given, lambda stage: None)))
except NotProvided as error:
    print("NotProvided:", error)
"""


def test_an_artefact_is_not_run_by_another_backend_in_silence(tmp_path: Path, tools_python: Path) -> None:
    done = subprocess.run(
        [str(tools_python), "-c", RUN], cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(ROOT)}, text=True,
        capture_output=True, timeout=120,
    )  # fmt: skip
    assert done.stdout == (
        "[('CUDAExecutionProvider', {'use_tf32': '0'}), ('CPUExecutionProvider', {})]\n"
        "NotProvided: CUDAExecutionProvider cannot be used on this machine: onnxruntime left it out of its session\n"
    ), done.stderr
