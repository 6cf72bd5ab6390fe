"""PyTorch's operators in ONNX's: what has another meaning with other arguments is read with it, or not at all."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from bench_plugin.reach.environments.toolchains import Toolchains

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def programs() -> dict[str, Any]:
    """What is read of each program of read_programs.py."""
    if not Toolchains().folder("executorch").is_dir():
        pytest.skip("the toolchain executorch is not made: bench env sync executorch")
    command = [str(Toolchains().ensure("executorch")), str(Path(__file__).with_name("read_programs.py"))]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=240)
    assert done.returncode == 0, done.stdout + done.stderr
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


@pytest.mark.parametrize(
    ("name", "limits"),
    [("clamp from below", [0.5, None]), ("clamp from above", [None, 0.5]), ("hardtanh", [-1.0, 1.0])],
)
def test_a_limit_that_is_left_out_is_none(programs: dict[str, Any], name: str, limits: list[float | None]) -> None:
    assert programs[name]["limits"] == limits and not programs[name]["unread"]


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("rounded quotient", "a quotient that is rounded"),
        ("another scale", "a scale that is not that of the sizes"),
        ("heads that share keys", "heads that share their keys"),
        ("selu as elu", "an Elu that is scaled"),
        ("mirrored", "padding that is not constant"),
        ("nearly doubled", "a scale that is not that of the sizes"),
        ("five thirds", "a scale that is not whole"),
    ],
)
def test_what_has_another_meaning_is_not_read(programs: dict[str, Any], name: str, why: str) -> None:
    assert [one.partition(": ")[2] for one in programs[name]["unread"]] == [why]


def test_the_same_without_it_is_read(programs: dict[str, Any]) -> None:
    for name, operator in (
        ("quotient", "Div"),
        ("scale of the sizes", "Resize"),
        ("one part", "Split"),
        ("square", "Pow"),
    ):
        assert operator in programs[name]["operators"] and not programs[name]["unread"]
    assert programs["mean of all"]["axes"] == [0, 1, 2, 3] and not programs["mean of all"]["unread"]


@pytest.mark.parametrize(
    ("name", "operator", "attributes"),
    [
        ("hardsigmoid", "HardSigmoid", {"alpha": 1 / 6, "beta": 0.5}),
        ("leaky", "LeakyRelu", {"alpha": 0.2}),
        ("elu", "Elu", {"alpha": 0.7}),
        ("shuffled", "DepthToSpace", {"blocksize": 2, "mode": "CRD"}),
        (
            "doubled",
            "Resize",
            {"mode": "nearest", "coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"},
        ),
    ],
)
def test_attributes_are_those_of_the_same_function(
    programs: dict[str, Any], name: str, operator: str, attributes: dict[str, Any]
) -> None:
    assert programs[name]["attributes"][operator] == attributes


@pytest.mark.parametrize(
    ("name", "operator", "constants"),
    [
        ("two of three", "Split", [[2, 1]]),
        ("parts of sizes", "Split", [[1, 2]]),
        ("padded", "Pad", [[0, 0, 1, 2, 0, 0, 3, 0], 0.5]),
    ],
)
def test_sizes_of_parts_and_of_padding_are_those_of_the_program(
    programs: dict[str, Any], name: str, operator: str, constants: list[Any]
) -> None:
    assert programs[name]["constants"][operator] == constants and not programs[name]["unread"]
