"""ONNX's own backend tests as data: models, inputs and expected outputs in one file, with an index beside it."""

from __future__ import annotations

import glob
import importlib
import json
import os
from collections.abc import Iterator, Mapping
from typing import Any

from bench_plugin.agent import packs
from bench_plugin.agent.adapter import Reply
from bench_plugin.agent.contract import CollectCall, ConvertCall
from bench_plugin.agent.toolkit import versions

ADAPTER = {
    "name": "onnx_corpus",
    "kind": "tool",
    "toolchain": "onnxruntime",
    "title": "ONNX backend tests",
    "distribution": "onnx",
    "operations": ["collect", "convert"],
}

FOLDERS = ("simple", "light", "pytorch-converted", "pytorch-operator")
RTOL, ATOL = 1e-3, 1e-7  # of onnx's runner, where a case says nothing else


class Adapter:
    """Remembers nothing between calls."""

    def versions(self) -> dict[str, str]:
        """Versions of the distributions that take part."""
        return versions.installed("onnx")

    def reset(self) -> None:
        """Nothing is kept."""

    def collect(self, call: CollectCall) -> Reply:
        """``cases.json``: one description per case; ``cases.bin``: models, inputs and expected outputs."""
        call.stage("build")
        onnx = importlib.import_module("onnx")
        index, data = call.path("cases.json"), call.path("cases.bin")
        cases: dict[str, Any] = {}
        with open(data, "wb") as file:
            writer = packs.Writer(file)
            for name, category, model, sets, rtol, atol in _cases(onnx):
                cases[name] = {
                    "category": category, **_described(onnx, model), "rtol": rtol, "atol": atol,
                    "model": writer.add_bytes(model.SerializeToString()),
                    "sets": [[[writer.add(value) for value in part] for part in one] for one in sets],
                }  # fmt: skip
        _write(index, cases)
        return Reply({"cases": len(cases), "onnx": onnx.__version__}, files={"cases.json": index, "cases.bin": data})

    def convert(self, call: ConvertCall) -> Reply:
        """Cases rewritten to an older opset and IR (0: any), with outputs of the rewritten model's own reference.

        A case that the converter refuses has an ``error``.
        """
        call.stage("build")
        onnx = importlib.import_module("onnx")
        importlib.import_module("onnx.reference")
        importlib.import_module("onnx.version_converter")
        with open(call.files["cases.json"], encoding="utf-8") as file:
            known = json.load(file)
        with open(call.files["cases.bin"], "rb") as file:
            reader = packs.Reader(file.read())
        index, data = call.path("cases.json"), call.path("cases.bin")
        cases: dict[str, Any] = {}
        with open(data, "wb") as file:
            writer = packs.Writer(file)
            for name in call.cases:
                cases[name] = _converted(onnx, writer, reader, known[name], call.opset, call.ir)
        _write(index, cases)
        refused = sum("error" in case for case in cases.values())
        return Reply({"cases": len(cases), "refused": refused}, files={"cases.json": index, "cases.bin": data})


def _write(path: str, cases: Mapping[str, Any]) -> None:
    with open(path, "w", encoding="utf-8") as file:
        json.dump(cases, file, separators=(",", ":"))


def _cases(onnx: Any) -> Iterator[tuple[str, str, Any, list[Any], float, float]]:
    """Every case that runs on a CPU: name, category, model, data sets, tolerances."""
    loader = importlib.import_module("onnx.backend.test.loader")
    for case in sorted(loader.load_model_tests(kind="node"), key=lambda case: str(case.name)):
        sets = [
            [list(map(_value(onnx), inputs)), list(map(_value(onnx), outputs))] for inputs, outputs in case.data_sets
        ]
        yield case.name, "node", case.model, sets, case.rtol, case.atol
    root = os.path.join(os.path.dirname(onnx.__file__), "backend", "test", "data")
    for folder in FOLDERS:
        if folder == "light":
            for path in sorted(glob.glob(os.path.join(root, folder, "*.onnx"))):
                yield _light(onnx, path)
            continue
        for path in sorted(glob.glob(os.path.join(root, folder, "*", "model.onnx"))):
            yield _stored(onnx, folder, os.path.dirname(path))


def _light(onnx: Any, path: str) -> tuple[str, str, Any, list[Any], float, float]:
    """A network without its weights; its input is a ramp, as in onnx's own runner."""
    import numpy as np

    model = onnx.load(path)
    data = os.path.join(os.path.dirname(os.path.dirname(path)), "real")
    name = "test_" + os.path.basename(path)[len("light_") : -len(".onnx")]
    with open(os.path.join(data, name, "data.json"), encoding="utf-8") as file:
        tolerance = json.load(file)
    inputs = []
    initialized = {tensor.name for tensor in model.graph.initializer}
    for value in model.graph.input:
        if value.name not in initialized:
            shape = [dim.dim_value if dim.HasField("dim_value") else 1 for dim in value.type.tensor_type.shape.dim]
            count = int(np.prod(shape))
            inputs.append((np.arange(count).reshape(shape) / count).astype(np.float32))
    outputs = []
    for number in range(len(model.graph.output)):
        with open("%s_output_%d.pb" % (path[: -len(".onnx")], number), "rb") as stored:
            outputs.append(onnx.numpy_helper.to_array(onnx.TensorProto.FromString(stored.read())))
    return name, "light", model, [[inputs, outputs]], tolerance.get("rtol", RTOL), tolerance.get("atol", ATOL)


def _stored(onnx: Any, category: str, folder: str) -> tuple[str, str, Any, list[Any], float, float]:
    model = onnx.load(os.path.join(folder, "model.onnx"))
    tolerance = {}
    described = os.path.join(folder, "data.json")
    if os.path.exists(described):
        with open(described, encoding="utf-8") as file:
            tolerance = json.load(file)
    sets = []
    for place in sorted(glob.glob(os.path.join(folder, "test_data_set*"))):
        parts: list[list[Any]] = []
        for kind, declared in (("input", model.graph.input), ("output", model.graph.output)):
            count = len(glob.glob(os.path.join(place, kind + "_*.pb")))
            parts.append([_loaded(onnx, place, kind, number, declared[number].type) for number in range(count)])
        sets.append(parts)
    name = os.path.basename(folder)
    return name, category, model, sets, tolerance.get("rtol", RTOL), tolerance.get("atol", ATOL)


def _loaded(onnx: Any, place: str, kind: str, number: int, declared: Any) -> Any:
    with open(os.path.join(place, "%s_%d.pb" % (kind, number)), "rb") as file:
        content = file.read()
    which = declared.WhichOneof("value")
    proto = {
        "tensor_type": onnx.TensorProto, "sequence_type": onnx.SequenceProto, "optional_type": onnx.OptionalProto
    }[which]  # fmt: skip
    return _value(onnx)(proto.FromString(content))


def _value(onnx: Any) -> Any:
    """Anything that a case holds as numpy arrays, lists and None."""
    import numpy as np

    def plain(value: Any) -> Any:
        if isinstance(value, onnx.TensorProto):
            return onnx.numpy_helper.to_array(value)
        if isinstance(value, onnx.SequenceProto):
            return [plain(item) for item in onnx.numpy_helper.to_list(value)]
        if isinstance(value, onnx.OptionalProto):
            return plain(onnx.numpy_helper.to_optional(value))
        if value is None:
            return None
        return [plain(item) for item in value] if isinstance(value, (list, tuple)) else np.asarray(value)

    return plain


def _described(onnx: Any, model: Any) -> dict[str, Any]:
    """The description of a model that plans and adapters use instead of the file."""
    domains = {row.domain or "ai.onnx": row.version for row in model.opset_import}
    initialized = {tensor.name for tensor in model.graph.initializer}
    operators = dict.fromkeys(
        node.op_type if not node.domain or node.domain == "ai.onnx" else "%s.%s" % (node.domain, node.op_type)
        for node in model.graph.node
    )
    return {
        "operators": list(operators), "nodes": len(model.graph.node), "functions": len(model.functions),
        "ir": model.ir_version, "opsets": domains,
        "inputs": [_port(onnx, value) for value in model.graph.input if value.name not in initialized],
        "outputs": [_port(onnx, value) for value in model.graph.output],
    }  # fmt: skip


def _port(onnx: Any, value: Any) -> dict[str, Any]:
    which = value.type.WhichOneof("value") or ""
    row = {"name": value.name, "type": which[: -len("_type")] if which else "unknown"}
    if which == "tensor_type":
        tensor = value.type.tensor_type
        row["dtype"] = _dtype(onnx, tensor.elem_type)
        if tensor.HasField("shape"):
            dims = tensor.shape.dim
            row["shape"] = [dim.dim_value if dim.HasField("dim_value") else dim.dim_param or "?" for dim in dims]
    return row


def _dtype(onnx: Any, element: int) -> str:
    """numpy's name of an element type, as adapters get it."""
    if element in (onnx.TensorProto.STRING, onnx.TensorProto.UNDEFINED):
        return packs.STRING if element else ""
    return str(onnx.helper.tensor_dtype_to_np_dtype(element).name)


def _said(error: Exception) -> str:
    """What an exception says; of a failed assertion of onnx's converter what stands behind file, line and condition."""
    lines = str(error).strip().splitlines() or [""]
    condition, _, said = lines[0].partition("` failed: ")
    return said[:200] if said else "%s: %s" % (type(error).__name__, condition[:200])


def _converted(onnx: Any, writer: Any, reader: Any, case: Mapping[str, Any], opset: int, ir: int) -> dict[str, Any]:
    model = onnx.ModelProto.FromString(bytes(reader.bytes(case["model"])))
    kept = {key: case[key] for key in ("category", "rtol", "atol")}
    try:
        if 0 < opset < case["opsets"].get("ai.onnx", 0):
            model = onnx.version_converter.convert_version(model, opset)
        if ir:
            model.ir_version = min(model.ir_version, ir)
        onnx.checker.check_model(model)
        evaluator = onnx.reference.ReferenceEvaluator(model)
        names = [value.name for value in model.graph.input]
        sets = []
        for inputs, _ in case["sets"]:
            outputs = evaluator.run(None, dict(zip(names, map(reader.value, inputs))))
            sets.append([[writer.add(reader.value(value)) for value in inputs], list(map(writer.add, outputs))])
    except Exception as error:  # whatever the converter or the evaluator says is the case's result
        return {**kept, "error": _said(error)}
    return {**kept, **_described(onnx, model), "model": writer.add_bytes(model.SerializeToString()), "sets": sets}
