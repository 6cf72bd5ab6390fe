"""ONNX's evaluator drops what nothing takes any more, and computes what it computed before."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

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


def evaluated(python: Path) -> dict[str, Any]:
    done = subprocess.run(
        [str(python), "-c", SCRIPT], text=True, capture_output=True, timeout=120,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def test_results_that_nothing_takes_any_more_are_dropped(tools_python: Path) -> None:
    found = evaluated(tools_python)
    plain, *frugal = found["peaks"]
    assert plain > 40 and max(frugal) < 10
    assert found["same"] == [True, True, True]
    once = [*(f"r{place}" for place in range(40)), "i", "one", "unused", "y"]
    assert found["seen"] == 2 * once
