"""Layers of QDQ graphs whose summands stay inside: which these are, which of them are rounded, and what they change."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from bench_plugin.reach.environments.toolchains import Toolchains

ROOT = Path(__file__).parents[2]
# Two convolutions are added (s1); b and a convolution of it (s2); c and a convolution that is read by a pooling, too
# (s3); s3 and that pooling (s4). A sum with a constant (s5) and one with itself (y) are no sums of two tensors.
SCRIPT = """
import sys
import numpy as np, onnx
from onnx import helper as h
rng = np.random.default_rng(3)
known, nodes = {"zero": np.uint8(0), "wzero": np.int8(0), "ws": np.float32(0.01), "bias": np.float32(0.7)}, []
def quantised(name, scale):
    known[f"{name}_s"], known[f"{name}_z"] = np.float32(scale), np.uint8(128)
    nodes.append(h.make_node("QuantizeLinear", [name, f"{name}_s", f"{name}_z"], [f"{name}_q"]))
    nodes.append(h.make_node("DequantizeLinear", [f"{name}_q", f"{name}_s", f"{name}_z"], [f"{name}_d"]))
    return f"{name}_d"
def conv(source, name):
    known[f"{name}_w"] = rng.integers(-90, 90, (6, 6, 1, 1)).astype("int8")
    nodes.append(h.make_node("DequantizeLinear", [f"{name}_w", "ws", "wzero"], [f"{name}_wd"]))
    nodes.append(h.make_node("Conv", [source, f"{name}_wd"], [name]))
    return quantised(name, 0.04)
def made(kind, inputs, name, scale=0.05, **more):
    nodes.append(h.make_node(kind, inputs, [name], **more))
    return quantised(name, scale)
a = conv(quantised("x", 0.03), "a")
first, second = conv(a, "first"), conv(a, "second")
s1 = made("Add", [first, second], "s1")
b = conv(s1, "b")
s2 = made("Add", [conv(b, "third"), b], "s2", 0.08)
c = conv(s2, "c")
twice = conv(c, "twice")
s3 = made("Add", [c, twice], "s3", 0.11)
s4 = made("Add", [s3, made("AveragePool", [twice], "pool", kernel_shape=[3, 3], pads=[1] * 4)], "s4", 0.12)
s5 = made("Add", [conv(s4, "last"), "bias"], "s5")
s6 = made("Add", [s5, s5], "s6", 0.1)
nodes[-1].output[0] = "y"
tensors = [onnx.numpy_helper.from_array(np.asarray(values), name) for name, values in known.items()]
ports = [h.make_tensor_value_info(name, 1, [1, 6, 5, 5]) for name in ("x", "y")]
model = h.make_model(h.make_graph(nodes, "g", ports[:1], ports[1:], tensors), ir_version=8,
                     opset_imports=[h.make_opsetid("", 17)])
onnx.checker.check_model(model, full_check=True)
onnx.save(model, sys.argv[1])
"""


@pytest.fixture(scope="module")
def said(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What the script prints of the graph above."""
    folder = tmp_path_factory.mktemp("sums")
    (folder / "make.py").write_text(SCRIPT, "utf-8")
    python = str(Toolchains().ensure("onnxruntime"))
    subprocess.run([python, "make.py", "net.onnx"], cwd=folder, check=True, timeout=120)
    command = [python, str(Path(__file__).with_name("compare_sums.py")), str(folder / "net.onnx")]
    done = subprocess.run(
        command, env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return dict(json.loads(done.stdout))


def test_what_is_added_to_another_tensor_stays_inside(said: dict[str, Any]) -> None:
    wanted = {"first", "second", "third", "b", "c", "twice", "s3", "pool"}
    assert set(said["rounds"]) == {f"{name}_q" for name in wanted}


def test_the_first_convolution_that_goes_into_one_sum_alone_is_not_rounded(said: dict[str, Any]) -> None:
    assert {name for name, rounds in said["rounds"].items() if not rounds} == {"first_q", "third_q"}


def test_with_all_roundings_inside_the_layers_are_those_of_the_graph(said: dict[str, Any]) -> None:
    assert said["all"] <= 0.5 + 1e-9


def test_without_one_they_are_another_function(said: dict[str, Any]) -> None:
    assert 0.6 < said["fused"] < 2


def test_results_that_depend_on_a_rounding_inside_are_known(said: dict[str, Any]) -> None:
    assert said["moved"] == said["dynamic"] == ["s1_q", "s2_q", "s4_q"]
