"""The cases of few bits: which there are, what they are asked for by, and that the adapter makes the same."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from bench_plugin.inventory import low_bit_cases
from bench_plugin.inventory.adapters import BUILT_IN

ROOT = Path(__file__).parents[2]
MAKE = """
import importlib, json, os, sys
from bench_plugin.agent import modules
from bench_plugin.agent.contract import CollectCall, Place
folder, out = sys.argv[1:]
few_bits = "characterise/few_bits/"
for place in ("onnx_tools/shared/onnx_names", few_bits + "low_bits", few_bits + "low_bits_cases"):
    path = os.path.join(folder, place + ".py")
    found = modules.loaded("bench_plugin.adapters." + place.replace("/", "."), path)
reply = found.Adapter().collect(CollectCall().at(Place(out, {}, {}, lambda stage: None)))
print(open(reply.files["cases.json"]).read())
"""


@pytest.fixture(scope="module")
def made(tools_python: Path, tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Any]:
    """The descriptions of all cases that the adapter makes."""
    command = [str(tools_python), "-c", MAKE, str(BUILT_IN), str(tmp_path_factory.mktemp("cases"))]
    done = subprocess.run(
        command, env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    rows: Mapping[str, Any] = json.loads(done.stdout)
    return rows


def test_the_adapter_makes_the_cases_that_are_planned(made: Mapping[str, Any]) -> None:
    planned = low_bit_cases.CASES
    assert set(made) == set(planned)
    for name, row in made.items():
        case = planned[name]
        described = (row["category"], row["nodes"], row["ir"], row["opsets"]["ai.onnx"], tuple(row["operators"]))
        assert described == (case.category, case.nodes, case.ir, case.opset, case.operators), name


def test_every_operator_type_granularity_and_rounding_has_a_case() -> None:
    parts = {tuple(name.split("_")[2:]) for name in low_bit_cases.CASES}
    for operator in ("matmul", "gemm", "conv"):
        for kind in ("int4", "uint4", "int2", "uint2"):
            for granularity in ("tensor", "channel", "block"):
                assert {(operator, kind, granularity, rounded) for rounded in ("weights", "both")} <= parts
    assert len(parts) == 3 * 4 * 3 * 2 + 3 * 3


def test_a_case_is_asked_for_by_its_type_and_by_what_models_call_it() -> None:
    assert low_bit_cases.precisions_of("low_bits_matmul_int4_block_weights") == ("int4", "w4")
    assert low_bit_cases.precisions_of("low_bits_matmul_int4_channel_weights") == ("int4",)
    assert low_bit_cases.precisions_of("low_bits_conv_int4_tensor_a8") == ("w4a8",)
    assert low_bit_cases.precisions_of("low_bits_gemm_uint2_block_both") == ("uint2",)
    assert low_bit_cases.graph_of("low_bits_gemm_uint2_block_both") == "qdq"
    assert low_bit_cases.graph_of("low_bits_gemm_uint2_block_weights") == "weights"
