"""w16 of a framework's own model, which TFLite takes without a file of ONNX: judged by the weights of its artefact."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from bench_plugin.reach.environments.toolchains import Toolchains
from tests.given_file import the_row
from tests.planted_tflite import plant
from tests.project import Project

# The weights of float16 are the inputs of DEQUANTIZE nodes; the last layer has ten columns.
SCALED = """
    tensor = graph.tensors[node.inputs[0]]
    if list(tensor.shape)[:1] != [10] or len(tensor.shape) != 2:
        continue
    buffer = model.buffers[tensor.buffer]
    buffer.data = (buffer.data.view("float16") * numpy.float16({factor})).view("uint8")
    changed += 1
"""


def run(project: Project, factor: float) -> Mapping[str, Any]:
    for name in ("tensorflow", "onnxruntime", "datasets"):
        if not Toolchains().folder(name).is_dir():
            pytest.skip(f"the toolchain {name} is not made: bench env sync {name}")
    compiler = plant(project, "DEQUANTIZE", SCALED.format(factor=factor))
    return the_row(
        project.run(
            "--models=digits_mlp", "--frameworks=tensorflow", f"--compilers={compiler}", "--precisions=w16",
            "-k", "tensorflow-planted-w16-own",
        )
    )  # fmt: skip


def test_weights_that_are_rounded_as_those_of_the_file_are_supported(project: Project) -> None:
    row = run(project, 1.0)
    assert row["status"] == "supported", row["reason"]
    assert row["placement"]["rounded_as"] == "as the artefact has them"
    assert row["placement"]["effective_by_error"] == "w16"
    # What float32 loses in the framework, 2.2e-7, counts: one perturbed run of the rounded file changes it by 1.4e-7.
    assert row["numbers"]["noise_E"] > 1.8e-7


def test_a_wrong_layer_is_no_rounding(project: Project) -> None:
    row = run(project, 1.05)
    assert row["status"] == "mismatch", row["reason"]
    assert row["reason"].startswith("converter: weight of FULLY_CONNECTED up to ")
