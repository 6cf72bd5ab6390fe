"""Models whose weights, and activations if asked for, are of few bits: what the graphs below hold.

=============  =====================================================================================
``weights``    integers with a scale for each channel, block or tensor; activations stay in float32
``qdq``        the same, and the inputs of these layers are rounded to integers, with one scale each
``fixed``      fixed point: integers with one scale for each layer, a power of two
``kmeans``     a codebook for each layer: a Gather of its values by indices of few bits
=============  =====================================================================================

What a graph holds is what a tool is asked to compute, so it is also what the float64 reference evaluates.
"""

from __future__ import annotations

import importlib
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from bench_plugin.adapters.characterise.few_bits import low_bits, quantisers
from bench_plugin.adapters.onnx_tools.shared import onnx_names, onnx_tied
from bench_plugin.agent import external
from bench_plugin.agent.adapter import Unsupported
from bench_plugin.agent.contract import PrepareCall
from bench_plugin.agent.toolkit import versions
from bench_plugin.agent.toolkit.samples import feeds

ADAPTER = {
    "name": "low_bits_graphs",
    "kind": "tool",
    "toolchain": "onnxruntime",
    "title": "Models of few bits",
    "distribution": "onnx",
    "operations": [],
    "uses": ["low_bits", "onnx_names", "onnx_tied", "quantisers"],
}

MINMAX = "minmax"
FLOATING = "float32"
# Inputs that are numbers and no data, by operator: quantisers leave them alone unless data share them.
NUMBERS = {"Clip": (1, 2), "Range": (0, 1, 2), "Resize": (1, 2)}
INT32 = 6
BITS = {"int8": 8, "uint8": 8, "int4": 4, "uint4": 4, "int2": 2, "uint2": 2}


class Adapter:
    """Remembers nothing; the adapters that use this file take its functions."""

    def versions(self) -> dict[str, str]:
        """Versions of the distributions that take part."""
        return versions.installed("onnxruntime", "onnx", "numpy")

    def reset(self) -> None:
        """Nothing to forget."""


def prepared(call: PrepareCall, source: str, target: str) -> dict[str, object]:
    """Write the model ``source`` as the graph of the call to ``target``; returns what a row says of its weights.

    BatchNormalization is folded into convolutions before, as other quantisers do it. Where every contraction is asked
    for, a file that is quantised already stays as it is. Raises Unsupported for a model without such layers, and for a
    calibration method other than minmax.
    """
    onnx = importlib.import_module("onnx")
    if call.every_contraction:
        whole = onnx.load(source)
        if any(node.op_type == "QuantizeLinear" for node in whole.graph.node):
            onnx.save(whole, target)
            return _Weights(onnx, call).described()
    plain = preprocessed(call, source)
    opset = max(low_bits.OPSETS[kind] for kind in {call.weights, call.activations} if kind in low_bits.OPSETS)
    model = low_bits.at_opset(onnx, onnx.load(plain), opset)
    weights = _Weights(onnx, call)
    layers = low_bits.with_weights(onnx, model, weights.stored, every=call.every_contraction)
    if call.graph == "qdq":
        if call.calibration_method != MINMAX:
            raise Unsupported("activations of few bits are calibrated by minmax, not by %s" % call.calibration_method)
        names = list(dict.fromkeys(node.input[0] for node in layers))
        ranges = _ranges(onnx, onnx.load(plain), names, call)
        low_bits.with_activations(onnx, model, layers, ranges, call.activations)
    onnx.save(model, target)
    return weights.described()


def preprocessed(call: PrepareCall, source: str) -> str:
    """The path of the model with folded normalisation and inferred shapes, as ONNX Runtime's quantisers want it.

    Weights that a Cast makes are stored, and biases of one number have one for each channel. Weights that lie
    beside the file are taken into it before: the preparation would look for them in its own folder. Numbers that are
    no data have a constant of their own: the preparation makes equal constants one, and a quantiser that quantises it
    for a product would quantise the bound of a Clip, or the start of a Range, as well.
    """
    onnx = importlib.import_module("onnx")
    shape_inference = importlib.import_module("onnxruntime.quantization.shape_inference")
    if external.locations(source):
        whole = call.path("whole.onnx")
        onnx.save(onnx.load(source), whole)
        source = whole
    path = call.path("prepared.onnx")
    shape_inference.quant_pre_process(source, path, skip_symbolic_shape=True)
    model = onnx_names.loaded(onnx, path)
    _store_casts(onnx, model.graph)
    _widen_biases(onnx, model.graph)
    onnx_tied.untie(model.graph, lambda node: NUMBERS.get(node.op_type, ()))
    onnx.save(model, path)
    return path


def _store_casts(onnx: Any, graph: Any) -> None:
    """Store constants in the type that a Cast gives them: quantisers take stored weights alone.

    The preparation makes such casts of the weights of a file that computes in float16.
    """
    stored = {tensor.name: tensor for tensor in graph.initializer}
    casts = [node for node in graph.node if node.op_type == "Cast" and node.input[0] in stored]
    for node in casts:
        kind = onnx.helper.tensor_dtype_to_np_dtype(next(one.i for one in node.attribute if one.name == "to"))
        values = onnx.numpy_helper.to_array(stored[node.input[0]]).astype(kind)
        graph.initializer.append(onnx.numpy_helper.from_array(values, node.output[0]))
        graph.node.remove(node)


def _widen_biases(onnx: Any, graph: Any) -> None:
    """Repeat the single number that a Gemm adds for each of its channels.

    Of such a number ONNX Runtime's quantiser fails per channel, and of one that beta multiplies by 0, as JAX's exporter
    writes, it makes a scale of 0 (docs/findings/onnxruntime_quantiser_gemm_bias.py): that is left out.
    """
    stored = {tensor.name: tensor for tensor in graph.initializer}
    for node in graph.node:
        if node.op_type != "Gemm" or len(node.input) < 3 or node.input[2] not in stored:
            continue
        if any(one.name == "beta" and one.f == 0 for one in node.attribute):
            del node.input[2]
            continue
        if node.input[1] not in stored:
            continue
        bias, weights = (onnx.numpy_helper.to_array(stored[name]) for name in (node.input[2], node.input[1]))
        channels = weights.shape[0 if any(one.name == "transB" and one.i for one in node.attribute) else 1]
        if bias.size == 1 and bias.shape != (channels,):
            name = f"{node.input[2]}_{node.output[0]}_wide"
            graph.initializer.append(onnx.numpy_helper.from_array(bias.reshape(1).repeat(channels), name))
            node.input[2] = name


class _Weights:
    """Makes the weights of a graph, and remembers what they take and how far they are from the unrounded ones."""

    def __init__(self, onnx: Any, call: PrepareCall) -> None:
        self._onnx = onnx
        self._kind = call.weights
        self._granularity = call.granularity
        self._make = {"fixed": self._fixed, "kmeans": self._codebook}.get(call.graph, self._integers)
        self._layers = 0
        self._bytes = self._squares = self._error = self._uniform = 0.0

    def stored(self, name: str, node: Any, weights: Any) -> low_bits.Stored:
        """What makes the tensor ``name`` in place of the weights [...] of a node."""
        nodes, tensors, found, size = self._make(name, node, weights)
        self._layers += 1
        self._bytes += size
        self._squares += float((weights.astype("float64") ** 2).sum())
        self._error += quantisers.squared_error(weights, found)
        self._uniform += quantisers.squared_error(weights, quantisers.uniform(weights, BITS[self._kind]))
        return low_bits.Stored(nodes, tensors)

    def described(self) -> dict[str, object]:
        """Layers, bytes of their weights, and the error of the weights, relative, beside that of a uniform quantiser.

        The uniform one has the same bits and one scale for each layer, over its whole range.
        """
        whole = self._squares or 1.0
        return {
            "layers": self._layers, "bytes": math.ceil(self._bytes), "error": math.sqrt(self._error / whole),
            "uniform_error": math.sqrt(self._uniform / whole),
        }  # fmt: skip

    def _integers(self, name: str, node: Any, weights: Any) -> tuple[list[Any], list[Any], Any, float]:
        groups = low_bits.grouping_of(node, weights, self._granularity)
        return self._dequantised(name, low_bits.quantised(weights, self._kind, groups))

    def _fixed(self, name: str, node: Any, weights: Any) -> tuple[list[Any], list[Any], Any, float]:
        import numpy as np

        bits = BITS[self._kind]
        fraction = quantisers.best_fraction(weights, bits)
        integers = quantisers.fixed_point(weights, bits, fraction)
        scale = np.float32(2.0**-fraction)
        whole = low_bits.as_type(integers, self._kind)
        return self._dequantised(name, low_bits.Quantised(whole, scale, None, low_bits.Grouping(None)))

    def _dequantised(self, name: str, made: low_bits.Quantised) -> tuple[list[Any], list[Any], Any, float]:
        maker, tensors = low_bits.dequantised(self._onnx, name, made, name)
        size = quantisers.uniform_bytes(made.integers.size, BITS[self._kind], made.scale.size)
        size += 0 if made.zero is None else made.zero.size * BITS[self._kind] / quantisers.BYTE
        return [maker], tensors, low_bits.real(made), size

    def _codebook(self, name: str, node: Any, weights: Any) -> tuple[list[Any], list[Any], Any, float]:
        import numpy as np

        bits, helper, stored = BITS[self._kind], self._onnx.helper, self._onnx.numpy_helper.from_array
        book, indices = quantisers.codebook(weights, bits)
        values = book.astype(np.float32)
        names = ["%s_%s" % (name, part) for part in ("indices", "wide", "codebook")]
        tensors = [stored(low_bits.as_type(indices, "uint%d" % bits), names[0]), stored(values, names[2])]
        nodes = [
            helper.make_node("Cast", [names[0]], [names[1]], names[1], to=INT32),
            helper.make_node("Gather", [names[2], names[1]], [name], "%s_looked_up" % name),
        ]
        return nodes, tensors, values[indices], quantisers.codebook_bytes(weights.size, bits)


def _ranges(onnx: Any, model: Any, names: Sequence[str], call: PrepareCall) -> Mapping[str, tuple[float, float]]:
    """The least and the largest value of tensors of the unrounded model over all calibration samples."""
    runtime = importlib.import_module("onnxruntime")
    known = {value.name for value in (*model.graph.output, *model.graph.input)}
    added = [onnx.helper.make_empty_tensor_value_info(name) for name in names if name not in known]
    model.graph.output.extend(added)
    options = runtime.SessionOptions()
    options.log_severity_level = 3
    path = call.path("ranges.onnx")
    onnx.save(model, path)
    session = runtime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    inputs = {value.name for value in model.graph.input}
    found: dict[str, tuple[float, float]] = {}
    for feed in feeds(call.calibration, call.batched):
        for name, values in _values(session, feed, names, inputs):
            low, high = found.get(name, (0.0, 0.0))
            found[name] = min(low, float(values.min())), max(high, float(values.max()))
    return found


def _values(
    session: Any, feed: Mapping[str, Any], names: Sequence[str], inputs: set[str]
) -> Iterator[tuple[str, Any]]:  # fmt: skip
    """The tensors of one inference by name, those of the model's own inputs too."""
    made = [name for name in names if name not in inputs]
    yield from ((name, feed[name]) for name in names if name in inputs)
    yield from zip(made, session.run(made, dict(feed)) if made else [])
