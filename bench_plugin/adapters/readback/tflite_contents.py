"""What a .tflite file and its interpreter hold: the precision of its tensors, its contractions, who runs its nodes."""

from __future__ import annotations

import importlib
from collections import Counter
from collections.abc import Iterable
from typing import Any

from bench_plugin.agent.toolkit import contractions, versions

ADAPTER = {
    "name": "tflite_contents",
    "kind": "tool",
    "toolchain": "tensorflow",
    "title": "Contents of TFLite files",
    "distribution": "ai-edge-litert",
    "operations": [],
}

CONTRACTIONS = frozenset(
    {
        "CONV_2D",
        "CONV_3D",
        "DEPTHWISE_CONV_2D",
        "TRANSPOSE_CONV",
        "CONV_3D_TRANSPOSE",
        "FULLY_CONNECTED",
        "BATCH_MATMUL",
    }
    | {"UNIDIRECTIONAL_SEQUENCE_LSTM", "BIDIRECTIONAL_SEQUENCE_LSTM", "LSTM", "RNN", "UNIDIRECTIONAL_SEQUENCE_RNN"}
)
FEWEST_QUANTISED = 1024  # elements of a weight that TensorFlow's converter makes int8 of where activations are floats
CONVERTS = ("QUANTIZE", "DEQUANTIZE")
LOOKS_UP = ("GATHER", "GATHER_ND", "EMBEDDING_LOOKUP")  # rows of a constant in int8 are no activations in int8


class Adapter:
    """Remembers nothing; the adapters that use this file take its functions."""

    def versions(self) -> dict[str, str]:
        """Versions of the distributions that take part."""
        return versions.installed("ai-edge-litert")

    def reset(self) -> None:
        """Nothing to forget."""


def read_back(content: bytes) -> dict[str, Any]:
    """Of a flatbuffer: the precision that its tensors are of, bytes of constants by type, elements of the largest
    float constant, nodes, nodes in float.
    """
    schema = importlib.import_module("ai_edge_litert.schema_py_generated")
    types = {value: name for name, value in vars(schema.TensorType).items() if isinstance(value, int)}
    codes = {value: name for name, value in vars(schema.BuiltinOperator).items() if isinstance(value, int)}
    model = schema.Model.GetRootAs(content, 0)
    constants: Counter[str] = Counter()
    nodes, largest, in_float, in_integers = 0, 0, [], False
    rows: list[tuple[str, bool]] = []
    for part in (model.Subgraphs(index) for index in range(model.SubgraphsLength())):
        tensors = [part.Tensors(index) for index in range(part.TensorsLength())]
        kinds = [types[tensor.Type()] for tensor in tensors]
        scaled = [bool(tensor.Quantization() and tensor.Quantization().ScaleLength()) for tensor in tensors]
        for kind, tensor in zip(kinds, tensors):
            size = model.Buffers(tensor.Buffer()).DataLength()
            constants.update({kind: size} if size else {})
            largest = max(largest, size // 4) if kind == "FLOAT32" else largest
        for node in (part.Operators(index) for index in range(part.OperatorsLength())):
            code = model.OperatorCodes(node.OpcodeIndex())
            name = codes[max(code.BuiltinCode(), code.DeprecatedBuiltinCode())]
            nodes += 1
            made = [*node.OutputsAsNumpy()]
            if name in CONTRACTIONS:  # with int8 weights a kernel quantises inputs that are floats as it runs
                rows.append((name, any(kinds[index] == "INT8" for index in node.InputsAsNumpy() if index >= 0)))
            if name not in LOOKS_UP:
                in_integers |= any(kinds[index] == "INT8" and scaled[index] for index in made)
            if name not in CONVERTS and any(kinds[i] == "FLOAT32" for i in [*node.InputsAsNumpy(), *made] if i >= 0):
                in_float.append(name)
    precision = "w8a8" if in_integers else "w8" if "INT8" in constants else "fp32"
    if precision == "fp32" and "FLOAT16" in constants:
        precision = "w16"
    return {"precision": precision, "constants": dict(constants), "largest": largest, "nodes": nodes,
            "float": _counted(in_float), "contractions": contractions.counted(rows)}  # fmt: skip


def why_in_float(precision: str, largest: int) -> str:
    """Why weights stay in float32 at w8, where their size says it; ``largest`` is a number of elements."""
    if precision != "w8" or largest >= FEWEST_QUANTISED:
        return ""
    return (
        f": the converter quantises weights of {FEWEST_QUANTISED} elements or more, and the largest here has {largest}"
    )


def _counted(names: Iterable[str]) -> list[str]:
    return [f"{name} x {count}" for name, count in sorted(Counter(names).items())]


def placement(interpreter: Any, plain: bool) -> dict[str, object]:
    """The share (of 1) of nodes that the delegate runs; those that it replaced stay in the list unread."""
    rows = interpreter._get_ops_details()
    made_by = {int(index): row for row in rows for index in row["outputs"]}
    made_by |= {int(index): row for row in rows if row["op_name"] == "DELEGATE" for index in row["outputs"]}
    wanted = [int(row["index"]) for row in interpreter.get_output_details()]
    left: dict[int, str] = {}
    seen: set[int] = set()
    while wanted:
        index = wanted.pop()
        row = made_by.get(index)
        if index not in seen and row is not None:
            seen.add(index)
            wanted += [int(one) for one in row["inputs"]]
            if row["op_name"] != "DELEGATE":
                left[int(row["index"])] = str(row["op_name"])
    nodes = sum(row["op_name"] != "DELEGATE" for row in rows)
    if plain:
        return {"requested": 1.0, "nodes": nodes, "fallback": []}
    return {"requested": 1 - len(left) / nodes if nodes else 1.0, "nodes": nodes, "fallback": _counted(left.values())}
