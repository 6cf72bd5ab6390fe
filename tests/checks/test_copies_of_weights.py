"""Weights that a file reads under several names, as exporters write those of an unrolled loop: an Identity of each."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bench_plugin.adapters.compilers import mnn
from bench_plugin.reach.environments.toolchains import Toolchains
from tests.given_file import EQUIVALENCE, compiles, the_row, write_file
from tests.project import Project

# A recurrent layer over six steps. Of so many copies MNN rounds none, but what the product with the weights reads.
MAKE = """
import sys
import numpy as np, onnx
kind = sys.argv[2]
text = 'unrolled (float[1,32] x) => (float[1,32] y) { a0 = MatMul(x, u) h0 = Tanh(a0) '
for step in range(1, 6):
    text += f'u{step} = Identity(u) s{step} = Add(h{step - 1}, x) a{step} = MatMul(s{step}, u{step}) '
    scaled = kind == "wrong" and step == 5
    text += f'b{step} = Mul(a{step}, k) h{step} = Tanh(b{step}) ' if scaled else f'h{step} = Tanh(a{step}) '
model = onnx.parser.parse_model('<ir_version: 8, opset_import: ["": 17]> ' + text + 'y = Identity(h5) }')
weights = np.random.default_rng(3).normal(0, 0.2, (32, 32)).astype("float32")
model.graph.initializer.append(onnx.numpy_helper.from_array(weights, "u"))
if kind == "wrong":
    model.graph.initializer.append(onnx.numpy_helper.from_array(np.array([1.01], "float32"), "k"))
onnx.save(model, sys.argv[1])
"""


def run(project: Project, compiler: str = "mnn") -> Mapping[str, Any]:
    path = write_file(project, Toolchains().ensure("onnxruntime"), MAKE, "unrolled.onnx", "right")
    return the_row(project.run(f"--compilers={compiler}", "--precisions=w8", f"--bench-onnx={path}"))


def test_a_tool_may_round_a_weight_and_not_its_copies(project: Project) -> None:
    project.write("test_models.py", EQUIVALENCE)
    row = run(project)
    assert row["status"] == "supported", row["reason"]
    assert row["numbers"]["converter"]["constants"] == 1 and row["numbers"]["needed"] <= 1
    (said,) = [flag for flag in row["flags"] if "has a copy of it" in flag]
    assert said == "u: rounded where it is read by this name, and not where the file has a copy of it"


def test_a_wrong_step_fits_neither_way_of_rounding(project: Project) -> None:
    """A converter that is given another file, whose last step is one hundredth larger."""
    other = write_file(project, Toolchains().ensure("onnxruntime"), MAKE, "wrong.onnx", "wrong")
    source = Path(mnn.__file__).read_text("utf-8").replace('"name": "mnn"', '"name": "planted"')
    taken = 'files = ["--modelFile", call.files["model.onnx"], '
    assert source.count(taken) == 1, "the place where the file is given"
    compiles(project, project.write("planted.py", source.replace(taken, f'files = ["--modelFile", {str(other)!r}, ')))
    row = run(project, "planted")
    assert row["status"] == "mismatch", row["reason"]
    assert not [flag for flag in row["flags"] if "has a copy of it" in flag]
