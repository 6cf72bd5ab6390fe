"""A run that agrees by the noise of sums in float16 alone: its layers are asked, too."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bench_plugin.adapters.compilers import emx
from bench_plugin.reach.environments.toolchains import Toolchains
from tests.given_file import EQUIVALENCE, compiles, the_row, write_file
from tests.project import Project

# Two layers, of which the second one adds little.
MAKE = """
import sys
import numpy as np, onnx
text = 'g (float[1,512] x) => (float[1,64] y) { a = Gemm(x, w, b) h = Tanh(a) y = Gemm(h, v, c) }'
model = onnx.parser.parse_model('<ir_version: 8, opset_import: ["": 17]> ' + text)
rng = np.random.default_rng(4)
known = {"w": rng.normal(0, 0.05, (512, 512)), "b": rng.normal(0, 0.5, 512), "v": rng.normal(0, 0.05, (512, 64)),
         "c": float(sys.argv[2]) * rng.choice([-1, 1], 64)}
model.graph.initializer.extend(onnx.numpy_helper.from_array(x.astype("float32"), name) for name, x in known.items())
onnx.save(model, sys.argv[1])
"""
LOADED = '        model = onnx.load(call.files["model.onnx"])\n'
SIZE = 0.012
DROPPED = """
        for tensor in model.graph.initializer:
            if list(tensor.dims) == [64]:
                half = len(tensor.raw_data) // 2
                tensor.raw_data = bytes(half) + tensor.raw_data[half:]
"""


def run(project: Project, size: float, *, dropped: bool) -> Mapping[str, Any]:
    """The row of fp16 in emx, or in one that drops half of the last layer's bias, whose numbers have this size."""
    project.write("test_models.py", EQUIVALENCE)
    path = write_file(project, Toolchains().ensure("onnxruntime"), MAKE, "net.onnx", size)
    if dropped:
        source = Path(emx.__file__).read_text("utf-8").replace('"name": "emx"', '"name": "planted"')
        assert source.count(LOADED) == 1, "the place where the file is read"
        compiles(project, project.write("planted.py", source.replace(LOADED, LOADED + DROPPED)))
    name = "planted" if dropped else "emx"
    return the_row(project.run(f"--compilers={name}", "--precisions=fp16", f"--bench-onnx={path}"))


def test_a_mistake_that_such_sums_would_excuse_is_noticed_in_its_layer(project: Project) -> None:
    row = run(project, SIZE, dropped=True)
    assert row["numbers"]["outputs"][0]["status"] == "agree" and "low-precision accumulate" in row["flags"]
    assert row["status"] == "mismatch", row["flags"]
    assert row["reason"].startswith("within the model a layer is wrong: layer y: E "), row["reason"]


def test_where_nothing_is_dropped_such_sums_are_not_needed(project: Project) -> None:
    row = run(project, SIZE, dropped=False)
    assert row["status"] == "supported", row["reason"]
    assert "low-precision accumulate" not in row["flags"] and row["numbers"]["strength"] >= 0.8
