"""Needs against an independent counter: the multiply-adds that tract's profiler gives for its optimised graph."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from bench_plugin.characterise.needs import Needs, needs
from bench_plugin.cli.shared.model_facts import read_facts
from bench_plugin.domain.settings import Settings
from bench_plugin.inventory.workspace import Workspace
from bench_plugin.reach.environments.toolchains import Toolchains
from bench_plugin.reach.processes.leased_agent import Limits
from bench_plugin.reach.processes.supervisor import AgentPool
from tests.adapters.real import written

COUNTER = "tract"
STEPS, HIDDEN, WIDE = 6, 16, 8
# By the kind of layer: the file, and the sizes of its inputs.
LAYERS = {
    "convolution": (
        """g (float[1, 3, 12, 12] x) => (float[1, 8, 10, 10] y) <float[8, 3, 3, 3] w> { y = Conv(x, w) }""",
        {"x": (1, 3, 12, 12)}, {"w": (8, 3, 3, 3)},
    ),
    "grouped convolution with a stride": (
        """g (float[1, 8, 11, 11] x) => (float[1, 16, 5, 5] y) <float[16, 2, 3, 3] w> {
        y = Conv <group = 4, strides = [2, 2]> (x, w) }""",
        {"x": (1, 8, 11, 11)}, {"w": (16, 2, 3, 3)},
    ),
    "depthwise convolution": (
        """g (float[1, 8, 9, 9] x) => (float[1, 8, 9, 9] y) <float[8, 1, 3, 3] w> {
        y = Conv <group = 8, pads = [1, 1, 1, 1]> (x, w) }""",
        {"x": (1, 8, 9, 9)}, {"w": (8, 1, 3, 3)},
    ),
    "fully connected": (
        """g (float[4, 20] x) => (float[4, 7] y) <float[7, 20] w, float[7] b> { y = Gemm <transB = 1> (x, w, b) }""",
        {"x": (4, 20)}, {"w": (7, 20), "b": (7,)},
    ),
    "product of matrices": (
        """g (float[2, 5, 20] x) => (float[2, 5, 9] y) <float[20, 9] w> { y = MatMul(x, w) }""",
        {"x": (2, 5, 20)}, {"w": (20, 9)},
    ),
    "LSTM": (
        """g (float[6, 1, 8] x) => (float[6, 1, 1, 16] y) <float[1, 64, 8] w, float[1, 64, 16] r> {
        y = LSTM <hidden_size = 16> (x, w, r) }""",
        {"x": (STEPS, 1, WIDE)}, {"w": (1, 4 * HIDDEN, WIDE), "r": (1, 4 * HIDDEN, HIDDEN)},
    ),
}  # fmt: skip


EVERY_TIME = ("convolution", "depthwise convolution", "LSTM")  # the others are for the night


@pytest.mark.parametrize(
    "kind", [kind if kind in EVERY_TIME else pytest.param(kind, marks=pytest.mark.nightly) for kind in LAYERS]
)
def test_a_layer_has_the_multiply_adds_that_tract_counts(kind: str, tmp_path: Path) -> None:
    workspace = Workspace.load(Settings(root=tmp_path))
    if COUNTER not in workspace.catalog.adapters or not Toolchains().folder(COUNTER).is_dir():
        pytest.skip(f"the toolchain {COUNTER} is not made: bench env sync {COUNTER}")
    text, inputs, weights = LAYERS[kind]
    path = written(_with_values(text, weights), tmp_path / "model.onnx")
    found = needs(read_facts(path, batch=inputs["x"][0], sizes={}))
    counted = _counted(workspace, path, inputs, tmp_path)
    assert _multiply_adds(found, kind) == counted


def _multiply_adds(found: Needs, kind: str) -> int:
    """Ours: half the operations of layers; of an LSTM its products, without those of its gates element by element."""
    if kind == "LSTM":
        return found.by_kind["multiplications"] - 3 * STEPS * HIDDEN
    return found.operations // 2


def _counted(workspace: Workspace, path: Path, inputs: Mapping[str, Any], folder: Path) -> int:
    """What tract counts, of all nodes."""
    meta = {
        "batched": False, "whole": True,
        "inputs": [{"name": name, "dtype": "float32", "shape": list(shape)} for name, shape in inputs.items()],
    }  # fmt: skip
    pool = AgentPool(workspace.toolchains.ensure, folder / "logs", workspace.catalog.sources)
    try:
        with pool.lease(COUNTER) as agent:
            files = {"model.onnx": path}
            said = agent.call(COUNTER, "profile", meta, files=files, limits=Limits(120.0, 0)).meta
    finally:
        pool.close()
    assert not said["unknown"]
    return sum(count for node in said["nodes"] for count in node["multiply_adds"].values())


def _with_values(text: str, weights: Mapping[str, tuple[int, ...]]) -> str:
    """The model's text with a value for every weight."""
    for name, shape in weights.items():
        values = ", ".join(f"0.{number % 7 + 1}" for number in range(math.prod(shape)))
        for end in (",", ">"):
            text = text.replace(f"] {name}{end}", f"] {name} = {{{values}}}{end}")
    return f'<ir_version: 8, opset_import: ["": 17]>\n{text}'
