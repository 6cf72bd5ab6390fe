"""Layers of dynamically quantised graphs: what is compared of them, and that each depends on itself alone."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from bench_plugin.reach.environments.toolchains import Toolchains
from tests.checks.test_openvino_sums import SCRIPT

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def said(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What the script prints of two blocks with a sum each."""
    folder = tmp_path_factory.mktemp("dynamic")
    (folder / "make.py").write_text(SCRIPT.replace('["n", ', "[1, "), "utf-8")
    python = str(Toolchains().ensure("onnxruntime"))
    subprocess.run([python, "make.py", "net.onnx", "2"], cwd=folder, check=True, timeout=120)
    command = [python, str(Path(__file__).with_name("compare_dynamic.py")), str(folder / "net.onnx")]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    return dict(json.loads(done.stdout))


def test_all_that_lies_between_two_layers_is_compared(said: dict[str, Any]) -> None:
    kinds = list(said["layers"].values())
    count = len(said["nodes"])
    assert count == 9, "eight convolutions and a product"
    assert [kinds.count(kind) for kind in ("steps", "scale", "zero")] == [count] * 3
    assert kinds.count("real") == count, "what each quantises but the input of the model, and the output"
    assert "y" in said["layers"]


def test_the_results_are_those_of_the_graph_before_their_rounding(said: dict[str, Any]) -> None:
    off = said["off"]
    assert off.keys() == said["layers"].keys()
    most = {"steps": 0.5 + 1e-9, "zero": 0.5 + 1e-9, "real": 1e-9, "scale": 1e-7}  # a scale is a float32
    for name, kind in said["layers"].items():
        assert off[name] <= most[kind], name
    assert max(off[name] for name, kind in said["layers"].items() if kind == "steps") > 0.4


def test_a_layer_depends_on_what_it_was_given_alone(said: dict[str, Any]) -> None:
    [changed] = said["changed"]
    assert said["layers"][changed] == "real"
