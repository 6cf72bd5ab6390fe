"""A compiler that computes wrongly with one operator, crashes with another, hangs with a third, refuses a fourth.

Everything else is right: onnx's reference evaluator runs the nodes one by one.
"""

from __future__ import annotations

import importlib
import os
import signal
import time
from collections.abc import Sequence
from typing import Any

from bench_plugin.agent import external
from bench_plugin.agent.adapter import Reply
from bench_plugin.agent.contract import CompileCall, RunCall
from bench_plugin.agent.toolkit import samples

ADAPTER = {
    "name": "broken",
    "kind": "compiler",
    "toolchain": "fake",
    "title": "Broken",
    "distribution": "broken",
    "operations": ["compile", "run"],
    "takes": ["onnx"],
    "precisions": {"fp32": ["original"]},
    "targets": ["local"],
    "options": {"softsign": ["right", "wrong"]},
}

REFUSED, CRASHES, HANGS = "Softmax", "Tanh", "Sigmoid"
PAIR = ["Neg", "Exp"]  # right one by one, wrong in a row: what a fusion does
FOREVER = 600.0


class Adapter:
    """Remembers nothing."""

    def versions(self) -> dict[str, str]:
        """A distribution that nobody installs."""
        return {"broken": "1.0"}

    def reset(self) -> None:
        """Nothing to forget."""

    def compile(self, call: CompileCall) -> Reply:
        """The file itself, unless it holds the operator that is refused."""
        onnx = importlib.import_module("onnx")
        call.stage("compile")
        graph = onnx.load(call.files["model.onnx"]).graph
        for node in graph.node:
            if node.op_type == REFUSED:
                raise ValueError(f"no pattern for {REFUSED} of node '{node.name}' with {len(graph.node)} nodes")
        files = external.artefact(call.files["model.onnx"], call.folder)
        return Reply({"effective": "fp32", "dynamic": True}, files=files)

    def run(self, call: RunCall) -> Reply:
        """Sample by sample, with a fault in Abs (and in Softsign, if asked): every result is a hundredth too large."""
        onnx = importlib.import_module("onnx")
        reference = importlib.import_module("onnx.reference")
        model = onnx.load(call.files["model.onnx"])
        call.stage("run")
        kinds = [node.op_type for node in model.graph.node]
        if CRASHES in kinds:
            os.kill(os.getpid(), signal.SIGSEGV)
        if HANGS in kinds:
            time.sleep(FOREVER)
        made = {node.output[0]: node.op_type for node in model.graph.node}
        wrong = {"Abs", "Softsign"} if call.option("softsign", "right") == "wrong" else {"Abs"}
        for node in list(model.graph.node):
            if node.op_type in wrong or [made.get(node.input[0]), node.op_type] == PAIR:
                _spoil(onnx, model.graph, node)
        evaluator = reference.ReferenceEvaluator(model)
        names = list(evaluator.input_names)
        given = call.inputs

        def run(xs: Sequence[Any]) -> list[Any]:
            return list(evaluator.run(None, dict(zip(names, xs, strict=False))))

        results = samples.one_by_one(run, [given[name] for name in names], call.batched)
        return samples.reply(call, results)


def _spoil(onnx: Any, graph: Any, node: Any) -> None:
    import numpy as np

    name = node.output[0]
    node.output[0] = f"{name}_right"
    graph.initializer.append(onnx.numpy_helper.from_array(np.float32(1.01), f"{name}_factor"))
    place = list(graph.node).index(node)
    graph.node.insert(place + 1, onnx.helper.make_node("Mul", [f"{name}_right", f"{name}_factor"], [name]))
