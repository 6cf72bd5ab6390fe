"""Quantises a file with a list of ``bench sensitivity --exclude-for``, as a user would; prints what stayed in float.

``python quantise_with_list.py onnxruntime|nncf MODEL.onnx LIST INPUTS.npz FOLDER``; it prints a JSON object: for each
layer by its name whether its inputs are quantised.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any

import numpy as np


def of_onnxruntime(model: str, said: dict[str, Any], inputs: dict[str, Any], folder: str) -> dict[str, bool]:
    """Layers of the file and of the prepared one, whose names have ``prepared:`` in front of them."""
    import onnx
    from onnxruntime.quantization import CalibrationDataReader, QuantFormat, quantize_static
    from onnxruntime.quantization.shape_inference import quant_pre_process

    class Reader(CalibrationDataReader):  # type: ignore[misc]
        def __init__(self) -> None:
            self._rows = iter(range(8))

        def get_next(self) -> Any:
            row = next(self._rows, None)
            return None if row is None else {name: x[row : row + 1] for name, x in inputs.items()}

    prepared = os.path.join(folder, "prepared.onnx")
    quant_pre_process(model, prepared, skip_symbolic_shape=True)
    found = {}
    for mark, path in (("", model), ("prepared:", prepared)):
        out = os.path.join(folder, "quantised.onnx")
        quantize_static(path, out, Reader(), quant_format=QuantFormat.QDQ, per_channel=True, **said)
        graph = onnx.load(out).graph
        makers = {name: node.op_type for node in graph.node for name in node.output}
        for node in graph.node:
            if node.op_type in ("Conv", "Gemm", "MatMul"):
                found[mark + node.name] = makers.get(node.input[1]) == "DequantizeLinear"
    return found


def of_nncf(model: str, said: dict[str, Any], inputs: dict[str, Any]) -> dict[str, bool]:
    import nncf
    import openvino

    graph = openvino.Core().read_model(model)
    rows = [{name: x[row : row + 1] for name, x in inputs.items()} for row in range(8)]
    done = nncf.quantize(graph, nncf.Dataset(rows), subset_size=8, ignored_scope=nncf.IgnoredScope(**said))
    found = {}
    for node in done.get_ordered_ops():
        if node.get_type_name() in ("Convolution", "MatMul"):
            found[node.get_friendly_name()] = rounded(node.input_value(1).get_node())
    return found


def rounded(node: Any) -> bool:
    """Whether the weights that come to this node are stored as integers of 8 bits."""
    if node.get_type_name() == "Constant":
        return bool(node.get_element_type().get_size() == 1)
    return rounded(node.input_value(0).get_node())


def main(tool: str, model: str, path: str, inputs: str, folder: str) -> int:
    with open(path, encoding="utf-8") as file:
        said = json.load(file)
    with np.load(inputs) as stored:
        arrays = dict(stored)
    found = of_onnxruntime(model, said, arrays, folder) if tool == "onnxruntime" else of_nncf(model, said, arrays)
    print(json.dumps(found))
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
