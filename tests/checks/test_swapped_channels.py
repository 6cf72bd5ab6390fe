"""A weight of which an artefact has most channels, and others in the wrong place: it is that weight, and wrong."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from bench_plugin.reach.environments.toolchains import Toolchains
from tests.given_file import EQUIVALENCE, the_row, write_file
from tests.planted_tflite import plant
from tests.project import Project

# The first layer has nine channels of which two are large: swapped, the whole is no longer like what the file has.
MAKE = """
import sys
import numpy as np, onnx
text = 'g (float[batch,4,8,8] x) => (float[batch,5] y) { c = Conv(x, w, b) r = Relu(c) p = GlobalAveragePool(r) '
model = onnx.parser.parse_model('<ir_version: 8, opset_import: ["": 17]> ' + text + 'f = Flatten(p) y = Gemm(f, v) }')
rng = np.random.default_rng(8)
known = {"w": rng.normal(0, 0.2, (9, 4, 3, 3)), "b": rng.normal(0, 0.2, 9), "v": rng.normal(0, 0.5, (9, 5))}
known["w"][3:5] *= 4
model.graph.initializer.extend(onnx.numpy_helper.from_array(x.astype("float32"), name) for name, x in known.items())
onnx.save(model, sys.argv[1])
"""
SWAPPED = """
    tensor = graph.tensors[node.inputs[1]]
    data = numpy.array(model.buffers[tensor.buffer].data, "uint8").reshape(tensor.shape)
    data[[3, 4]] = data[[4, 3]]
    scale = numpy.array(tensor.quantization.scale, "float32")
    scale[[3, 4]] = scale[[4, 3]]
    tensor.quantization.scale = scale
    model.buffers[tensor.buffer].data = data.reshape(-1)
    changed += 1
"""


@pytest.mark.parametrize("fault", ["", SWAPPED])
def test_the_weight_is_compared_with_its_own(project: Project, fault: str) -> None:
    project.write("test_models.py", EQUIVALENCE)
    path = write_file(project, Toolchains().ensure("onnxruntime"), MAKE, "net.onnx")
    name = plant(project, "CONV_2D", fault) if fault else "tflite"
    row: Mapping[str, Any] = the_row(project.run(f"--compilers={name}", "--precisions=w8a8", f"--bench-onnx={path}"))
    assert row["status"] == ("mismatch" if fault else "supported"), row["flags"]
    if fault:
        assert row["reason"].startswith("converter: weight of CONV_2D up to "), row["reason"]
        assert " steps from w of the file" in row["reason"]
