"""Layers of a QDQ graph whose summands stay inside: what they round, in float64, against the graph's own integers.

Run by tests/adapters/test_layers_with_sums.py in the toolchain of onnxruntime; the first argument is a file in QDQ.
Prints as JSON ``rounds``, the summands and whether each is rounded, and three figures: the largest distance of an
integer from its unrounded result where all summands are rounded (``all``), and where those that are computed together
with their sum are not (``fused``); and the results that change when roundings inside are moved by nearly half a step
(``moved``) beside those that are said to (``dynamic``).
"""

import json
import sys

import numpy as np
import onnx
from onnx import numpy_helper
from onnx.reference import ReferenceEvaluator

from bench_plugin.adapters.onnx_tools import onnx_float64, onnx_operators
from bench_plugin.adapters.onnx_tools.separated import onnx_separated, onnx_summands, onnx_unrounded

NEW = onnx_operators.fast_operators(onnx)
model = onnx_separated.bound(onnx, onnx.load(sys.argv[1]), {})
summands = onnx_summands.summands(model.graph)
port = model.graph.input[0]
x = np.random.default_rng(1).standard_normal([dim.dim_value for dim in port.type.tensor_type.shape.dim])


def evaluated(graph, given):
    """The outputs by name, in float64."""
    promoted = onnx_float64.promoted(onnx, graph)
    found = ReferenceEvaluator(promoted, new_ops=NEW).run(None, given)
    return dict(zip([value.name for value in promoted.graph.output], found, strict=True))


def given():
    """What the layers take: the integers of the whole graph in float64."""
    exposed, names = onnx_separated.exposed(onnx, model)
    integers = evaluated(exposed, {port.name: x})
    return {port.name: x} | {f"{name}_given": integers[name] for name in names}


def layers(inside, tie=0.0):
    """The unrounded results of the layers, where a rounding inside is moved by ``tie``."""
    apart = onnx_separated.separated(onnx, model, inside)
    taken = {value.name: GIVEN[value.name] for value in apart.graph.input}
    exact = onnx_unrounded.unrounded(onnx, apart, inside)
    for tensor in exact.graph.initializer:
        if tensor.name.endswith("_large"):
            tensor.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(tensor) + np.float32(tie), tensor.name))
    return evaluated(exact, taken), apart


def furthest(inside):
    """The largest distance of an integer from its unrounded result."""
    found, _ = layers(inside)
    assert found.keys() == {name.removesuffix("_given") for name in GIVEN} - {port.name} - set(inside)
    return max(float(abs(values - GIVEN[f"{name}_given"].astype("float64")).max()) for name, values in found.items())


GIVEN = given()
(plain, apart), (moved, _) = layers(summands), layers(summands, 0.45)
print(json.dumps({
    "rounds": summands,
    "all": furthest(dict.fromkeys(summands, True)),
    "fused": furthest(summands),
    "moved": sorted(name for name in plain if not np.array_equal(plain[name], moved[name])),
    "dynamic": sorted(onnx_summands.rounded_inside(apart, list(plain), summands)),
}))  # fmt: skip
