"""Models in fixed point throughout, as FPGAs compute: every scale is a power of two, and no zero point is needed.

The weights are those of the graph ``fixed``. The inputs of these layers get QuantizeLinear and DequantizeLinear with a
power of two that holds the calibrated range, unsigned where nothing is negative. Biases are int32 in the step of the
products. So every product, sum and maximum of such layers is a number that fixed point of a known width holds.
"""

from __future__ import annotations

import importlib
import math
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from bench_plugin.adapters.characterise.few_bits import low_bits, low_bits_graphs
from bench_plugin.agent.adapter import Reply
from bench_plugin.agent.contract import PrepareCall
from bench_plugin.agent.toolkit import samples, versions

ADAPTER = {
    "name": "fixed_point_graphs",
    "kind": "tool",
    "toolchain": "onnxruntime",
    "title": "Models in fixed point",
    "distribution": "onnxruntime",
    "operations": ["prepare"],
    "uses": ["low_bits", "low_bits_graphs"],
    "errors": [{"package": "onnx"}, {"package": "onnxruntime"}],
}

METHODS = {"minmax": "MinMax", "entropy": "Entropy", "percentile": "Percentile"}
INT32 = 2**31


class Adapter:
    """Remembers nothing."""

    def versions(self) -> dict[str, str]:
        """Versions of the distributions that take part."""
        return versions.installed("onnxruntime", "onnx", "numpy")

    def reset(self) -> None:
        """Nothing to forget."""

    def prepare(self, call: PrepareCall) -> Reply:
        """``model.onnx`` in fixed point, with ranges of the call's calibration inputs.

        Raises Unsupported for a model without a MatMul, Gemm or Conv of stored weights.
        """
        call.stage("build")
        onnx = importlib.import_module("onnx")
        path = call.path("model.onnx")
        # It leaves the model with folded normalisation, whose weights are not rounded, beside its own result.
        weights = low_bits_graphs.prepared(replace(call, graph="fixed").at(call.place), call.files["model.onnx"], path)
        ranges = _calibrated(call, call.path("prepared.onnx"))
        model = onnx.load(path)
        _with_activations(onnx, model.graph, ranges, low_bits_graphs.BITS[call.activations])
        low_bits.forget_unused(model.graph)
        onnx.save(model, path)
        operators = [node.op_type for node in model.graph.node]
        counted = {name: operators.count(name) for name in sorted(set(operators))}
        said = {"method": call.calibration_method, "samples": len(next(iter(call.calibration.values()), ()))}
        meta: dict[str, object] = {
            "graph": call.graph, "operators": counted, "weights": weights, "calibration": said,
            "output_scales": [None] * len(model.graph.output),
        }  # fmt: skip
        return Reply(meta, files={"model.onnx": path})


def _calibrated(call: PrepareCall, path: str) -> dict[str, tuple[float, float]]:
    """The range of the tensors around the layers of a file, by onnxruntime's calibrator."""
    quantization = importlib.import_module("onnxruntime.quantization")
    calibrate = importlib.import_module("onnxruntime.quantization.calibrate")
    given = call.calibration

    class Reader(quantization.CalibrationDataReader):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            self._left = samples.feeds(given, call.batched)

        def get_next(self) -> Any:
            return next(self._left, None)

    method = getattr(calibrate.CalibrationMethod, METHODS[call.calibration_method])
    calibrator = calibrate.create_calibrator(
        path, list(low_bits.OPERATORS), augmented_model_path=call.path("augmented.onnx"), calibrate_method=method
    )
    calibrator.collect_data(Reader())
    found = calibrator.compute_data()
    ends = {name: found[name].range_value for name in found.keys()}  # noqa: SIM118
    return {name: (float(low.item()), float(high.item())) for name, (low, high) in ends.items()}


def fraction_of(low: float, high: float, bits: int) -> tuple[int, bool]:
    """The most bits behind the point with which fixed point of ``bits`` bits holds a range; whether it has a sign.

    A range of nothing but 0 has all bits behind the point. Raises ValueError for a range that is not finite.
    """
    if not (math.isfinite(low) and math.isfinite(high)):
        raise ValueError("no fixed point holds the range from %s to %s" % (low, high))
    signed = low < 0
    first, last = (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if signed else (0, 2**bits - 1)
    if low == high == 0:
        return bits, signed
    # Of a number just above a power of two a logarithm may be that of the power: so it is tried, exactly.
    fraction = bits - math.frexp(max(-low, high))[1]
    while low * 2.0**fraction < first or high * 2.0**fraction > last:
        fraction -= 1
    return fraction, signed


def _with_activations(onnx: Any, graph: Any, ranges: Mapping[str, tuple[float, float]], bits: int) -> None:
    """Round the first inputs of the layers with fixed-point weights, and their biases."""
    scales = {node.output[0]: node.input[1] for node in graph.node if node.op_type == "DequantizeLinear"}
    known = {tensor.name: onnx.numpy_helper.to_array(tensor) for tensor in graph.initializer}
    layers = [
        node for node in graph.node
        if node.op_type in low_bits.OPERATORS and not node.domain and node.input[1] in scales
    ]  # fmt: skip
    makers: dict[str, list[Any]] = {}
    before: list[Any] = []
    for node in layers:
        name = node.input[0]
        fraction, signed = fraction_of(*ranges[name], bits)
        if name not in makers:
            makers[name] = _rounded(onnx, graph, name, "%sint%d" % ("" if signed else "u", bits), fraction)
        node.input[0] = "%s_dequantised" % name
        step = float(known[scales[node.input[1]]]) * 2.0**-fraction
        for user, slot in _biases(graph, node, known):
            before.append(_bias(onnx, graph, user.input[slot], node.output[0], known[user.input[slot]], step))
            user.input[slot] = before[-1].output[0]
    nodes = before + [one for value in graph.input for one in makers.pop(value.name, [])]
    for node in graph.node:
        nodes.append(node)
        nodes.extend(one for name in node.output for one in makers.pop(name, []))
    del graph.node[:]
    graph.node.extend(nodes)


def _rounded(onnx: Any, graph: Any, name: str, kind: str, fraction: int) -> list[Any]:
    """QuantizeLinear and DequantizeLinear of a computed tensor to ``<name>_dequantised``."""
    import numpy as np

    stored, make = onnx.numpy_helper.from_array, onnx.helper.make_node
    parameters, whole = ["%s_scale" % name, "%s_zero" % name], "%s_quantised" % name
    values = (np.asarray(2.0**-fraction, np.float32), np.asarray(low_bits.as_type(np.asarray(0), kind)))
    graph.initializer.extend(stored(value, one) for value, one in zip(values, parameters))
    return [
        make("QuantizeLinear", [name, *parameters], [whole], whole),
        make("DequantizeLinear", [whole, *parameters], ["%s_dequantised" % name], "%s_real" % whole),
    ]


def _biases(graph: Any, layer: Any, known: Mapping[str, Any]) -> Iterator[tuple[Any, int]]:
    """The nodes that add a stored bias to the products of a layer, and the place of the bias among their inputs."""
    if len(layer.input) > 2 and layer.input[2] in known:
        yield layer, 2
    for user in graph.node:
        if user.op_type == "Add" and layer.output[0] in user.input:
            slot = 1 - list(user.input).index(layer.output[0])
            if user.input[slot] in known:
                yield user, slot


def _bias(onnx: Any, graph: Any, name: str, layer: str, values: Any, step: float) -> Any:
    """The DequantizeLinear of a bias [...] as int32 in the step of the products of the layer that makes ``layer``."""
    import numpy as np

    whole = np.clip(np.rint(values.astype(np.float64) / step), -INT32, INT32 - 1).astype(np.int32)
    names = ["%s_of_%s_%s" % (name, layer, part) for part in ("integers", "scale", "rounded")]
    tensors = zip((whole, np.asarray(step, np.float32)), names)
    graph.initializer.extend(onnx.numpy_helper.from_array(value, one) for value, one in tensors)
    return onnx.helper.make_node("DequantizeLinear", names[:2], [names[2]], names[2])
