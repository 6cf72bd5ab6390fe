"""The layers of a quantised graph in float64 are what ONNX Runtime computes, also depthwise, joined and pooled ones."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

from bench_plugin.reach.environments.toolchains import Toolchains

ROOT = Path(__file__).parents[2]


def test_unrounded_layers_are_within_half_a_step_of_onnx_runtime(tmp_path: Path) -> None:
    script = Path(__file__).with_name("compare_layers.py")
    command = [str(Toolchains().ensure("onnxruntime")), str(script), str(tmp_path)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    count, _, steps, _, _, mutant = done.stdout.split()
    assert int(count) >= 8 and float(steps) <= 0.51 < 0.75 < float(mutant)


NORMS = r"""
import json, sys
sys.path.insert(0, sys.argv[1])
import numpy as np, onnx
from onnx import helper as h, numpy_helper as nh
from bench_plugin.adapters.onnx_tools import onnx_layers

rng = np.random.default_rng(0)
values = {name: rng.uniform(0.5, 1.5, 4) for name in ("s", "b", "m", "v")}
batch = lambda x, y, **more: h.make_node("BatchNormalization", [x, "s", "b", "m", "v"], [y], name=f"norm {y}", **more)
nodes = [
    batch("x", "keras", epsilon=1e-3), h.make_node("Relu", ["keras"], ["a"]), batch("y", "usual"),
    h.make_node("LayerNormalization", ["z", "s", "b"], ["c"], axis=-1, epsilon=1e-6, name="layer norm"),
    *(batch(f"x{i}", f"y{i}", epsilon=1e-4) for i in range(9)), batch("x", "lost"),
]
inputs = ["x", "y", "z", *(f"x{i}" for i in range(9))]
outputs = ["a", "usual", "c", *(f"y{i}" for i in range(9))]
double = lambda name: h.make_tensor_value_info(name, 11, None)
tensors = [nh.from_array(array, name) for name, array in values.items()]
graph = h.make_graph(nodes, "layers", [double(name) for name in inputs], [double(name) for name in outputs], tensors)
model = h.make_model(graph, opset_imports=[h.make_opsetid("", 17)], ir_version=8)
before = model.SerializeToString()
given = {name: rng.standard_normal((3, 2, 4)) for name in inputs}
usual = {name: onnx_layers._evaluated(onnx, onnx_layers._part(onnx, model, name)[0], given) for name in outputs}
onnx_layers.MUTATED = int(sys.argv[2])
found = {}
for name, place, changed, result in onnx_layers._epsilons(onnx, model):
    mutated = onnx_layers._evaluated(onnx, changed, given)
    found[f"{name} at {place}"] = [result, float(np.linalg.norm(mutated - usual[result]) / np.linalg.norm(mutated))]
print(json.dumps({"found": found, "undone": model.SerializeToString() == before}))
"""


def norms(count: int) -> dict[str, list[Any]]:
    """The mutants of norms, of so many places, with the result that each reaches and by which share it changes."""
    command = [str(Toolchains().ensure("onnxruntime")), "-c", NORMS, str(ROOT), str(count)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    assert said["undone"]
    found: dict[str, list[Any]] = said["found"]
    return found


def test_norms_get_another_epsilon_than_their_own() -> None:
    found = norms(20)
    assert len(found) == 12, "the one that no result depends on has none"
    for name, result in (
        ("batchnorm eps 1e-5 at norm keras", "a"), ("batchnorm eps 1e-3 at norm usual", "usual"),
        ("layernorm eps 1e-3 at layer norm", "c"), ("batchnorm eps 1e-3 at norm y8", "y8"),
    ):  # fmt: skip
        reached, changed = found[name]
        assert reached == result and 1e-5 < changed < 0.1, name


def test_of_many_norms_some_are_mutated_that_are_spread_over_the_model() -> None:
    assert list(norms(3)) == [
        "batchnorm eps 1e-5 at norm keras", "batchnorm eps 1e-3 at norm y1", "batchnorm eps 1e-3 at norm y5",
    ]  # fmt: skip
