"""Drawn graphs as ONNX: made of plain data, checked, and evaluated for what they should give."""

from __future__ import annotations

import importlib
import importlib.metadata
import json
import os
from collections.abc import Mapping
from typing import Any

from bench_plugin.agent import packs
from bench_plugin.agent.adapter import Call, Reply
from bench_plugin.agent.arrays import to_numpy

ADAPTER = {
    "name": "onnx_build",
    "kind": "tool",
    "toolchain": "onnxruntime",
    "title": "Drawn ONNX graphs",
    "distribution": "onnx",
    "operations": ["build"],
    "uses": ["onnx_truths"],
}

NAME = "drawn"


class Adapter:
    """Remembers nothing between calls."""

    def versions(self) -> dict[str, str]:
        """Versions of the distributions that take part."""
        return {"onnx": importlib.metadata.version("onnx")}

    def reset(self) -> None:
        """Nothing is kept."""

    def build(self, call: Call) -> Reply:
        """A case as ONNX's backend tests are kept (``cases.*``), and its float64 truth (``truths.*``).

        ``meta["graph"]``: nodes, sources and outputs; arrays ``in:<name>``: values of the sources; ``meta["need"]``:
        what the operator's rule has to know. ``objection`` in the reply's metadata: why the graph is not a valid one,
        or not what it says. ``silent``: why the reference evaluator gives nothing for it.
        """
        call.stage("build")
        onnx = importlib.import_module("onnx")
        plain: Any = call.meta["graph"]
        values = {name[3:]: to_numpy(array) for name, array in call.arrays.items()}
        model = _model(onnx, plain, values)
        content = model.SerializeToString()
        try:
            onnx.checker.check_model(model, full_check=True)
        except Exception as error:  # what the checker and shape inference raise has no common class
            return Reply({"objection": _line(error)}, files=_saved(call, content))
        given = [values[row["name"]] for row in plain["sources"] if not row["constant"]]
        try:
            found = _evaluated(onnx, model, plain, values)
        except Exception as error:
            return Reply({"silent": _line(error)}, files=_saved(call, content))
        for row, value in zip(plain["outputs"], found):
            if value.dtype.name != row["dtype"] or list(value.shape) != row["shape"]:
                text = "%s is %s%s, declared %s%s"
                said = text % (row["name"], value.dtype.name, list(value.shape), row["dtype"], row["shape"])
                return Reply({"silent": said}, files=_saved(call, content))  # shape inference agrees with the drawing
        files = {name: os.path.join(call.folder, name) for name in ("cases.json", "cases.bin")}
        with open(files["cases.bin"], "wb") as file:
            writer = packs.Writer(file)
            case = {
                "category": "node", "operators": sorted({node["operator"] for node in plain["nodes"]}),
                "nodes": len(plain["nodes"]), "ir": plain["ir"], "opsets": {"ai.onnx": plain["opset"]}, "rtol": 1e-3,
                "atol": 1e-7, "inputs": [_described(row) for row in plain["sources"] if not row["constant"]],
                "outputs": [_described(row) for row in plain["outputs"]], "model": writer.add_bytes(content),
                "sets": [[[writer.add(value) for value in part] for part in (given, found)]],
            }  # fmt: skip
        with open(files["cases.json"], "w", encoding="utf-8") as file:
            json.dump({NAME: case}, file)
        files.update(_saved(call, content))
        if not call.meta["need"]:
            return Reply({}, files=files)
        truths = importlib.import_module("bench_adapter_onnx_truths").Adapter()
        asked = Call("evaluate", {"needs": {NAME: call.meta["need"]}}, {}, files, call.folder, call.stage)
        return Reply({}, files={**files, **truths.evaluate(asked).files})


def _saved(call: Call, content: bytes) -> dict[str, str]:
    path = os.path.join(call.folder, "model.onnx")
    with open(path, "wb") as file:
        file.write(content)
    return {"model.onnx": path}


def _model(onnx: Any, plain: Mapping[str, Any], values: Mapping[str, Any]) -> Any:
    helper = onnx.helper
    nodes = [
        helper.make_node(row["operator"], row["inputs"], row["outputs"], **row["attributes"]) for row in plain["nodes"]
    ]
    inputs = [_port(helper, row) for row in plain["sources"] if not row["constant"]]
    outputs = [_port(helper, row) for row in plain["outputs"]]
    constants = [
        onnx.numpy_helper.from_array(values[row["name"]], row["name"]) for row in plain["sources"] if row["constant"]
    ]
    graph = helper.make_graph(nodes, NAME, inputs, outputs, constants)
    opsets = [helper.make_opsetid("", plain["opset"])]
    return helper.make_model(graph, opset_imports=opsets, ir_version=plain["ir"])


def _port(helper: Any, row: Mapping[str, Any]) -> Any:
    import numpy as np

    kind = helper.np_dtype_to_tensor_dtype(np.dtype(row["dtype"]))
    return helper.make_tensor_value_info(row["name"], kind, row["shape"])


def _described(row: Mapping[str, Any]) -> dict[str, Any]:
    return {"name": row["name"], "dtype": row["dtype"], "shape": row["shape"], "layout": ""}


def _evaluated(onnx: Any, model: Any, plain: Mapping[str, Any], values: Mapping[str, Any]) -> list[Any]:
    """The outputs by onnx's own evaluator, float32 as float32, whatever numpy makes of operators in between."""
    import numpy as np

    operators = importlib.import_module("bench_adapter_onnx_operators").exact_operators(onnx)
    evaluator = importlib.import_module("onnx.reference").ReferenceEvaluator(model, new_ops=operators)
    given = {row["name"]: values[row["name"]] for row in plain["sources"] if not row["constant"]}
    with np.errstate(all="ignore"):
        found = [np.asarray(value) for value in evaluator.run(None, given)]
    return [_narrowed(value, row["dtype"]) for value, row in zip(found, plain["outputs"])]


def _narrowed(value: Any, dtype: str) -> Any:
    return value.astype(dtype) if value.dtype.name == "float64" and dtype == "float32" else value


def _line(error: BaseException) -> str:
    text = str(error).strip() or type(error).__name__
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return "%s: %s" % (type(error).__name__, " ".join(lines)[:300])
