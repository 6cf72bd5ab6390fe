"""Weights that lie at a tie of float16 may be rounded to either side by a tool that computes them in float32."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[2]
# One weight is a rounding of float32 above the middle of 1 and the next number of float16; "v" has five such weights.
SCRIPT = r"""
import json, sys
sys.path.insert(0, sys.argv[1])
import numpy as np, onnx
from onnx import helper as h, numpy_helper as nh
from bench_plugin.adapters.onnx_tools.rounding import onnx_constants, onnx_places

tie = np.nextafter(np.float32(1 + 2.0**-11), np.float32(2))
w = np.full((2, 3), 0.1, "float32")
w[1, 0] = tie
v = np.full((3, 3), 0.1, "float32")
v.flat[:5] = tie
nodes = [h.make_node("MatMul", ["x", "w"], ["a"]), h.make_node("MatMul", ["a", "v"], ["y"])]
value = lambda name, size: h.make_tensor_value_info(name, 1, ["n", size])
graph = h.make_graph(nodes, "g", [value("x", 2)], [value("y", 3)], [nh.from_array(w, "w"), nh.from_array(v, "v")])
model = h.make_model(graph, opset_imports=[h.make_opsetid("", 17)])
found = {}
for name in ("to_nearest", "towards_zero"):
    places = onnx_places.places(onnx, model, getattr(onnx_constants, name))
    found[name] = [place.name for place in places]
changed = onnx.ModelProto()
changed.CopyFrom(model)
for place in [onnx_places.places(onnx, model, onnx_constants.to_nearest)[index] for index in (0, 2)]:
    place.round(changed)
    found.setdefault("rounded", []).append(nh.to_array(changed.graph.initializer[0]).astype(float)[1].tolist())
json.dump(found, sys.stdout)
"""


def test_a_weight_at_a_tie_may_be_rounded_to_either_side(tools_python: Path) -> None:
    done = subprocess.run([str(tools_python), "-c", SCRIPT, str(ROOT)], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    tie = "element 3 of w on the other side of a tie"
    assert found["to_nearest"] == ["w", "v", tie], "of many ties none is a choice of its own"
    assert found["towards_zero"] == ["w", "v"], "what is cut off is the same on both sides"
    low = 0.0999755859375
    assert found["rounded"] == [[1 + 2.0**-10, low, low], [1.0, low, low]]


# A weight of 1 MiB, a thousand elements of which lie at a tie.
MANY = r"""
import sys, tracemalloc
sys.path.insert(0, sys.argv[1])
import numpy as np, onnx
from onnx import helper as h, numpy_helper as nh
from bench_plugin.adapters.onnx_tools.rounding import onnx_constants, onnx_places

w = np.full((512, 512), 0.1, "float32")
w.flat[:1000] = np.nextafter(np.float32(1 + 2.0**-11), np.float32(2))
value = lambda name: h.make_tensor_value_info(name, 1, ["n", 512])
node = h.make_node("MatMul", ["x", "w"], ["y"])
graph = h.make_graph([node], "g", [value("x")], [value("y")], [nh.from_array(w, "w")])
model = h.make_model(graph, opset_imports=[h.make_opsetid("", 17)])
tracemalloc.start()
places = onnx_places.places(onnx, model, onnx_constants.to_nearest)
print(len(places), tracemalloc.get_traced_memory()[1] // 2**20)
"""


def test_many_ties_of_a_large_weight_take_no_memory(tools_python: Path) -> None:
    done = subprocess.run([str(tools_python), "-c", MANY, str(ROOT)], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    count, peak = map(int, done.stdout.split())
    assert count == 1 and peak < 50, f"{peak} MiB"
