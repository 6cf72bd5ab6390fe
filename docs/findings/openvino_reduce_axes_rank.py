"""OpenVINO 2026.4.1: a Reduce operator over two axes that are an input of the graph has no rank, and is refused.

Rule: ONNX ReduceSum 13 and the other Reduce operators 18: axes is an input, of any origin; with keepdims = 0 the result
has as many dimensions less as axes has elements, here two. One axis is right. A model of OpenVINO's own ReduceSum, made
without ONNX, is refused in the same words: its shape inference gives [...] where it could give [?].
Needs openvino==2026.4.1, onnx and numpy. Ends with 1 while the defect shows, with 0 when it is gone.
"""

import sys

import numpy as np
import onnx
import openvino as ov
from onnx import parser
from openvino import opset13

SHAPES = {1: (4, 5), 2: (5,)}  # of the result, by the number of axes
NAMES = "L1 L2 LogSum LogSumExp Max Mean Min Prod Sum SumSquare".split()
x, core = np.full((3, 4, 5), 2.0, np.float32), ov.Core()


def shape(model, axes):
    """The shape of what a model gives, or why there is none."""
    try:
        return core.compile_model(model, "CPU")([x, np.arange(axes)])[0].shape
    except RuntimeError as error:
        return " ".join(str(error).split())[-120:]


def of_onnx(name, axes):
    """An OpenVINO model of a file with one Reduce operator."""
    shape = ",".join(map(str, SHAPES[axes]))
    text = f"(float[3,4,5] x, int64[{axes}] a) => (float[{shape}] y) {{ y = Reduce{name}<keepdims=0>(x, a) }}"
    model = parser.parse_model(f'<ir_version: 10, opset_import: ["": 18]> g {text}')
    onnx.checker.check_model(model, full_check=True)
    return core.read_model(model.SerializeToString())


data, places = opset13.parameter([3, 4, 5], np.float32), opset13.parameter([2], np.int64)
own = ov.Model([opset13.reduce_sum(data, places, False)], [data, places])
models = {(f"Reduce{name}", axes): of_onnx(name, axes) for axes in SHAPES for name in NAMES}
models["ReduceSum without ONNX", 2] = own
wrong = False
for (name, axes), model in models.items():
    got = shape(model, axes)
    wrong |= got != SHAPES[axes]
    print(f"{name}, {axes} axes: expected {SHAPES[axes]}, got {got}")
sys.exit(int(wrong))
