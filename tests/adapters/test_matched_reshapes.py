"""A factor and a summand behind a Reshape that a tool puts into the product in front of it (PointNet's T-Net)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.adapters.test_matched_constants import said

# A Gemm whose result is made a matrix, which is scaled and has the identity added. The artefact has one product and one
# bias, each 0.004 off. Prints how far the constants of the rebuilt file are from the file's, and their names there.
T_NET = """
import json, sys
import numpy as np, onnx
from bench_plugin.adapters.onnx_tools.matching.onnx_matching import Adapter
from bench_plugin.agent.arrays import from_numpy
from bench_plugin.agent.contract import MatchCall, Place
from onnx import numpy_helper

case, draw = sys.argv[1], np.random.default_rng(5)
text = {
    "matrix": "r = Reshape(g, shape) m = Mul(r, third) y = Add(m, eye)",
    "twice": "u = Unsqueeze(g, first) r = Reshape(u, shape) m = Mul(third, r) y = Add(eye, m)",
    "rows": "r = Reshape(g, shape) m = Mul(r, third) y = Add(m, row)",
}[case]
model = onnx.parser.parse_model(
    '<ir_version: 8, opset_import: ["": 17]> g (float[1,32] x) => (float[1,3,3] y) { g = Gemm<transB = 1>(x, w, b) %s }'
    % text
)
known = {"w": draw.normal(size=(9, 32)), "b": draw.normal(size=9), "third": np.array(0.3), "eye": np.eye(3)}
known = {name: values.astype("float32") for name, values in known.items()}
known |= {"shape": np.array([1, 3, 3]), "first": np.array([0]), "row": np.array([1, 2, 3], "float32")}
model.graph.initializer.extend(numpy_helper.from_array(values, name) for name, values in known.items())
onnx.save(model, "model.onnx")
added = np.tile([1, 2, 3], 3) if case == "rows" else np.eye(3).ravel()
found = {"product": 0.3 * known["w"] + 0.004, "bias": 0.3 * known["b"] + added + 0.004}
arrays = {f"fix:const:{name}": from_numpy(values) for name, values in found.items()}
arrays |= {f"fix:step:{name}": from_numpy(np.array([0.01])) for name in found}
call = MatchCall(names=tuple(found), weights={"product": "product", "bias": "product"})
reply = Adapter().match(call.at(Place(".", {"model.onnx": "model.onnx"}, arrays, lambda stage: None)))
stored = {one.name: numpy_helper.to_array(one) for one in onnx.load(reply.files["rebuilt.onnx"]).graph.initializer}
off = [float(np.abs(stored[name] - known[name]).max()) for name in ("w", "b")]
rows = reply.meta["matches"]
print(json.dumps([off, [row["tensor"] for row in rows], [row["steps"] for row in rows]]))
"""


def matched(python: Path, folder: Path, case: str) -> Any:
    """How far the product and the bias of the rebuilt file are off, the names in the file, and the steps."""
    return said(python, folder, T_NET, case)


@pytest.mark.parametrize("case", ["matrix", "twice"])
def test_what_is_behind_a_reshape_is_part_of_the_product(tools_python: Path, tmp_path: Path, case: str) -> None:
    off, names, steps = matched(tools_python, tmp_path, case)
    assert names == ["w", "b"] and steps == pytest.approx([0.4, 0.4], abs=1e-3)
    assert off[0] == pytest.approx(0.004 / 0.3, rel=1e-3)


def test_a_summand_of_fewer_elements_is_none_of_each_channel(tools_python: Path, tmp_path: Path) -> None:
    _, names, steps = matched(tools_python, tmp_path, "rows")
    assert names[0] == "w" and steps[0] == pytest.approx(0.4, abs=1e-3)
    assert names[1] != "b" or steps[1] > 1
