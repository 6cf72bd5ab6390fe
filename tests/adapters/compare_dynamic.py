"""Layers of a dynamically quantised graph in float64 against what the graph itself hands from layer to layer.

Run by tests/adapters/test_layers_of_dynamic.py in the toolchain of onnxruntime, whose quantiser makes the graph of the
file that is the first argument, in the folder of that file. Prints as JSON ``nodes``, the results of its quantisations,
``layers``, the tensors between the layers by kind, ``off``, the largest distance of each from its unrounded result (of
integers in steps, else as a share), and ``changed``, which results are another one after the weights of the second
convolution were changed.
"""

import json
import sys
from pathlib import Path

import numpy as np
import onnx
from onnx import numpy_helper
from onnx.reference import ReferenceEvaluator
from onnxruntime import quantization

from bench_plugin.adapters.onnx_tools import onnx_float64, onnx_operators
from bench_plugin.adapters.onnx_tools.separated import onnx_separated, onnx_unrounded

NEW = onnx_operators.fast_operators(onnx)
made = Path(sys.argv[1]).with_name("dynamic.onnx")
quantization.quantize_dynamic(sys.argv[1], made, weight_type=quantization.QuantType.QInt8)
model = onnx_separated.bound(onnx, onnx.load(made), {})
port = model.graph.input[0]
x = np.random.default_rng(1).standard_normal([dim.dim_value for dim in port.type.tensor_type.shape.dim])


def evaluated(graph, given):
    """The outputs by name, in float64."""
    promoted = onnx_float64.promoted(onnx, graph)
    found = ReferenceEvaluator(promoted, new_ops=NEW).run(None, given)
    return dict(zip([value.name for value in promoted.graph.output], found, strict=True))


exposed, names = onnx_separated.exposed(onnx, model)
handed = evaluated(exposed, {port.name: x})


def layers(change):
    """The unrounded results of the layers."""
    apart = onnx_separated.separated(onnx, model)
    taken = {port.name: x} | {f"{name}_given": handed[name] for name in names}
    exact = onnx_unrounded.unrounded(onnx, apart)
    change(exact)
    return evaluated(exact, {value.name: taken[value.name] for value in exact.graph.input})


def second_weights(graph):
    """Make one weight of the second convolution another one."""
    convolutions = [node for node in graph.graph.node if node.op_type == "ConvInteger"]
    for tensor in graph.graph.initializer:
        if tensor.name == convolutions[1].input[1]:
            values = numpy_helper.to_array(tensor).copy()
            values[0] = -values[0]
            tensor.CopyFrom(numpy_helper.from_array(values, tensor.name))


def distance(name, values):
    """How far a result is from what the graph hands on."""
    if handed[name].dtype.kind == "u":
        return float(abs(values - handed[name].astype("float64")).max())
    return float(abs(values - handed[name]).max() / abs(handed[name]).max())


plain, changed = layers(lambda graph: None), layers(second_weights)
dynamic = [node for node in model.graph.node if node.op_type == "DynamicQuantizeLinear"]
kinds = {name: kind for node in dynamic for name, kind in zip(node.output, ("steps", "scale", "zero"), strict=True)}
print(json.dumps({
    "nodes": [node.output[0] for node in dynamic],
    "layers": {name: kinds.get(name, "real") for name in names},
    "off": {name: distance(name, values) for name, values in plain.items()},
    "changed": [name for name in plain if not np.array_equal(plain[name], changed[name])],
}))  # fmt: skip
