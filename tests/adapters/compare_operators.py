"""Runs single operators in the float64 evaluator and in ONNX Runtime, with many attributes: prints what differs.

Executed by the interpreter of the onnxruntime toolchain: ``python compare_operators.py``.
"""

from __future__ import annotations

import itertools
import os
import sys
import tempfile
from typing import Any

import numpy as np
import onnx
import onnxruntime
from onnx import helper, numpy_helper

from bench_plugin.adapters.onnx_tools import onnx_float64
from bench_plugin.adapters.onnx_tools.operators import onnx_windows
from bench_plugin.agent.adapter import Unsupported
from bench_plugin.agent.arrays import from_numpy, to_numpy
from bench_plugin.agent.contract import EvaluateCall, Place

OPSETS = {"BatchNormalization": 13, "GridSample": 16, "Upsample": 9}


def cases(rng: np.random.Generator) -> Any:
    """Operator, with its opset where that is not ``OPSET``, attributes, shapes of x and weight (or None), inputs."""
    for stride, dilation, pads in itertools.product((1, 2), (1, 2), ([0, 0, 0, 0], [1, 0, 2, 1])):
        common = {"strides": [stride, 1], "dilations": [1, dilation], "pads": pads}
        yield "Conv", common, (2, 4, 9, 10), (6, 4, 3, 2), {}
        yield "Conv", {**common, "group": 2}, (1, 4, 9, 10), (6, 2, 3, 2), {}
        yield "Conv", {**common, "group": 4}, (1, 4, 9, 10), (4, 1, 3, 3), {}
        for ceil in (0, 1):
            pool = {**common, "kernel_shape": [3, 3], "ceil_mode": ceil}
            yield "MaxPool", pool, (1, 2, 9, 10), None, {}
            for order in (0, 1):
                indexed = {**pool, "storage_order": order, "outputs": 2}
                yield "MaxPool", {**indexed, "dilations": [1, 1]}, (2, 3, 9, 10), None, {}
            for count in (0, 1):
                yield "AveragePool", {**pool, "count_include_pad": count, "dilations": [1, 1]}, (1, 2, 9, 10), None, {}
    for order in (0, 1):  # small integers: many elements of a window are equal, and all may be as small as the padding
        yield "MaxPool", {**pool, "storage_order": order, "outputs": 2, "type": "uint8"}, (2, 3, 9, 10), None, {}
    for auto in ("SAME_UPPER", "SAME_LOWER", "VALID"):
        yield "Conv", {"auto_pad": auto, "strides": [2, 2]}, (1, 3, 8, 7), (2, 3, 3, 3), {}
        yield "MaxPool", {"auto_pad": auto, "strides": [2, 2], "kernel_shape": [3, 3]}, (1, 3, 8, 7), None, {}
    yield "Conv", {"pads": [1, 1]}, (2, 3, 11), (4, 3, 3), {}
    for axes in ([0], [-1, 1], [2, 0, 1]):
        yield "ReduceLogSumExp", {"axes": axes, "opset": 13}, (3, 4, 5), None, {}
    yield "ReduceLogSumExp", {"opset": 13}, (3, 4, 5), None, {}
    yield "ReduceLogSumExp", {"opset": 13}, (), None, {}
    yield "Conv", {}, (1, 2, 5, 5, 5), (3, 2, 2, 2, 2), {}
    for stride, dilation, group in itertools.product(
        (1, 2), (1, 2), (1, 2, 4)
    ):  # groups of one and of several channels
        common = {"strides": [stride, 3], "dilations": [1, dilation], "group": group}
        for more in ({}, {"pads": [1, 0, 2, 1]}, {"pads": [1, 1, 1, 1], "output_padding": [stride - 1, 2]}):
            for width in (1, 3):
                yield "ConvTranspose", {**common, **more}, (2, 4, 5, 6), (4, width, 3, 2), {}
    for auto in ("NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID"):
        yield "ConvTranspose", {"auto_pad": auto, "strides": [3, 2], "group": 2}, (1, 4, 4, 5), (4, 2, 4, 3), {}
        if auto != "VALID":
            shaped = {"auto_pad": auto, "strides": [3, 2], "output_shape": [10, 8]}
            yield "ConvTranspose", shaped, (1, 3, 4, 5), (3, 2, 4, 3), {}
    yield "ConvTranspose", {"strides": [2], "pads": [1, 1], "group": 2}, (2, 4, 7), (4, 3, 4), {}
    yield "ConvTranspose", {"strides": [2, 1, 2], "group": 3}, (1, 3, 3, 4, 3), (3, 2, 2, 3, 2), {}
    modes = ("half_pixel", "pytorch_half_pixel", "align_corners", "asymmetric")
    for mode, transformation, scale in itertools.product(("linear", "nearest"), modes, (0.75, 2.0, 1.7)):
        attributes = {"mode": mode, "coordinate_transformation_mode": transformation}
        for rounding in ("round_prefer_floor", "floor") if mode == "nearest" else ("round_prefer_floor",):
            scales = np.array([1, 1, scale, 2], dtype="float32")
            yield "Resize", {**attributes, "nearest_mode": rounding}, (1, 2, 6, 5), None, {"scales": scales}
    for scale, size in (
        (0.6, 10),
        (0.36, 50),
        (1.6, 20),
        (2.2, 12),
    ):  # positions on the edge of two elements
        for transformation, rounding in itertools.product(
            ("asymmetric", "half_pixel"), ("floor", "round_prefer_floor")
        ):
            named = {"coordinate_transformation_mode": transformation, "nearest_mode": rounding}
            yield "Resize", named, (1, 1, size, 2), None, {"scales": np.array([1, 1, scale, 1], dtype="float32")}
    for mode in ("constant", "reflect", "edge"):
        yield "Pad", {"mode": mode}, (1, 2, 5, 6), None, {"pads": np.array([0, 0, -1, 2, 0, 0, 2, -1], dtype="int64")}
    yield "Pad", {"pads": [0, 0, -1, 2, 0, 0, 2, -1], "value": 2.0, "opset": 10}, (1, 2, 5, 6), None, {}
    grid = rng.uniform(-1.3, 1.3, (2, 3, 4, 2)).astype("float32")
    for padding, corners in itertools.product(("zeros", "border", "reflection"), (0, 1)):
        sampled = {"padding_mode": padding, "align_corners": corners}
        yield "GridSample", sampled, (2, 2, 6, 5), None, {"grid": grid}
        within = grid / 1.3 if padding == "border" else grid
        yield "GridSample", {**sampled, "mode": "bicubic"}, (2, 2, 6, 5), None, {"grid": within}
    for mode, scale in itertools.product(("nearest", "linear"), (2.0, 1.5)):
        yield "Upsample", {"mode": mode}, (1, 2, 6, 4), None, {"scales": np.array([1, 1, 2, scale], dtype="float32")}
        if mode == "nearest":  # the linear one of opset 7 to 9 has factors for images alone in ONNX Runtime
            yield "Upsample", {"mode": mode, "opset": 7, "scales": [1.0, 1.0, 2.0, scale]}, (1, 2, 6, 4), None, {}
        factors = np.array([1, 1, 2, scale if mode == "nearest" else scale / 2], dtype="float32")
        yield "Resize", {"mode": mode, "opset": 10}, (1, 2, 6, 4), None, {"scales": factors}
    yield "GlobalLpPool", {"p": 3}, (2, 3, 4, 5), None, {}
    yield "MeanVarianceNormalization", {"axes": [0, 2]}, (2, 3, 4), None, {}
    norm = {name: rng.random(3).astype("float32") + 0.5 for name in ("scale", "shift", "mean", "variance")}
    for epsilon in ({"epsilon": 1e-3}, {"epsilon": 0.0}, {}):
        small = norm | {"variance": norm["variance"] * np.float32(1e-3)}
        yield "BatchNormalization", {"momentum": 0.8, **epsilon}, (2, 3, 4, 5), None, small
    sizes = np.array([1, 2, 7, 9], dtype="int64")
    yield "Resize", {"mode": "linear"}, (1, 2, 6, 5), None, {"sizes": sizes}
    for operator, opset in itertools.product(("Softmax", "LogSoftmax", "Hardmax"), (9, 11, 12, 13)):
        for axis in (None, 0, 1, 2, 3, -1, -3)[: 5 if opset < 11 else 7]:  # negative ones since opset 11
            yield operator, {"opset": opset, **({} if axis is None else {"axis": axis})}, (2, 3, 4, 5), None, {}
        yield operator, {"opset": opset}, (3, 7), None, {}
    yield from of_integers(rng)
    regions = {"rois": np.array([[0.3, 0.2, 3.1, 3.4], [1, 0, 4, 2.7]], "float32"), "images": np.array([0, 1])}
    for opset in (10, 15, 16):
        align: dict[str, Any] = {"output_height": 2, "output_width": 3, "sampling_ratio": 2, "spatial_scale": 0.9}
        yield "RoiAlign", {**align, "opset": opset}, (2, 3, 4, 5), None, regions


def of_integers(rng: np.random.Generator) -> Any:
    """Products of bytes with zero points. ONNX Runtime knows one for each column of a matrix, not for each channel."""
    signed = rng.integers(-128, 128, (6, 2, 3, 2)).astype("int8")
    zeros = {"x_zero": np.array(131, "uint8"), "w_zero": np.array(-3, "int8")}
    integers = {"type": "bytes", "result": "int32"}
    for more in ({}, {"pads": [1, 0, 2, 1], "strides": [2, 1]}, {"dilations": [1, 2]}, {"auto_pad": "SAME_UPPER"}):
        for given in ({"w": signed}, {"w": signed, **zeros}):
            yield "ConvInteger", {**integers, "opset": 10, "group": 2, **more}, (2, 4, 7, 8), None, given
    long = {"w": rng.integers(0, 256, (4, 3, 3)).astype("uint8"), "x_zero": np.array(7, "uint8")}
    yield "ConvInteger", {**integers, "opset": 10, "pads": [1, 1]}, (2, 3, 11), None, long
    matrix = rng.integers(-128, 128, (5, 3)).astype("int8")
    for given in (
        {},
        {"a_zero": np.array(9, "uint8")},
        {"a_zero": np.array(9, "uint8"), "b_zero": signed[0, 0, :, 0]},
    ):
        yield "MatMulInteger", {**integers, "opset": 10}, (2, 4, 5), None, {"b": matrix, **given}


def disputed(rng: np.random.Generator) -> Any:
    """Cases of which ONNX's text has two readings, and what the message says of each."""
    resize = {"scales": np.array([1, 1, 0.7, 1], dtype="float32")}
    yield "Resize", {}, (1, 1, 30, 2), None, resize, "by the rounding of float32 alone"
    yield "Resize", {"opset": 10}, (1, 1, 10, 2), None, resize, "does not say which one is nearest"
    beyond = {"grid": rng.uniform(1.1, 1.3, (1, 3, 4, 2)).astype("float32")}
    cubic = {"mode": "bicubic", "padding_mode": "border"}
    yield "GridSample", cubic, (1, 2, 6, 5), None, beyond, "beyond a border"


def main(block: int = 0) -> int:
    """1 when a result differs, or a disputed case has one; prints how many were compared.

    A ``block`` is how many elements of the columns of a convolution are multiplied at once.
    """
    if block:
        onnx_windows.BLOCK = block
    adapter = onnx_float64.Adapter()
    rng = np.random.default_rng(0)
    count = wrong = 0
    with tempfile.TemporaryDirectory() as scratch:
        path = os.path.join(scratch, "one.onnx")
        for operator, attributes, shape, kernel, extra in cases(rng):
            onnx.save(_model(operator, attributes, shape, kernel, extra, rng), path)
            x = _drawn(rng, shape, attributes)
            wanted = onnxruntime.InferenceSession(path).run(None, {"x": x})
            place = Place(scratch, {"model.onnx": path}, {"in:x": from_numpy(x[None])}, lambda stage: None)
            arrays = adapter.evaluate(EvaluateCall(batched=False).at(place)).arrays
            count += 1
            for index, expected in enumerate(wanted):
                found = to_numpy(arrays[f"out{index}"])[0]
                kind = np.float64 if expected.dtype == np.float32 else expected.dtype
                if found.dtype != kind or found.shape != expected.shape or not np.allclose(found, expected, atol=2e-5):
                    wrong += 1
                    print("DIFFERS", operator, attributes, shape, f"output {index}", found.shape, expected.shape)
        for operator, attributes, shape, kernel, extra, message in disputed(rng):
            onnx.save(_model(operator, attributes, shape, kernel, extra, rng), path)
            x = from_numpy(rng.standard_normal((1, *shape)).astype("float32"))
            place = Place(scratch, {"model.onnx": path}, {"in:x": x}, lambda stage: None)
            try:
                adapter.evaluate(EvaluateCall(batched=False).at(place))
                said = "a result"
            except Unsupported as refused:
                said = str(refused)
            if message not in said:
                wrong += 1
                print("DIFFERS", operator, attributes, "expected a refusal with", repr(message), "got", said)
    print(f"{count} compared, {wrong} differ")
    return 1 if wrong else 0


def _drawn(rng: np.random.Generator, shape: Any, attributes: Any) -> Any:
    if attributes.get("type") == "bytes":
        return rng.integers(0, 256, shape).astype("uint8")
    if attributes.get("type") == "uint8":
        return (rng.random(shape) < 0.2).astype("uint8")
    return rng.standard_normal(shape).astype("float32")


def _model(operator: str, attributes: Any, shape: Any, kernel: Any, extra: Any, rng: Any) -> Any:
    weights = []
    names = ["x"]
    attributes = dict(attributes)
    opset = attributes.pop("opset", OPSETS.get(operator, 19))
    results = ["y", "z"][: attributes.pop("outputs", 1)]
    kind = attributes.pop("type", "float32")
    given = helper.np_dtype_to_tensor_dtype(np.dtype("uint8" if kind == "bytes" else kind))
    answered = helper.np_dtype_to_tensor_dtype(np.dtype(attributes.pop("result"))) if "result" in attributes else given
    if kernel is not None:
        outputs = kernel[1] * attributes.get("group", 1) if operator == "ConvTranspose" else kernel[0]
        weights = [("w", rng.standard_normal(kernel)), ("b", rng.standard_normal(outputs))]
        names += ["w", "b"]
    if operator == "Resize" and opset > 10:
        names += ["", "scales"] if "scales" in extra else ["", "", "sizes"]
    else:
        names += list(extra)
    tensors = [numpy_helper.from_array(value.astype("float32"), name) for name, value in weights]
    tensors += [numpy_helper.from_array(value, name) for name, value in extra.items()]
    graph = helper.make_graph(
        [helper.make_node(operator, names, results, **attributes)],
        "one",
        [helper.make_tensor_value_info("x", given, shape)],
        [
            helper.make_tensor_value_info(name, type_of_it, [None] * len(shape))
            for name, type_of_it in zip(results, (answered, 7), strict=False)
        ],
        tensors,
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=9)


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:])))
