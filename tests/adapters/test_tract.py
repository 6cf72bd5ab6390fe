"""tract: what it counts, what it computes in, and what it says it does not implement."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from textwrap import dedent
from typing import Any

import numpy as np
import pytest

from bench_plugin.adapters.compilers.tract import _readable
from bench_plugin.domain.settings import settings_here
from bench_plugin.inventory.workspace import Workspace
from bench_plugin.reach.environments.toolchains import Toolchains
from bench_plugin.reach.processes.leased_agent import Limits
from bench_plugin.reach.processes.supervisor import AgentPool
from tests.adapters.real import answered, written

HEAD = '<ir_version: 8, opset_import: ["": 17]> '
ADD = HEAD + "g (float x, float[3] v) => (float[3] y) { y = Add(x, v) }"
CAST = HEAD + "g (float[2,3] x) => (float16[2,2] y) <float[3,2] w = {1.0, 2.0, 3.0, 4.0, 5.0, 6.0}> {"
CAST += " c = Cast<to = 10>(x) v = Cast<to = 10>(w) y = MatMul(c, v) }"
MIXED = (
    HEAD
    + """g (uint8[4,3] x, int8[3,5] w, float[5,2] v) => (float[4,2] y) {
    m = MatMulInteger(x, w) f = Cast<to = 1>(m) y = MatMul(f, v)
}"""
)
# A GRU, which tract computes as one layer in float32 and whose costs it does not count, and a product of integers.
RECURRENT = (
    HEAD
    + """g (float[6,1,3] x, int8[5,2] w) => (int32[6,2] y)
    <float[1,15,3] k = {%s}, float[1,15,5] r = {%s}, int64[2] s = {6, 5}> {
    h = GRU<hidden_size = 5, linear_before_reset = 1>(x, k, r) f = Reshape(h, s)
    q, scale, zero = DynamicQuantizeLinear(f) y = MatMulInteger(q, w, zero)
}"""
)
# Operators, inputs, and multiply-adds counted by hand from ONNX's text.
COUNTED = {
    # Conv: outputs 1x4x6x6, each a sum over 3 channels of a group of 2 and 3x3 elements.
    "grouped convolution": (
        "g (float[1,6,8,8] x, float[4,3,3,3] w) => (float[1,4,6,6] y) { y = Conv<group = 2>(x, w) }",
        {"x": (1, 6, 8, 8), "w": (4, 3, 3, 3)}, 4 * 6 * 6 * 3 * 9,
    ),
    "fully connected": (
        "g (float[5,7] x, float[7,3] w) => (float[5,3] y) { y = Gemm(x, w) }", {"x": (5, 7), "w": (7, 3)}, 5 * 7 * 3,
    ),
    # LSTM: 4 gates of 5 units, each a product with 3 inputs and 5 states, in 6 steps of a batch of 2.
    "recurrent": (
        "g (float[6,2,3] x, float[1,20,3] w, float[1,20,5] r) => (float[6,1,2,5] y) {"
        " y = LSTM<hidden_size = 5>(x, w, r) }",
        {"x": (6, 2, 3), "w": (1, 20, 3), "r": (1, 20, 5)}, 4 * 5 * (3 + 5) * 6 * 2,
    ),
}  # fmt: skip


@pytest.fixture(scope="module")
def agent(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """An agent in tract's toolchain."""
    toolchains = Toolchains()
    if not toolchains.folder("tract").is_dir():
        pytest.skip("the toolchain tract is not made: bench env sync tract")
    workspace = Workspace.load(settings_here())
    pool = AgentPool(
        environments=toolchains.ensure, folder=tmp_path_factory.mktemp("logs"),
        adapters=workspace.catalog.sources, variables=workspace.variables,
    )  # fmt: skip
    with pool.lease("tract") as leased:
        yield leased
    pool.close()


@pytest.mark.parametrize("name", COUNTED)
def test_multiply_adds_are_those_of_a_hand_count(agent: Any, tmp_path: Path, name: str) -> None:
    text, shapes, expected = COUNTED[name]
    model = written(HEAD + text, tmp_path / "model.onnx")
    ports = [{"name": key, "dtype": "float32", "shape": list(shape)} for key, shape in shapes.items()]
    answer = agent.call("tract", "profile", {"inputs": ports}, files={"model.onnx": model}, limits=Limits(60, 2**32))
    counts = [sum(node["multiply_adds"].values()) for node in answer.meta["nodes"]]
    assert (sum(counts), answer.meta["unknown"]) == (expected, [])
    assert all("seconds" not in node for node in answer.meta["nodes"]), "nothing was run"


def test_nodes_are_timed_where_inputs_are_given(agent: Any, tmp_path: Path) -> None:
    text, shapes, _ = COUNTED["fully connected"]
    model = written(HEAD + text, tmp_path / "model.onnx")
    ports = [{"name": key, "dtype": "float32", "shape": list(shape)} for key, shape in shapes.items()]
    arrays = {f"in:{key}": np.ones((1, *shape), np.float32) for key, shape in shapes.items()}
    answer = agent.call(
        "tract", "profile", {"inputs": ports}, arrays=arrays, files={"model.onnx": model}, limits=Limits(60, 2**32)
    )
    seconds = [node.get("seconds", 0.0) for node in answer.meta["nodes"] if node["multiply_adds"]]
    assert seconds and all(value > 0 for value in seconds)


def test_a_scalar_stays_a_scalar(tmp_path: Path) -> None:
    model = written(ADD, tmp_path / "model.onnx")
    given = {"x": np.float32(2), "v": np.arange(3, dtype=np.float32)}
    answer = answered("tract", model, given, [("y", "float32", (3,))], tmp_path / "made")
    assert answer.outputs["out0"] == ["float32", [3], [2.0, 3.0, 4.0]], answer.error
    assert answer.compile["notes"] == ["one thread, whatever is asked for"], "its interface takes no number"
    assert answer.compile["placement"]["threads"] == 1


def test_a_float16_file_runs_and_its_precision_is_not_claimed(tmp_path: Path) -> None:
    model = written(CAST, tmp_path / "model.onnx")
    given = {"x": np.ones((2, 3), np.float32)}
    answer = answered(
        "tract", model, given, [("y", "float16", (2, 2))], tmp_path / "made", precision="fp16", graph="fp16"
    )
    assert answer.compile.get("effective") == "", answer.error
    assert answer.outputs["out0"][2] == [[9.0, 12.0], [9.0, 12.0]]


def test_the_share_of_integers_is_read_from_its_own_graph(tmp_path: Path) -> None:
    model = written(MIXED, tmp_path / "model.onnx")
    given = {"x": np.arange(12, dtype=np.uint8).reshape(4, 3), "w": np.arange(15, dtype=np.int8).reshape(3, 5) - 7}
    given |= {"v": np.ones((5, 2), np.float32)}
    outputs = [("y", "float32", (4, 2))]
    answer = answered("tract", model, given, outputs, tmp_path / "made", precision="w8a8-dyn", graph="dynamic")
    placement = answer.compile.get("placement", {})
    assert (placement.get("integer_share"), answer.compile.get("integer")) == (0.5, "partly"), (answer.error, placement)
    expected = given["x"].astype(int) @ given["w"].astype(int) @ np.ones((5, 2), int)
    assert answer.outputs["out0"][2] == expected.tolist()


def test_a_recurrent_layer_is_one_in_floating_point(tmp_path: Path) -> None:
    text = RECURRENT % tuple(", ".join(str(n % 7 / 8) for n in range(count)) for count in (45, 75))
    model = written(text, tmp_path / "model.onnx")
    given = {"x": np.ones((6, 1, 3), np.float32), "w": np.arange(10, dtype=np.int8).reshape(5, 2)}
    outputs = [("y", "int32", (6, 2))]
    answer = answered("tract", model, given, outputs, tmp_path / "made", precision="w8a8-dyn", graph="dynamic")
    placement = answer.compile.get("placement", {})
    assert (placement.get("integer_share"), answer.compile.get("integer")) == (0.5, "partly"), (answer.error, placement)


def test_an_operator_that_it_lacks_is_a_refusal(tmp_path: Path) -> None:
    text = HEAD + "g (float[2,2] x) => (float y) { y = Det(x) }"
    answer = answered("tract", written(text, tmp_path / "model.onnx"), {"x": np.eye(2, dtype=np.float32)},
                      [("y", "float32", ())], tmp_path / "made")  # fmt: skip
    assert answer.error.partition("\n")[0].startswith("TractError: Unimplemented(Det): Operator can not"), answer.error


def test_a_run_that_fails_names_the_cause_behind_its_node(tmp_path: Path) -> None:
    text = HEAD + "g (float[8] x) => (float[8] y) <float r = {0.5}, bool t = {1}> { y = Dropout(x, r, t) }"
    answer = answered("tract", written(text, tmp_path / "model.onnx"), {"x": np.ones(8, np.float32)},
                      [("y", "float32", (8,))], tmp_path / "made")  # fmt: skip
    first = answer.error.partition("\n")[0]
    assert first == "TractError: Dropout: Dropout in training mode with a non-zero ratio is not supported", answer.error


# Sizes of Reshape that are computed from a symbol in int32, as tf2onnx writes a Dense on more than two dimensions.
RESHAPED = """g (float[batch,3,2] x) => (float[batch,2,4] y)
<float[3,4] w = {1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 11.0, 12.0}, int64[2] flat = {-1, 3},
 int32[1] last = {4}, int64[3] order = {0, 2, 1}, int32[2] free = {0, 1}> {
    sizes = Shape(x) turned = Gather(sizes, order) narrow = Cast<to = 6>(turned) front = Gather<axis = 0>(narrow, free)
    back = Concat<axis = 0>(front, last) wide = Cast<to = 7>(back) z = Transpose<perm = [0, 2, 1]>(x)
    rows = Reshape(z, flat) product = MatMul(rows, w) y = Reshape(product, wide)
}"""


def test_sizes_are_bound_before_the_model_is_typed(agent: Any, tmp_path: Path) -> None:
    model = written(HEAD + RESHAPED, tmp_path / "model.onnx")
    ports = [{"name": "x", "dtype": "float32", "shape": ["batch", 3, 2]}]
    call = {"inputs": ports, "binding": {"batch": 1}}
    answer = agent.call("tract", "profile", call, files={"model.onnx": model}, limits=Limits(60, 2**32))
    assert sum(count for node in answer.meta["nodes"] for count in node["multiply_adds"].values()) == 2 * 3 * 4


def test_the_cause_is_told_and_not_the_patch_that_was_not_applied() -> None:
    said = """\
    running pass declutter

    Caused by:
        0: declutter node #40 "concat" EinSum
        1: Trying to substitute a batch,24,40,F32 by batch,24,1,F32 as output #0 of #40 "concat" EinSum.
           ModelPatch { context: [], model: Graph { nodes: [Node { id: 0, name: "tap" }] } }

    Stack backtrace:
        0: anyhow"""
    first = str(_readable(RuntimeError(dedent(said)))).splitlines()[0]
    assert first == (
        'EinSum: Trying to substitute a batch,24,40,F32 by batch,24,1,F32 as output #0 of #40 "concat" EinSum.'
    )
