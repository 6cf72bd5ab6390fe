"""A tool that fails while it converts an operator: the message says which one, and the signature does not."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench_plugin.agent.contract import CompileCall, Port, Target
from bench_plugin.domain.texts.messages import normalised
from bench_plugin.inventory.adapters import Catalog
from bench_plugin.reach.environments.toolchains import Toolchains
from bench_plugin.reach.processes.leased_agent import AgentFailure, Limits
from bench_plugin.reach.processes.supervisor import AgentPool
from tests.adapters.real import written

HEAD = '<ir_version: 10, opset_import: ["": 21]> '
# TVM calculates with shapes in few operators, and names the node alone; of types that differ it prints the operator.
SHAPE = "g (float[2,3] x) => (int64[2] y) { r = Relu(x) s = Shape(r) [the_last] y = Abs(s) }"
POWER = "g (float[2,3] x) => (float[2,3] y) <int64 two = {2}> { r = Relu(x) y = Pow(r, two) }"
# onnx2tf takes a kernel as a constant only, and its traceback has the module of the operator.
KERNEL = "g (float[1,1,4,4] x, float[1,1,3,3] w) => (float[1,1,2,2] y) { r = Relu(x) y = Conv(r, w) }"


def failure(compiler: str, toolchain: str, text: str, folder: Path) -> AgentFailure:
    """What an agent says of a model that a compiler cannot convert."""
    toolchains = Toolchains()
    if not toolchains.folder(toolchain).is_dir():
        pytest.skip(f"the toolchain {toolchain} is not made: bench env sync {toolchain}")
    pool = AgentPool(toolchains.ensure, folder / "logs", Catalog(()).sources, folder / "work")
    port = Port("x", "float32", (2, 3))
    request = CompileCall(
        batched=False, precision="fp32", graph="original", target=Target(), input_ports=(port,), output_ports=(port,)
    ).meta()  # fmt: skip
    try:
        with pool.lease(toolchain) as leased, pytest.raises(AgentFailure) as found:
            leased.call(
                compiler, "compile", request, files={"model.onnx": written(HEAD + text, folder / "model.onnx")},
                limits=Limits(300, 2**33),
            )  # fmt: skip
    finally:
        pool.close()
    return found.value


@pytest.mark.parametrize(
    ("compiler", "toolchain", "text", "operator", "signature"),
    [
        ("tvm", "tvm", SHAPE, "Abs", "Node the_last cannot handle ShapeExpr inputs."),
        ("tvm", "tvm", POWER, "Pow", "Binary operators must have the same datatype for both operands"),
        ("tflite", "tensorflow", KERNEL, "Conv", "list index out of range"),
    ],
)
def test_the_message_names_the_operator_and_the_signature_does_not(
    compiler: str, toolchain: str, text: str, operator: str, signature: str, tmp_path: Path
) -> None:
    message = failure(compiler, toolchain, text, tmp_path).message.partition("\n")[0]
    assert message.endswith(f" (while converting {operator})")
    assert normalised(message).startswith(signature)
    assert "converting" not in normalised(message)
