"""Models that stay ready in their tool: adapters answer a request to deploy, and inferences give the numbers."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from bench_plugin.inventory.adapters import Catalog
from bench_plugin.reach.deployment import deploy
from bench_plugin.reach.environments.toolchains import Toolchains
from bench_plugin.reach.processes.client import Agent
from bench_plugin.reach.processes.leased_agent import Limits
from bench_plugin.reach.processes.supervisor import AgentPool
from tests.adapters.real import written

LIMITS = Limits(120.0, 4 << 30)
MODEL = '<ir_version: 8, opset_import: ["": 17]> g (float[4] x) => (float[4] y) { y = Abs(x) }'
RUN = {
    "batched": False, "precision": "fp32", "graph": "original", "target": {"name": "local"}, "threads": 1,
    "inputs": [{"name": "x", "dtype": "float32", "shape": [4]}],
    "outputs": [{"name": "y", "dtype": "float32", "shape": [4]}],
}  # fmt: skip


@pytest.mark.parametrize("compiler", ["emx", "onnxruntime"])
def test_a_deployed_model_gives_the_numbers(tmp_path: Path, compiler: str) -> None:
    toolchains = Toolchains()
    if not toolchains.folder(compiler).is_dir():
        pytest.skip(f"the toolchain {compiler} is not made: bench env sync {compiler}")
    model = written(MODEL, tmp_path / "model.onnx")
    pool = AgentPool(toolchains.ensure, tmp_path / "logs", Catalog(()).sources, tmp_path / "work")
    try:
        with pool.lease(compiler) as agent:
            compiled = agent.call(compiler, "compile", RUN, files={"model.onnx": model}, limits=LIMITS)
            assert isinstance(agent, Agent)
            example = {"x": np.zeros((1, 4), np.float32)}
            deployed = deploy(agent, compiler, RUN, inputs=example, files=compiled.files, limits=LIMITS)
            for value in (np.float32([-1, 2, -3, 0]), np.float32([5, -6, 0, 7])):
                assert np.array_equal(deployed.infer([value])[0], np.abs(value))
    finally:
        pool.close()
