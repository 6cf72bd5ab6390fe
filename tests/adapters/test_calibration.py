"""How ranges of activations are found: one value far off widens the range of minmax, and not that of percentiles."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from bench_plugin.agent.contract import CALIBRATION
from bench_plugin.inventory.adapters import Catalog
from bench_plugin.reach.environments.toolchains import Toolchains
from bench_plugin.reach.processes.client import Agent
from bench_plugin.reach.processes.leased_agent import AgentFailure, Limits
from bench_plugin.reach.processes.supervisor import AgentPool
from tests.adapters.real import written

LIMITS = Limits(120.0, 4 << 30)
MODEL = '<ir_version: 8, opset_import: ["": 17]> g (float[1,1024] x) => (float[1,1024] y) { z = Abs(x)  y = Add(z, x) }'
GRAPHS = "onnx_graphs"


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


def scale(agent: Agent, folder: Path, method: str) -> float:
    """The scale in which ``y`` is quantised, of calibration inputs from -1 to 1 but for one value of 1,000."""
    values = np.random.default_rng(0).uniform(-1, 1, (400, 1024)).astype(np.float32)
    values[7, 7] = 1000.0
    request = {"graph": "qdq", "batched": True, "calibration_method": method}
    model = written(MODEL, folder / "model.onnx")
    given = {f"{CALIBRATION}:x": values}
    answer = agent.call(GRAPHS, "prepare", request, arrays=given, files={"model.onnx": model}, limits=LIMITS)
    described = answer.meta["calibration"]
    assert (described["method"], described["samples"]) == (method, 400)
    return float(answer.meta["output_scales"][0])


def test_one_value_far_off_decides_the_range_of_minmax_alone(agent: Agent, tmp_path: Path) -> None:
    minmax = scale(agent, tmp_path, "minmax")
    assert minmax == pytest.approx(2000 / 255, rel=0.01)
    assert scale(agent, tmp_path, "percentile") < 0.1 * minmax
    # It should be far below, too: docs/findings/onnxruntime_entropy_range.py. When this fails, the finding is gone.
    assert scale(agent, tmp_path, "entropy") == minmax


def test_an_unknown_method_is_an_error(agent: Agent, tmp_path: Path) -> None:
    with pytest.raises(AgentFailure, match="guess"):
        scale(agent, tmp_path, "guess")
