"""ONNX Runtime: what the machine lacks is no failure of the tool."""

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
