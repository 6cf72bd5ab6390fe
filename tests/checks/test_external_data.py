"""ONNX files whose weights lie beside them: small ones always, one of more than 2 GiB with ``--nightly``."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from bench_plugin.reach.environments.toolchains import Toolchains
from tests.given_file import EQUIVALENCE, write_file
from tests.project import Project

# A chain of layers that widen and narrow; their weights are written in pieces, seeded by the place.
MAKE = """
import sys
import numpy as np, onnx
from onnx import helper as h
path, narrow, wide, layers, seed = sys.argv[1], *map(int, sys.argv[2:])
rng = np.random.default_rng(seed)
nodes, weights, name, offset = [], [], "x", 0
with open(path.replace(".onnx", ".weights"), "wb") as file:
    for layer in range(layers):
        rows, columns = (narrow, wide) if layer % 2 == 0 else (wide, narrow)
        for start in range(0, rows, 256):
            piece = rng.standard_normal((min(256, rows - start), columns), dtype=np.float32) * np.sqrt(2 / rows)
            file.write(piece.astype(np.float32).tobytes())
        tensor = onnx.TensorProto(name=f"w{layer}", data_type=1, dims=[rows, columns], data_location=1)
        length = rows * columns * 4
        for key, value in (("location", path.rpartition("/")[2].replace(".onnx", ".weights")), ("offset", offset),
                           ("length", length)):
            tensor.external_data.add(key=key, value=str(value))
        offset += length
        weights.append(tensor)
        nodes.append(h.make_node("MatMul", [name, f"w{layer}"], [f"m{layer}"]))
        name = f"m{layer}"
        if layer < layers - 1:
            nodes.append(h.make_node("Relu", [name], [f"r{layer}"]))
            name = f"r{layer}"
value = lambda name: h.make_tensor_value_info(name, 1, [1, narrow])
graph = h.make_graph(nodes, "g", [value("x")], [value(name)], weights)
onnx.save(h.make_model(graph, opset_imports=[h.make_opsetid("", 17)], ir_version=8), path)
"""
GIB = 2**30


@pytest.fixture
def given(project: Project) -> Project:
    """A project that compiles given files with onnxruntime."""
    project.write("test_models.py", EQUIVALENCE)
    return project


def make(
    project: Project, name: str = "chain.onnx", *, narrow: int = 16, wide: int = 64, layers: int = 2, seed: int = 0
) -> Path:
    return write_file(project, Toolchains().ensure("onnxruntime"), MAKE, name, narrow, wide, layers, seed)


def verify(project: Project, path: Path, *more: str, seconds: float = 120) -> Mapping[str, Any]:
    process = project.start("--compilers=onnxruntime", "--precisions=fp32", f"--bench-onnx={path}", *more)
    text, _ = process.communicate(timeout=seconds)
    rows = [row for row in project.rows() if row["kind"] == "cell"]
    assert len(rows) == 1, text
    return rows[0]


def test_weights_beside_the_file_go_where_the_artefact_goes(given: Project) -> None:
    row = verify(given, make(given))
    assert row["status"] == "supported", row["reason"]
    assert row["artefacts"]["external/chain.weights"]["bytes"] == 2 * 16 * 64 * 4


def test_other_weights_are_another_model(given: Project) -> None:
    first = verify(given, make(given))
    again = verify(given, given.folder / "chain.onnx")
    other = verify(given, make(given, seed=1))
    assert first["key"] == again["key"] != other["key"]
    assert first["numbers"]["E"] == again["numbers"]["E"] != other["numbers"]["E"]
    assert other["status"] == "supported", other["reason"]


def test_a_location_outside_of_the_folder_is_an_invalid_model(given: Project) -> None:
    path = make(given)
    data = path.read_bytes()
    path.write_bytes(data.replace(b"chain.weights", b"../in.weights"))
    row = verify(given, path)
    assert (row["status"], row["stage"], row["symptom"]) == ("ERROR", "check", "invalid-model")
    assert "'../in.weights', which is not below the model's folder" in row["reason"]


@pytest.mark.nightly
def test_more_than_2_gib_of_weights(given: Project) -> None:
    path = make(given, "large.onnx", narrow=1024, wide=65536, layers=10)
    assert path.with_suffix(".weights").stat().st_size > 2 * GIB
    row = verify(given, path, seconds=900)
    assert row["status"] == "supported", row["reason"]
    assert row["artefacts"]["external/large.weights"]["bytes"] > 2 * GIB
