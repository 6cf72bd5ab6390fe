"""Weights whose steps are too long: each is as near to the file's as it has to be in steps, and has lost bits."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from bench_plugin.adapters.compilers import mnn
from bench_plugin.reach.environments.toolchains import Toolchains
from tests.checks.test_tflite_ranges import ROWS
from tests.checks.test_tflite_ranges import run as in_tflite
from tests.given_file import EQUIVALENCE, compiles, the_row, write_file
from tests.project import Project

# The first product of the file: its weight, and its bias, whose step is that of the input times that of the weight.
LONGER = """
    if node.builtinOptions.fusedActivationFunction == 0:
        continue
    for place, kind in ((1, "int8"), (2, "int32")):
        if int(node.inputs[place]) < 0:
            continue
        tensor = graph.tensors[node.inputs[place]]
        values = numpy.frombuffer(bytes(model.buffers[tensor.buffer].data), kind)
        shorter = numpy.rint(values / {factor}).astype(kind)
        model.buffers[tensor.buffer].data = numpy.frombuffer(shorter.tobytes(), "uint8")
        tensor.quantization.scale = (numpy.asarray(tensor.quantization.scale) * {factor}).astype("float32")
    changed += 1
"""


@pytest.mark.parametrize("factor", [5.0, 25.0])
def test_longer_steps_in_tflite_are_a_mismatch(project: Project, factor: float) -> None:
    row = in_tflite(project, ROWS, fault=("FULLY_CONNECTED", LONGER.format(factor=factor)))
    assert row["status"] == "mismatch", row["flags"]
    assert f"uses {127 / factor:.0f} of the 127 integers on a side of zero" in row["reason"], row["reason"]
    assert row["numbers"]["converter"]["worst_steps"] <= 0.501, "they are near in steps"


def in_mnn(project: Project, bits: int) -> Mapping[str, Any]:
    """The row of w8 in MNN, whose converter is asked for these bits."""
    project.write("test_models.py", EQUIVALENCE)
    path = write_file(project, Toolchains().ensure("onnxruntime"), ROWS, "net.onnx")
    source = Path(mnn.__file__).read_text("utf-8").replace('"name": "mnn"', '"name": "planted"')
    asked = '"w8": ["--weightQuantBits", "8"]'
    assert source.count(asked) == 1
    compiles(project, project.write("planted.py", source.replace(asked, asked.replace('"8"', f'"{bits}"'))))
    return the_row(project.run("--compilers=planted", "--precisions=w8", f"--bench-onnx={path}"))


@pytest.mark.parametrize("bits", [3, 5])
def test_fewer_bits_in_mnn_are_a_mismatch(project: Project, bits: int) -> None:
    row = in_mnn(project, bits)
    assert row["status"] == "mismatch", row["flags"]
    assert "of the 127 integers on a side of zero" in row["reason"], row["reason"]


def test_all_bits_in_mnn_are_right(project: Project) -> None:
    row = in_mnn(project, 8)
    assert row["status"] == "supported", row["reason"]
