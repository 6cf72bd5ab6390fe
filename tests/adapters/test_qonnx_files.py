"""QONNX files: what stands in the place of Quant computes the same, and what has no such form is refused with why."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bench_plugin.reach.environments.toolchains import Toolchains

ROOT = Path(__file__).parents[2]
NEAR = 1e-5  # of sums of six products in float32


@pytest.fixture(scope="module")
def cases(tools_python: Path, tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Any]:
    """The cases of qonnx_cases.py by name."""
    folder = str(tmp_path_factory.mktemp("qonnx"))
    command = [str(tools_python), str(Path(__file__).with_name("qonnx_cases.py")), folder]
    done = subprocess.run(
        command, env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    found: Mapping[str, Any] = json.loads(done.stdout)["cases"]
    return found


@pytest.mark.parametrize("name", [*(f"{bits} bits" for bits in range(2, 9)), "unsigned", "eight unsigned"])
def test_a_rewritten_file_computes_what_quant_says(cases: Mapping[str, Any], name: str) -> None:
    assert cases[name]["off"] <= NEAR
    assert cases[name]["domains"] == [""] and cases[name]["carrier"] == "int8"


def test_nodes_are_counted_by_their_bits(cases: Mapping[str, Any]) -> None:
    assert cases["3 bits"]["quant_nodes"] == {"3 bits": 2}
    assert cases["unsigned"]["quant_nodes"] == {"3 bits": 1, "4 bits": 1}


@pytest.mark.parametrize(("name", "why"), [("nine bits", "9.0 bits; 1 to 8 fit"), ("floor", "rounds by FLOOR")])
def test_what_has_no_such_form_is_refused(cases: Mapping[str, Any], name: str, why: str) -> None:
    assert why in cases[name]["refused"]


EXECUTE = """
import json, sys
import numpy as np
from qonnx.core.modelwrapper import ModelWrapper
from qonnx.core.onnx_exec import execute_onnx
from qonnx.transformation.infer_shapes import InferShapes
request = json.load(open(sys.argv[1]))
found = {}
for name, path in request["files"].items():
    model = ModelWrapper(path).transform(InferShapes())
    found[name] = execute_onnx(model, {"x": np.array(request["x"], np.float32)})["y"].tolist()
json.dump(found, open(sys.argv[2], "w"))
"""


@pytest.mark.nightly
def test_the_formula_is_that_of_the_qonnx_package(tools_python: Path, tmp_path: Path) -> None:
    command = [str(tools_python), str(Path(__file__).with_name("qonnx_cases.py")), str(tmp_path)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    expected = {name: row["expected"] for name, row in told["cases"].items() if "expected" in row}
    request, answer = tmp_path / "request.json", tmp_path / "answer.json"
    request.write_text(json.dumps({"x": told["x"], "files": {name: f"{tmp_path}/{name}.onnx" for name in expected}}))
    python = str(Toolchains().ensure("qonnx"))
    subprocess.run([python, "-c", EXECUTE, str(request), str(answer)], check=True, timeout=600)
    found = json.loads(answer.read_text())
    assert set(found) == set(expected) and len(found) >= 9
    for name, values in expected.items():
        assert np.abs(np.array(found[name]) - np.array(values)).max() <= NEAR, name
