"""Generated graphs as ONNX: made of plain data, checked, and evaluated for what they should give."""

from __future__ import annotations

import importlib
import json
from collections.abc import Mapping
from typing import Any

from bench_plugin.adapters.onnx_tools import onnx_operators, onnx_truths
from bench_plugin.agent import packs
from bench_plugin.agent.adapter import Reply
from bench_plugin.agent.contract import BuildGraphCall, EvaluateCasesCall, GeneratedGraph, GeneratedSource, Place, Port
from bench_plugin.agent.toolkit import versions

ADAPTER = {
    "name": "onnx_build",
    "kind": "tool",
    "toolchain": "onnxruntime",
    "title": "Generated ONNX graphs",
    "distribution": "onnx",
    "operations": ["build"],
    "uses": ["onnx_operators", "onnx_truths"],
}

NAME = "drawn"


class Adapter:
    """Remembers nothing between calls."""

    def versions(self) -> dict[str, str]:
        """Versions of the distributions that take part."""
        return versions.installed("onnx")

    def reset(self) -> None:
        """Nothing is kept."""

    def build(self, call: BuildGraphCall) -> Reply:
        """A case as ONNX's backend tests are kept (``cases.*``), and its float64 reference (``truths.*``).

        ``objection`` in the reply's metadata: why the graph is not a valid one,
        or not what it says. ``silent``: why the reference evaluator gives nothing for it.
        """
        call.stage("build")
        onnx = importlib.import_module("onnx")
        graph, values = call.graph, call.inputs
        inputs = [source for source in graph.sources if not source.constant]
        model = _model(onnx, graph, values)
        content = model.SerializeToString()
        try:
            onnx.checker.check_model(model, full_check=True)
        except Exception as error:  # what the checker and shape inference raise has no common class
            return Reply({"objection": _line(error)}, files=_saved(call, content))
        given = [values[source.name] for source in inputs]
        try:
            found = _evaluated(onnx, model, graph, values)
        except Exception as error:
            return Reply({"silent": _line(error)}, files=_saved(call, content))
        for port, value in zip(graph.outputs, found):
            if value.dtype.name != port.dtype or value.shape != port.shape:
                text = "%s is %s%s, declared %s%s"
                said = text % (port.name, value.dtype.name, list(value.shape), port.dtype, list(port.shape))
                return Reply({"silent": said}, files=_saved(call, content))  # shape inference agrees with the drawing
        files = {name: call.path(name) for name in ("cases.json", "cases.bin")}
        with open(files["cases.bin"], "wb") as file:
            writer = packs.Writer(file)
            case = {
                "category": "node", "operators": sorted({node.operator for node in graph.nodes}),
                "nodes": len(graph.nodes), "ir": graph.ir, "opsets": {"ai.onnx": graph.opset}, "rtol": 1e-3,
                "atol": 1e-7, "inputs": [_described(source) for source in inputs],
                "outputs": [_described(port) for port in graph.outputs], "model": writer.add_bytes(content),
                "sets": [[[writer.add(value) for value in part] for part in (given, found)]],
            }  # fmt: skip
        with open(files["cases.json"], "w", encoding="utf-8") as file:
            json.dump({NAME: case}, file)
        files.update(_saved(call, content))
        if not call.need:
            return Reply({}, files=files)
        place = Place(call.folder, files, {}, call.stage)
        references = onnx_truths.Adapter().evaluate(EvaluateCasesCall({NAME: call.need}).at(place))
        return Reply({}, files={**files, **references.files})


def _saved(call: BuildGraphCall, content: bytes) -> dict[str, str]:
    path = call.path("model.onnx")
    with open(path, "wb") as file:
        file.write(content)
    return {"model.onnx": path}


def _model(onnx: Any, graph: GeneratedGraph, values: Mapping[str, Any]) -> Any:
    helper = onnx.helper
    nodes = [helper.make_node(node.operator, node.inputs, node.outputs, **node.attributes) for node in graph.nodes]
    inputs = [_value_info(helper, source) for source in graph.sources if not source.constant]
    outputs = [_value_info(helper, port) for port in graph.outputs]
    constants = [
        onnx.numpy_helper.from_array(values[source.name], source.name) for source in graph.sources if source.constant
    ]
    made = helper.make_graph(nodes, NAME, inputs, outputs, constants)
    return helper.make_model(made, opset_imports=[helper.make_opsetid("", graph.opset)], ir_version=graph.ir)


def _value_info(helper: Any, port: Port | GeneratedSource) -> Any:
    import numpy as np

    kind = helper.np_dtype_to_tensor_dtype(np.dtype(port.dtype))
    return helper.make_tensor_value_info(port.name, kind, port.shape)


def _described(port: Port | GeneratedSource) -> dict[str, Any]:
    return {"name": port.name, "dtype": port.dtype, "shape": list(port.shape), "layout": ""}


def _evaluated(onnx: Any, model: Any, graph: GeneratedGraph, values: Mapping[str, Any]) -> list[Any]:
    """The outputs by onnx's own evaluator, float32 as float32, whatever numpy makes of operators in between."""
    import numpy as np

    operators = onnx_operators.exact_operators(onnx)
    evaluator = importlib.import_module("onnx.reference").ReferenceEvaluator(model, new_ops=operators)
    given = {source.name: values[source.name] for source in graph.sources if not source.constant}
    with np.errstate(all="ignore"):
        found = [np.asarray(value) for value in evaluator.run(None, given)]
    return [_narrowed(value, port.dtype) for value, port in zip(found, graph.outputs)]


def _narrowed(value: Any, dtype: str) -> Any:
    return value.astype(dtype) if value.dtype.name == "float64" and dtype == "float32" else value


def _line(error: BaseException) -> str:
    text = str(error).strip() or type(error).__name__
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return "%s: %s" % (type(error).__name__, " ".join(lines)[:300])
