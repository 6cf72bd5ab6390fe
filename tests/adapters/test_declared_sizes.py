"""Sizes of inner tensors that prepared files declare: numbers of the source stay, names that it does not have go."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
# How many rows are taken is computed from a float, so that shape inference finds no numbers for them.
SCRIPT = r"""
import json, sys
sys.path.insert(0, sys.argv[1])
folder, graph, declared = sys.argv[2], sys.argv[3], sys.argv[4]
import numpy as np, onnx
from onnx import helper as h, numpy_helper as nh
from bench_plugin.adapters.onnx_tools import onnx_graphs
from bench_plugin.agent.arrays import from_numpy
from bench_plugin.agent.contract import Place, PrepareCall

rng = np.random.default_rng(0)
value = lambda name, *shape: h.make_tensor_value_info(name, 1, shape)
weight = lambda *shape: rng.standard_normal(shape).astype("float32")
weights = {"w": weight(6, 4), "v": weight(4, 3), "five": np.array(5.0, "float32"), "zero": np.array(0),
           "one": np.array(1)}
five = [h.make_node("Sub", ["x", "x"], ["none"]), h.make_node("ReduceMax", ["none"], ["nothing"], keepdims=0),
        h.make_node("Add", ["nothing", "five"], ["size"])] if declared == "output" else []
nodes = [h.make_node("MatMul", ["x", "w"], ["a"]), *five,
         h.make_node("Cast", ["size" if five else "five"], ["count"], to=7),
         h.make_node("Range", ["zero", "count", "one"], ["rows"]), h.make_node("Gather", ["a", "rows"], ["r"], axis=0),
         h.make_node("MatMul", ["r", "v"], ["y"]), h.make_node("Mul", ["y", "y"], ["s"]),
         h.make_node("ReduceMax", ["s"], ["t"], keepdims=0)]
inner = {"declared": [value("r", 5, 4)], "symbolic": [value("r", "n", 4)], "output": []}[declared]
made = h.make_graph(nodes, "g", [value("x", 7, 6)], [value("y", "m" if declared == "output" else 5, 3), value("t")],
                    [nh.from_array(values, name) for name, values in weights.items()], value_info=inner)
onnx.save(h.make_model(made, opset_imports=[h.make_opsetid("", 17)], ir_version=8), folder + "/m.onnx")
inputs = {"calib:x": from_numpy(rng.standard_normal((8, 7, 6)).astype("float32"))}
place = Place(folder, {"model.onnx": folder + "/m.onnx"}, inputs, lambda stage: None)
reply = onnx_graphs.Adapter().prepare(PrepareCall(graph=graph, batched=False).at(place))
found = onnx.load(reply.files["model.onnx"]).graph.value_info
sizes = lambda row: [dim.dim_param or dim.dim_value for dim in row.type.tensor_type.shape.dim]
json.dump({row.name: sizes(row) for row in found}, sys.stdout)
"""


def declared(python: Path, folder: Path, graph: str, source: str) -> dict[str, Any]:
    command = [str(python), "-c", SCRIPT, str(ROOT), str(folder), graph, source]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr
    rows: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return rows


@pytest.mark.parametrize("graph", ["fp16", "qdq"])
@pytest.mark.parametrize("source", ["declared", "symbolic", "output"])
def test_a_prepared_file_declares_no_sizes_under_new_names(
    tools_python: Path, tmp_path: Path, graph: str, source: str
) -> None:
    rows = declared(tools_python, tmp_path, graph, source)
    names = {size for sizes in rows.values() for size in sizes if isinstance(size, str)}
    assert names <= ({"n"} if source == "symbolic" else set()), rows


def test_what_the_source_declares_in_numbers_is_still_declared_in_float16(tools_python: Path, tmp_path: Path) -> None:
    assert declared(tools_python, tmp_path, "fp16", "declared")["r"] == [5, 4]
