"""A corpus of a few cases in place of ONNX's own; agents load this file by content."""

from __future__ import annotations

import importlib
import json
import os
from typing import Any

from bench_plugin.agent import packs
from bench_plugin.agent.adapter import Reply
from bench_plugin.agent.contract import Call, CollectCall, ConvertCall

ADAPTER = {
    "name": "onnx_corpus",
    "kind": "tool",
    "toolchain": "onnxruntime",
    "title": "A few cases",
    "distribution": "onnx",
    "operations": ["collect", "convert"],
}

# name -> operator, opset
CASES = {
    "test_abs": ("Abs", 13), "test_exp": ("Exp", 13), "test_neg": ("Neg", 13), "test_sqrt": ("Sqrt", 13),
    "test_relu": ("Relu", 14), "test_tanh": ("Tanh", 13), "test_new": ("Abs", 99), "test_string": ("Identity", 16),
    "test_sin": ("Sin", 13), "test_new_but_right": ("Atan", 99), "test_old": ("Cos", 6),
    "test_old_but_right": ("Abs", 6), "test_changed": ("Sinh", 13), "test_added": ("Cosh", 13),
    "test_memory": ("Ceil", 13), "test_last_bit": ("Log", 13), "test_lower": ("StringNormalizer", 10),
    "test_lost": ("StringConcat", 20),
}  # fmt: skip


class Adapter:
    """Makes one-node models."""

    def versions(self) -> dict[str, str]:
        """None."""
        return {}

    def reset(self) -> None:
        """Nothing is kept."""

    def collect(self, call: CollectCall) -> Reply:
        """Every case; how often this was called is written where the tests look for it."""
        call.stage("build")
        with open(os.environ["FAKE_CALLS"], "a") as log:
            log.write("collect\n")
        return _written(call, CASES, 0)

    def convert(self, call: ConvertCall) -> Reply:
        """The named cases at the wanted opset."""
        call.stage("build")
        return _written(call, {name: CASES[name] for name in call.cases}, call.opset)


def _written(call: Call, cases: dict[str, tuple[str, int]], opset: int) -> Reply:
    index, data = call.path("cases.json"), call.path("cases.bin")
    rows = {}
    with open(data, "wb") as file:
        writer = packs.Writer(file)
        for name, (operator, own) in cases.items():
            rows[name] = _case(writer, operator, opset or own)
    with open(index, "w") as file:
        json.dump(rows, file)
    return Reply({"cases": len(rows)}, files={"cases.json": index, "cases.bin": data})


def _case(writer: packs.Writer, operator: str, opset: int) -> dict[str, Any]:
    import numpy as np

    onnx = importlib.import_module("onnx")
    string = operator in ("Identity", "StringNormalizer", "StringConcat")
    element = onnx.TensorProto.STRING if string else onnx.TensorProto.FLOAT
    ports = [onnx.helper.make_tensor_value_info(name, element, [4]) for name in "xy"]
    graph = onnx.helper.make_graph([onnx.helper.make_node(operator, ["x"], ["y"])], "g", ports[:1], ports[1:])
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", min(opset, 21))], ir_version=8)
    x = np.array(["a", "b", "c", "d"], dtype=object) if string else np.array([0.5, 1.0, 2.0, 3.0], dtype=np.float32)
    functions = {"Abs": abs, "Exp": np.exp, "Neg": np.negative, "Sqrt": np.sqrt, "Relu": abs, "Tanh": np.tanh,
                 "Sin": np.sin, "Atan": np.arctan, "Cos": np.cos, "Sinh": np.sinh, "Cosh": np.cosh, "Ceil": np.ceil,
                 "Log": np.log}  # fmt: skip
    y = x if string else functions[operator](x)
    port = {"type": "tensor", "dtype": "str" if string else "float32", "shape": [4]}
    return {
        "category": "node", "operators": [operator], "nodes": 1, "functions": 0, "ir": 8, "opsets": {"ai.onnx": opset},
        "inputs": [{"name": "x", **port}], "outputs": [{"name": "y", **port}], "rtol": 1e-3, "atol": 1e-7,
        "model": writer.add_bytes(model.SerializeToString()), "sets": [[[writer.add(x)], [writer.add(y)]]],
    }  # fmt: skip
