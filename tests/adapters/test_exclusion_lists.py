"""The lists of ``bench sensitivity --exclude-for`` are taken by the tools: what they name stays in floating point."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from bench_plugin.characterise.sensitivity.exclusion import written as list_of
from bench_plugin.characterise.sensitivity.findings import Layer
from bench_plugin.reach.environments.toolchains import Toolchains
from tests.adapters.real import written

ROOT = Path(__file__).parents[2]
SCRIPT = Path(__file__).with_name("quantise_with_list.py")
TOOLCHAINS = {"onnxruntime": "onnxruntime", "nncf": "openvino"}
# The two convolutions differ in their names by what an expression might overlook; a product has its bias in a sum.
MODEL = """<ir_version: 8, opset_import: ["": 17]>
g (float[N, 2, 4, 4] x) => (float[N, 3] y)
<float[4, 2, 3, 3] w0 = {W0}, float[4] b0 = {0.1, 0, 0, 0.2}, float[4, 4, 3, 3] w1 = {W1}, float[64, 3] w2 = {W2},
 float[3] b2 = {0.1, 0.2, 0.3}, int64[2] flat = {0, -1}>
{
  [NAME0] c0 = Conv<pads = [1, 1, 1, 1]>(x, w0, b0)
  [relu0] r0 = Relu(c0)
  [NAME1] c1 = Conv<pads = [1, 1, 1, 1]>(r0, w1)
  [relu1] r1 = Relu(c1)
  [flatten] f = Reshape(r1, flat)
  [NAME2] p = MatMul(f, w2)
  [bias] y = Add(p, b2)
}"""
NAMES = ("features.0", "features.01", "classifier")
OPERATORS = ("Conv", "Conv", "MatMul")


def quantised(tool: str, model: Path, excluding: Path) -> dict[str, bool]:
    """For each layer of what the tool wrote, by its name there, whether its inputs are quantised."""
    toolchains = Toolchains()
    if not toolchains.folder(TOOLCHAINS[tool]).is_dir():
        pytest.skip(f"the toolchain {TOOLCHAINS[tool]} is not made: bench env sync {TOOLCHAINS[tool]}")
    folder = model.parent
    files = [str(model), str(excluding), str(folder / "inputs.npz"), str(folder)]
    command = [str(toolchains.ensure(TOOLCHAINS[tool])), str(SCRIPT), tool, *files]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    found: dict[str, bool] = json.loads(done.stdout.splitlines()[-1])
    return found


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if not Toolchains().folder("onnxruntime").is_dir():
        pytest.skip("the toolchain onnxruntime is not made: bench env sync onnxruntime")
    rng = np.random.default_rng(7)
    text = MODEL
    for name, shape in (("W0", (4, 2, 3, 3)), ("W1", (4, 4, 3, 3)), ("W2", (64, 3))):
        text = text.replace(f"{{{name}}}", "{" + ", ".join(f"{x:.5f}" for x in rng.normal(0, 0.2, shape).flat) + "}")
    for number, name in enumerate(NAMES):
        text = text.replace(f"NAME{number}", name.replace(".", "_DOT_"))
    path = written(text, tmp_path_factory.mktemp("lists") / "model.onnx")
    named(path)
    np.savez(path.parent / "inputs.npz", x=rng.standard_normal((16, 2, 4, 4)).astype(np.float32))
    return path


def named(path: Path) -> None:
    """Give the nodes names with dots, which the text form does not take."""
    code = (
        "import sys, onnx; m = onnx.load(sys.argv[1])\n"
        "for node in m.graph.node: node.name = node.name.replace('_DOT_', '.')\n"
        "onnx.save(m, sys.argv[1])"
    )
    subprocess.run([str(Toolchains().ensure("onnxruntime")), "-c", code, str(path)], check=True)


def is_layer(name: str, found: str) -> bool:
    """Whether a node of a tool's graph, ``found``, computes the layer ``name``."""
    return found.removeprefix("prepared:") in (name, f"{name}/WithoutBiases", f"{name}/MatMulAddFusion")


@pytest.mark.nightly
@pytest.mark.parametrize("tool", TOOLCHAINS)
@pytest.mark.parametrize("number", range(len(NAMES)))
def test_a_layer_of_the_list_stays_in_floating_point_and_no_other(model: Path, tool: str, number: int) -> None:
    excluding = model.parent / f"{tool}-{number}.json"
    excluding.write_text(list_of(tool, [Layer(NAMES[number], True, OPERATORS[number], 1, 1)]))
    found = quantised(tool, model, excluding)
    for at, name in enumerate(NAMES):
        nodes = {one: whether for one, whether in found.items() if is_layer(name, one)}
        assert len(nodes) == (2 if tool == "onnxruntime" else 1), found  # as it is, and prepared
        assert set(nodes.values()) == {at != number}, found


@pytest.mark.nightly
@pytest.mark.parametrize("tool", TOOLCHAINS)
def test_the_list_that_the_command_writes_is_taken(model: Path, tool: str) -> None:
    excluding = model.parent / f"{tool}.json"
    command = [sys.executable, "-m", "bench_plugin.cli.main", "sensitivity", "model.onnx", "--inputs", "inputs.npz"]
    command += ["--bits", "8", "--max-error", "0.012", "--json", "--exclude-for", tool, "-o", str(excluding)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "BENCH_CACHE": str(model.parent / "cache")}
    done = subprocess.run(command, cwd=model.parent, capture_output=True, text=True, timeout=300, env=environment)
    assert done.returncode == 0, done.stderr
    excluded = json.loads(done.stdout)["excluded"]
    assert 0 < len(excluded) < len(NAMES)
    for name, whether in quantised(tool, model, excluding).items():
        assert whether is not any(is_layer(one, name) for one in excluded), name
