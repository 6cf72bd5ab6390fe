"""Evaluations of ONNX files take the memory that they need, and compute what they computed before."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.docs.fences import ROOT

# A chain of 40 results of 1 MiB, whose first is taken by the branch of an If and by its last node.
SCRIPT = """
import json, tracemalloc
import numpy as np, onnx
from bench_plugin.adapters.onnx_tools.shared import onnx_memory
from onnx import helper as h
from onnx.reference import ReferenceEvaluator

value = lambda name, *shape: h.make_tensor_value_info(name, 11, shape)
branch = lambda name: h.make_graph([h.make_node("Add", ["r0", name], ["z"])], "b", [], [value("z", "n")])
nodes = [h.make_node("Mul", ["x" if place == 0 else f"r{place - 1}", "half"], [f"r{place}"]) for place in range(40)]
nodes += [h.make_node("If", ["yes"], ["i"], then_branch=branch("r39"), else_branch=branch("r20")),
          h.make_node("Split", ["i"], ["one", "unused"], num_outputs=2),
          h.make_node("Concat", ["one", "r0"], ["y"], axis=0)]
graph = h.make_graph(nodes, "g", [value("x", "n")], [value("y", "m"), value("r7", "n"), value("x", "n")],
                     [onnx.numpy_helper.from_array(np.array(0.5), "half"),
                      onnx.numpy_helper.from_array(np.array(True), "yes")])
model = h.make_model(graph, opset_imports=[h.make_opsetid("", 18)], ir_version=8)
x = np.arange(131072.0)
plain, seen = ReferenceEvaluator(model), []
frugal = onnx_memory.frugal(ReferenceEvaluator(model), lambda name, value: seen.append(name))
peaks, outputs = [], []
for evaluator in (plain, frugal, frugal):
    tracemalloc.start()
    outputs.append(evaluator.run(None, {"x": x}))
    peaks.append(tracemalloc.get_traced_memory()[1] / 2**20)
    tracemalloc.stop()
same = [all(np.array_equal(a, b) for a, b in zip(outputs[0], one, strict=True)) for one in outputs]
print(json.dumps({"peaks": peaks, "same": same, "seen": seen}))
"""


def printed(python: Path, script: str, *arguments: str, folder: Path = ROOT) -> dict[str, Any]:
    done = subprocess.run(
        [str(python), "-c", script, *arguments], text=True, capture_output=True, timeout=120, cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def test_results_that_nothing_takes_any_more_are_dropped(tools_python: Path) -> None:
    found = printed(tools_python, SCRIPT)
    plain, *frugal = found["peaks"]
    assert plain > 40 and max(frugal) < 10
    assert found["same"] == [True, True, True]
    once = [*(f"r{place}" for place in range(40)), "i", "one", "unused", "y"]
    assert found["seen"] == 2 * once


# A weight of 32 MiB, in the file or beside it, and a small one. What is not the evaluation is measured before it.
EMULATE = """
import hashlib, json, resource, sys
import numpy as np, onnx, onnx.reference
from onnx import helper as h
from bench_plugin.adapters.onnx_tools import onnx_operators
from bench_plugin.adapters.onnx_tools.onnx_emulate import Adapter
from bench_plugin.adapters.onnx_tools.shared.onnx_formats import ROUNDINGS
from bench_plugin.agent.arrays import from_numpy, to_numpy
from bench_plugin.agent.contract import EmulateCall, Place

rng = np.random.default_rng(0)
large, small = (rng.normal(0, 0.02, shape).astype("float32") for shape in ((2048, 4096), (4096, 4)))
value = lambda name, size: h.make_tensor_value_info(name, 1, ["n", size])
graph = h.make_graph([h.make_node("MatMul", ["x", "large"], ["h"]), h.make_node("MatMul", ["h", "small"], ["y"])], "g",
                     [value("x", 2048)], [value("y", 4)],
                     [onnx.numpy_helper.from_array(large, "large"), onnx.numpy_helper.from_array(small, "small")])
model = h.make_model(graph, opset_imports=[h.make_opsetid("", 17)], ir_version=8)
beside = {"save_as_external_data": True, "location": "weights.bin"} if sys.argv[1] == "beside" else {}
onnx.save(model, "model.onnx", **beside)
x = rng.standard_normal((2, 2048)).astype("float32")
onnx_operators.fast_operators(onnx)
del model, graph
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
place = Place(".", {"model.onnx": "model.onnx"}, {"in:x": from_numpy(x)}, lambda stage: None)
reply = Adapter().emulate(EmulateCall(samples=2, batched=True, sums="").at(place))
after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
right, exact = [], x.astype("float64") @ large @ small
near = lambda y, truth: bool(np.allclose(y, truth, rtol=0, atol=1e-5 * np.abs(truth).max()))
for name, weights in {"w16": "float16", "wbf16": "bfloat16"}.items():
    y = x.astype("float64") @ ROUNDINGS[weights](large) @ ROUNDINGS[weights](small)
    right.append(near(to_numpy(reply.arrays[name + ":out0"]), y))
exact = near(to_numpy(reply.arrays["w16:out0"]), exact)
print(json.dumps({"mib": (after - before) / 1024, "right": right, "exact": exact}))
"""


@pytest.mark.parametrize("place", ["within", "beside"])
def test_large_weights_are_held_once_while_a_precision_is_emulated(
    tools_python: Path, tmp_path: Path, place: str
) -> None:
    found = printed(tools_python, EMULATE, place, folder=tmp_path)
    assert found["mib"] < 14 * 32  # it was 7 times the weight here, and 30 times when the message held it in float64
    assert found["right"] == [True, True] and found["exact"] is False
