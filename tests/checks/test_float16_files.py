"""A file in float16 that a compiler computes in float32: the row says so by the error."""

from __future__ import annotations

import pytest

from bench_plugin.reach.environments.toolchains import Toolchains
from tests.given_file import EQUIVALENCE, the_row, write_file
from tests.project import Project

SCRIPT = """
import sys
import numpy as np, onnx
text = 'g (float16[1,8,9,9] x) => (float16[1,4,7,7] y) { c = Conv(x, k) y = Tanh(c) }'
model = onnx.parser.parse_model('<ir_version: 8, opset_import: ["": 17]> ' + text)
kernels = np.random.default_rng(0).normal(0, 0.2, (4, 8, 3, 3)).astype("float16")
model.graph.initializer.append(onnx.numpy_helper.from_array(kernels, "k"))
onnx.save(model, sys.argv[1])
"""


def test_what_is_as_near_as_float32_was_computed_in_it(project: Project) -> None:
    project.write("test_models.py", EQUIVALENCE)
    path = write_file(project, Toolchains().ensure("onnxruntime"), SCRIPT, "half.onnx")
    row = the_row(project.run("--compilers=mnn", "--precisions=fp32", f"--bench-onnx={path}"))
    assert row["status"] == "supported" and row["numbers"]["E"] < 1e-5, row["reason"]
    assert row["placement"]["effective_by_error"] == "fp32"


PRODUCTS = """
import sys
import numpy as np, onnx
text = '''g (float16[1,32] x) => (float16[1,8] y) {
  a = MatMul(x, first) b = Tanh(a) c = MatMul(b, second)
  n = LayerNormalization(c, ones) d = Gelu(n) y = MatMul(d, last) }'''
model = onnx.parser.parse_model('<ir_version: 9, opset_import: ["": 20]> ' + text)
generator = np.random.default_rng(0)
for name, sizes in (("first", (32, 64)), ("second", (64, 64)), ("last", (64, 8))):
    values = generator.normal(0, 0.2, sizes).astype("float16")
    model.graph.initializer.append(onnx.numpy_helper.from_array(values, name))
model.graph.initializer.append(onnx.numpy_helper.from_array(np.ones(64, "float16"), "ones"))
onnx.save(model, sys.argv[1])
"""


@pytest.mark.parametrize("precision", ["w8a8", "w8a8-dyn"])
def test_integers_that_float16_has_rounded_before_are_judged_by_their_noise(project: Project, precision: str) -> None:
    """In steps of float64's integers results of onnxruntime were a mismatch: float16 makes other ones of them."""
    project.write("test_models.py", EQUIVALENCE)
    path = write_file(project, Toolchains().ensure("onnxruntime"), PRODUCTS, "half.onnx")
    row = the_row(project.run("--compilers=onnxruntime", f"--precisions={precision}", f"--bench-onnx={path}"))
    assert row["status"] == "supported" and "by approximation" in row["flags"], row["reason"]
    assert row["numbers"]["short_of_own_db"] < 1.0


def test_a_file_of_float16_whose_weights_a_tool_rounds_keeps_its_row(project: Project) -> None:
    """By the row of fp32 MNN's Gelu was a mismatch, which it is not where the same file is compiled as it is."""
    project.write("test_models.py", EQUIVALENCE)
    path = write_file(project, Toolchains().ensure("onnxruntime"), PRODUCTS, "half.onnx")
    row = the_row(project.run("--compilers=mnn", "--precisions=w8", f"--bench-onnx={path}"))
    assert row["status"] == "supported", row["reason"]
    assert row["numbers"]["noise_E"] > 1e-4
