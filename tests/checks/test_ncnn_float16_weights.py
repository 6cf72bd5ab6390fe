"""ncnn's w16: the weights that pnnx rounded are read back from its file and compared with those of the model."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bench_plugin.adapters.compilers import ncnn
from bench_plugin.reach.environments.toolchains import Toolchains
from tests.given_file import EQUIVALENCE, compiles, write_file
from tests.project import Project

# What pnnx rounds: the weights of a convolution with a norm, and both constants of a product. It does not round the row
# that is joined, what is added, or the norm of the rows. Three outputs are too few to read that from.
MAKE = """
import sys
import numpy as np, onnx
from onnx import helper as h, numpy_helper
rng = np.random.default_rng(7)
known = {"w": rng.normal(0, 0.3, (8, 3, 4, 4)), "b": rng.normal(0, 0.3, 8), "row": rng.normal(0, 1, (1, 1, 8)),
         "e": rng.normal(0, 1, (1, 17, 8)), "g": rng.uniform(0.5, 2, 8), "h": rng.normal(0, 0.3, 8),
         "m": rng.normal(0, 0.3, (8, 10)), "c": rng.normal(0, 0.3, 10), "last": rng.normal(0, 0.3, (10, 3)),
         "scale": rng.uniform(0.5, 2, 8), "shift": rng.normal(0, 0.3, 8), "mean": rng.normal(0, 0.3, 8),
         "variance": rng.uniform(0.5, 2, 8)}
known["w"][0, 0, 0] = [3e-5, -2e-6, 0, 7e-5]
known = {name: values.astype("float32") for name, values in known.items()} | {"size": np.array([1, 8, 16])}
nodes = [h.make_node("Conv", ["x", "w", "b"], ["a"], strides=[4, 4]),
         h.make_node("BatchNormalization", ["a", "scale", "shift", "mean", "variance"], ["n"]),
         h.make_node("Reshape", ["n", "size"], ["r"]), h.make_node("Transpose", ["r"], ["t"], perm=[0, 2, 1]),
         h.make_node("Concat", ["row", "t"], ["j"], axis=1), h.make_node("Add", ["j", "e"], ["s"]),
         h.make_node("LayerNormalization", ["s", "g", "h"], ["l"]), h.make_node("MatMul", ["l", "m"], ["p"]),
         h.make_node("Add", ["p", "c"], ["q"]), h.make_node("Tanh", ["q"], ["k"]),
         h.make_node("ReduceMean", ["k"], ["f"], axes=[1], keepdims=0), h.make_node("MatMul", ["f", "last"], ["y"])]
tensors = [numpy_helper.from_array(values, name) for name, values in known.items()]
graph = h.make_graph(nodes, "g", [h.make_tensor_value_info("x", 1, [1, 3, 16, 16])],
                     [h.make_tensor_value_info("y", 1, [1, 3])], tensors)
onnx.save(h.make_model(graph, opset_imports=[h.make_opsetid("", 17)], ir_version=8), sys.argv[1])
"""
# What a pnnx that writes another number for one element of the matrix or its bias would have written.
PLANT = """
        import numpy as np
        with open(weights, "rb") as file:
            content = file.read()
        rng = np.random.default_rng(7)
        for shape in ((8, 3, 4, 4), (8,), (1, 1, 8), (1, 17, 8)):
            rng.normal(0, 1, shape)
        rng.uniform(0.5, 2, 8), rng.normal(0, 0.3, 8)
        known = {"m": rng.normal(0, 0.3, (8, 10)).T, "c": rng.normal(0, 0.3, 10)}
        halves = np.ascontiguousarray(known["NAME"].astype("float32")).astype("float16")
        assert content.count(halves.tobytes()) == 1
        changed = halves.copy()
        changed.flat[3] = FACTOR * changed.flat[3]
        with open(weights, "wb") as file:
            file.write(content.replace(halves.tobytes(), changed.tobytes()))
"""


def run(project: Project, name: str = "", factor: float = 0.0) -> Mapping[str, Any]:
    """The row of w16 in ncnn; with a ``factor`` one element of a constant in its file is that many times as large."""
    project.write("test_models.py", EQUIVALENCE)
    path = write_file(project, Toolchains().ensure("onnxruntime"), MAKE, "net.onnx")
    compiler = "ncnn"
    if factor:
        compiler, source = (
            "planted",
            Path(ncnn.__file__).read_text("utf-8").replace('"name": "ncnn"', '"name": "planted"'),
        )
        call = "        net = self._opened_as_made(call, graph, weights, said)\n"
        assert source.count(call) == 1, "the place where the file is made"
        body = PLANT.replace("FACTOR", str(factor)).replace("NAME", name)
        compiles(project, project.write("planted.py", source.replace(call, body + call)))
    finished = project.run(f"--compilers={compiler}", "--precisions=w16", f"--bench-onnx={path}")
    (row,) = [row for row in finished.rows if row["kind"] == "cell"]
    return row


def test_the_weights_of_the_artefact_are_what_the_run_is_compared_with(project: Project) -> None:
    row = run(project)
    assert row["status"] == "supported", row["reason"]
    assert row["placement"]["rounded_as"] == "as the artefact has them"
    converter = row["numbers"]["converter"]
    assert converter["constants"] == converter["compared"] == 4, "the matrices, the bias and the convolution"
    assert 0.2 < converter["worst_steps"] <= 0.501 and row["numbers"]["needed"] <= 1


def test_a_number_that_is_none_of_its_roundings_is_a_mismatch(project: Project) -> None:
    row = run(project, "m", 1.004)
    assert row["status"] == "mismatch", row
    assert "converter: weight of " in row["reason"] and "from m of the file" in row["reason"]


def test_a_vector_that_equals_none_of_the_file_decides_nothing(project: Project) -> None:
    row = run(project, "c", 1.004)
    assert (row["status"], row["unverified"]) == ("unverified", "no reference"), row["reason"]
    assert "1 of 4 weights of the artefact cannot be put into the file" in row["flags"]
