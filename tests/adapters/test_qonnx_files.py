"""QONNX files: what stands in the place of Quant computes the same, and what has no such form is refused with why."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from bench_plugin.inventory.adapters import BUILT_IN

ROOT = Path(__file__).parents[2]
NEAR = 1e-5  # of sums of six products in float32


@pytest.fixture(scope="module")
def cases(tools_python: Path, tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Any]:
    """The cases of qonnx_cases.py by name."""
    folder = str(tmp_path_factory.mktemp("qonnx"))
    command = [str(tools_python), str(Path(__file__).with_name("qonnx_cases.py")), str(BUILT_IN), folder]
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
