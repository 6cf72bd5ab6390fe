"""Relu and Clip that onnxruntime's quantiser leaves out stay where the quantised range does not replace them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bench_plugin.agent.contract import CALIBRATION
from bench_plugin.inventory.adapters import Catalog
from bench_plugin.reach.environments.toolchains import Toolchains
from bench_plugin.reach.processes.client import Agent
from bench_plugin.reach.processes.leased_agent import Limits
from bench_plugin.reach.processes.supervisor import AgentPool
from tests.adapters.real import written

LIMITS = Limits(120.0, 4 << 30)
HEAD = '<ir_version: 8, opset_import: ["": 17]>'
WEIGHTS = "float[2,2] w = {1.0, -2.0, 0.5, 1.0}"
BRANCHES = f"""{HEAD} g (float[1,2] x, bool c) => (float[1,2] y) <{WEIGHTS}> {{
    p = MatMul(x, w)
    r = Relu(p)
    a = MatMul(r, w)
    b = If(c) <
        then_branch = t () => (float[1,2] u) {{ u = Identity(r) }},
        else_branch = e () => (float[1,2] v) {{ v = Neg(r) }}
    >
    y = Add(a, b)
}}"""
FROM_ONE = f"""{HEAD} g (float[1,2] x) => (float[1,2] y) <{WEIGHTS}, float one = {{1.0}}> {{
    p = MatMul(x, w)
    r = Clip(p, one)
    y = MatMul(r, w)
}}"""
REPLACED = f"""{HEAD} g (float[1,2] x) => (float[1,2] y) <{WEIGHTS}, float none = {{0.0}}, float six = {{6.0}}> {{
    p = MatMul(x, w)
    r = Relu(p)
    q = MatMul(r, w)
    c = Clip(q, none, six)
    y = MatMul(c, w)
}}"""
AT_THE_END = f"""{HEAD} g (float[1,2] x) => (float[1,2] y) <{WEIGHTS}, float one = {{1.0}}> {{
    p = MatMul(x, w)
    y = Clip(p, one)
}}"""


@pytest.fixture(scope="module")
def agent(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Agent]:
    """An agent of the toolchain onnxruntime."""
    toolchains = Toolchains()
    if not toolchains.folder("onnxruntime").is_dir():
        pytest.skip("the toolchain onnxruntime is not made: bench env sync onnxruntime")
    folder = tmp_path_factory.mktemp("agent")
    pool = AgentPool(toolchains.ensure, folder / "logs", Catalog(()).sources, folder / "work")
    try:
        with pool.lease("onnxruntime") as leased:
            assert isinstance(leased, Agent)
            yield leased
    finally:
        pool.close()


@pytest.mark.parametrize(
    ("model", "kept"),
    [(BRANCHES, {"Relu": 1}), (FROM_ONE, {"Clip": 1}), (AT_THE_END, {"Clip": 1}), (REPLACED, {})],
    ids=["read by a branch", "from one on", "an output", "replaced by the range"],
)
def test_what_bounds_values_stays_unless_the_range_does_it(
    agent: Agent, tmp_path: Path, model: str, kept: dict[str, int]
) -> None:
    given: dict[str, Any] = {f"{CALIBRATION}:x": np.random.default_rng(0).uniform(-2, 2, (16, 2)).astype(np.float32)}
    if "bool c" in model:
        given[f"{CALIBRATION}:c"] = np.arange(16) % 2 == 0
    request = {"graph": "qdq", "batched": True, "calibration_method": "minmax"}
    file = written(model, tmp_path / "model.onnx")
    answer = agent.call("onnx_graphs", "prepare", request, arrays=given, files={"model.onnx": file}, limits=LIMITS)
    counted = answer.meta["operators"]
    assert counted["QuantizeLinear"] >= 2
    assert {name: counted[name] for name in ("Relu", "Clip") if name in counted} == kept
