"""Weights that a tool rounded, in a model whose outputs float32 hardly tells apart."""

from __future__ import annotations

from bench_plugin.reach.environments.toolchains import Toolchains
from tests.given_file import EQUIVALENCE, the_row, write_file
from tests.project import Project

# Our own quantisation is symmetric and takes these weights nearly as they are; MNN's takes the smallest one for its
# lowest step, so that it has much more noise, which is no mistake. What is added makes all but the last digits of the
# output the same.
SCRIPT = """
import sys
import numpy as np, onnx
text = 'g (float[1,400] x) => (float[1,32] y) { m = MatMul(x, w) s = Mul(m, scale) y = Add(s, offset) }'
model = onnx.parser.parse_model('<ir_version: 8, opset_import: ["": 17]> ' + text)
generator = np.random.default_rng(int(sys.argv[2]))
weights = (generator.integers(-10, 11, (400, 32)) + generator.normal(0, 1e-3, (400, 32))) / 127
weights[0], weights[1] = 1, -1
constants = {"w": weights.astype("float32"), "scale": np.float32(OFFSET[0]), "offset": np.float32(OFFSET[1])}
model.graph.initializer.extend(onnx.numpy_helper.from_array(value, name) for name, value in constants.items())
onnx.save(model, sys.argv[1])
"""


def row_of(project: Project, scale: float, offset: float) -> dict[str, object]:
    project.write("test_models.py", EQUIVALENCE)
    script = SCRIPT.replace("OFFSET", repr((scale, offset)))
    path = write_file(project, Toolchains().ensure("onnxruntime"), script, "weights.onnx", 5)
    return the_row(project.run("--compilers=mnn", "--precisions=w8", f"--bench-onnx={path}"))


def test_what_its_own_weights_give_is_not_told_wrong_by_the_noise_of_ours(project: Project) -> None:
    row = row_of(project, 0.01, 80.0)
    assert (row["status"], row["unverified"]) == ("unverified", "ill-conditioned"), row["reason"]
    assert row["numbers"]["short_of_own_db"] > 6 and "by approximation" not in row["flags"]


def test_the_same_weights_are_right_where_float32_tells_the_outputs_apart(project: Project) -> None:
    row = row_of(project, 1.0, 0.0)
    assert row["status"] == "supported", row["reason"]
