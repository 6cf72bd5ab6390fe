"""Layers of a QDQ file that take floating point, such as an output of the model that the quantiser left as it is."""

from __future__ import annotations

import pytest

from bench_plugin.reach.environments.toolchains import Toolchains
from tests.given_file import EQUIVALENCE, the_row, write_file
from tests.project import Project

# The maximum is an output, and what the layers behind it take.
MAKE = """
import sys
import numpy as np, onnx
text = 'g (float[1,16] x, float[1,32] p) => (float[1,8] z, float[1,32] y) { '
text += 'a = MatMul(x, w) y = Max(a, p) d = Sub(a, y) e = Exp(d) z = MatMul(e, v) }'
model = onnx.parser.parse_model('<ir_version: 8, opset_import: ["": 17]> ' + text)
rng = np.random.default_rng(0)
known = {"w": rng.normal(0, 0.3, (16, 32)), "v": rng.normal(0, 0.2, (32, 8))}
model.graph.initializer.extend(onnx.numpy_helper.from_array(x.astype("float32"), name) for name, x in known.items())
onnx.save(model, sys.argv[1])
"""


@pytest.mark.parametrize("compiler", ["onnxruntime", "tract", "emx"])
def test_they_take_the_type_of_the_file(project: Project, compiler: str) -> None:
    project.write("test_models.py", EQUIVALENCE)
    path = write_file(project, Toolchains().ensure("onnxruntime"), MAKE, "maximum.onnx")
    cells = ("-k", "qdq")
    row = the_row(project.run(f"--compilers={compiler}", "--precisions=w8a8", f"--bench-onnx={path}", *cells))
    assert row["status"] == "supported", row["reason"]
    assert not [flag for flag in row["flags"] if "layers" in flag], row["flags"]
    assert row["numbers"]["layers"] >= 3 and row["numbers"]["layers_wrong"] == 0
