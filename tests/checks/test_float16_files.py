"""A file in float16 that a compiler computes in float32: the row says so by the error."""

from __future__ import annotations

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


DYNAMIC = """
import sys
import numpy as np, onnx
text = '''g (float16[1,32] x) => (float16[1,8] y) {
  a = MatMul(x, first) b = Tanh(a) c = MatMul(b, second) d = Tanh(c) y = MatMul(d, last) }'''
model = onnx.parser.parse_model('<ir_version: 8, opset_import: ["": 17]> ' + text)
generator = np.random.default_rng(0)
for name, sizes in (("first", (32, 64)), ("second", (64, 64)), ("last", (64, 8))):
    values = generator.normal(0, 0.2, sizes).astype("float16")
    model.graph.initializer.append(onnx.numpy_helper.from_array(values, name))
onnx.save(model, sys.argv[1])
"""


def test_integers_that_float16_has_rounded_before_are_judged_by_their_noise(project: Project) -> None:
    """In steps of float64's integers the result of onnxruntime was a mismatch: float16 makes other ones of them."""
    project.write("test_models.py", EQUIVALENCE)
    path = write_file(project, Toolchains().ensure("onnxruntime"), DYNAMIC, "half.onnx")
    row = the_row(project.run("--compilers=onnxruntime", "--precisions=w8a8-dyn", f"--bench-onnx={path}"))
    assert row["status"] == "supported" and "by approximation" in row["flags"], row["reason"]
    assert row["numbers"]["short_of_own_db"] < 1.0
