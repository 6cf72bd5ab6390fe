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


# Blocks of a ConvNeXt.
BLOCKS = """
import sys
import numpy as np, onnx
blocks, generator = 3, np.random.default_rng(0)
lines = ["v0 = Conv(x, stem)"]
for n in range(blocks):
    lines.append(f"c{n} = Conv<group = 16, pads = [1, 1, 1, 1]>(v{n}, deep{n})")
    lines.append(f"t{n} = Transpose<perm = [0, 2, 3, 1]>(c{n})")
    lines.append(f"n{n} = LayerNormalization(t{n}, ones) w{n} = MatMul(n{n}, wide{n}) g{n} = Gelu(w{n})")
    lines.append(f"b{n} = MatMul(g{n}, back{n}) p{n} = Transpose<perm = [0, 3, 1, 2]>(b{n})")
    lines.append(f"v{n + 1} = Add(v{n}, p{n})")
lines.append(f"m = GlobalAveragePool(v{blocks}) f = Flatten(m) y = MatMul(f, last)")
text = "g (float16[1,3,8,8] x) => (float16[1,8] y) {%s}" % " ".join(lines)
model = onnx.parser.parse_model('<ir_version: 9, opset_import: ["": 20]> ' + text)
shapes = {"stem": (16, 3, 1, 1), "last": (16, 8)}
for n in range(blocks):
    shapes |= {f"deep{n}": (16, 1, 3, 3), f"wide{n}": (16, 64), f"back{n}": (64, 16)}
for name, sizes in shapes.items():
    values = generator.normal(0, 0.3, sizes).astype("float16")
    model.graph.initializer.append(onnx.numpy_helper.from_array(values, name))
model.graph.initializer.append(onnx.numpy_helper.from_array(np.ones(16, "float16"), "ones"))
onnx.save(model, sys.argv[1])
"""


@pytest.mark.parametrize("precision", ["w8a8", "w8a8-dyn"])
def test_integers_that_float16_has_rounded_before_are_judged_by_their_noise(project: Project, precision: str) -> None:
    """In steps of float64's integers results of onnxruntime were a mismatch: float16 makes other ones of them."""
    project.write("test_models.py", EQUIVALENCE)
    path = write_file(project, Toolchains().ensure("onnxruntime"), BLOCKS, "half.onnx")
    row = the_row(project.run("--compilers=onnxruntime", f"--precisions={precision}", f"--bench-onnx={path}"))
    assert row["status"] == "supported" and "by approximation" in row["flags"], row["reason"]
    assert row["numbers"]["short_of_own_db"] < 1.0


def test_a_file_of_float16_whose_weights_a_tool_rounds_keeps_its_row(project: Project) -> None:
    """By the row of fp32 MNN's Gelu was a mismatch, which it is not where the same file is compiled as it is."""
    project.write("test_models.py", EQUIVALENCE)
    path = write_file(project, Toolchains().ensure("onnxruntime"), BLOCKS, "half.onnx")
    row = the_row(project.run("--compilers=mnn", "--precisions=w8", f"--bench-onnx={path}"))
    assert row["status"] == "supported", row["reason"]
    assert row["numbers"]["noise_E"] > 1e-4


# A network of float32 with one layer in float16.
MIXED = """
import sys
import numpy as np, onnx
text = '''g (float[1,3,9,9] x) => (float[1,8] y) {
  a = Conv(x, first) b = Relu(a) h = Cast<to = 10>(b) c = Conv(h, second) d = Cast<to = 1>(c) e = Relu(d)
  f = Conv(e, third) m = GlobalAveragePool(f) y = Flatten(m) }'''
model = onnx.parser.parse_model('<ir_version: 8, opset_import: ["": 17]> ' + text)
generator = np.random.default_rng(0)
for name, sizes, kind in (("first", (8, 3, 3, 3), "f4"), ("second", (8, 8, 3, 3), "f2"), ("third", (8, 8, 3, 3), "f4")):
    values = generator.normal(0, 0.3, sizes).astype(kind)
    model.graph.initializer.append(onnx.numpy_helper.from_array(values, name))
onnx.save(model, sys.argv[1])
"""


def test_one_layer_in_float16_is_no_noise_of_the_others(project: Project) -> None:
    project.write("test_models.py", EQUIVALENCE)
    path = write_file(project, Toolchains().ensure("onnxruntime"), MIXED, "mixed.onnx")
    finished = project.run("--compilers=onnxruntime,emx", "--precisions=fp32,w16,fp16", f"--bench-onnx={path}")
    rows = [row for row in finished.rows if row["kind"] == "cell"]
    assert {row["status"] for row in rows} == {"supported"}
    noise = {row["cell"]["precision"]: row["numbers"]["noise_E"] for row in rows}
    assert noise["fp32"] == noise["w16"] < 0.7 * noise["fp16"], noise
    assert all(row["numbers"]["E"] < 3 * noise["fp32"] for row in rows if row["cell"]["precision"] != "fp16")


# Two products in float16 between casts.
CAST = """
import sys
import numpy as np, onnx
text = 'g (float[1,16] x) => (float[1,8] y) { h = Cast <to = 10> (x) u = MatMul(h, w) b = Add(u, k) t = Relu(b) '
text += 'v = MatMul(t, z) y = Cast <to = 1> (v) }'
model = onnx.parser.parse_model('<ir_version: 8, opset_import: ["": 17]> ' + text)
rng = np.random.default_rng(0)
known = {"w": rng.normal(0, 0.3, (16, 32)), "k": rng.normal(0, 0.1, 32), "z": rng.normal(0, 0.2, (32, 8))}
model.graph.initializer.extend(onnx.numpy_helper.from_array(x.astype("float16"), name) for name, x in known.items())
onnx.save(model, sys.argv[1])
"""


def test_what_a_tool_keeps_in_float32_is_not_read_back_in_float16(project: Project) -> None:
    """OpenVINO computes such a file in float32: its scales times integers are not rounded to float16."""
    project.write("test_models.py", EQUIVALENCE)
    path = write_file(project, Toolchains().ensure("onnxruntime"), CAST, "half.onnx")
    row = the_row(project.run("--compilers=openvino", "--precisions=w8a8", f"--bench-onnx={path}", "-k", "own"))
    assert row["status"] == "supported", row["reason"]
    layers = {one["name"]: one for one in row["numbers"]["per_layer"]}
    assert layers["Relu 4"]["within"] == 1 and layers["Convert 0"]["E"] < 1e-6, layers
