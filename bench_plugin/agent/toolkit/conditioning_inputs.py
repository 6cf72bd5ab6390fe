"""Seeded inputs for the pass that conditions a model, of the shapes, types and ranges that the model declares."""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING, Any, List, Tuple

from bench_plugin.agent.toolkit import conditioning, samples

if TYPE_CHECKING:
    import numpy as np

    from bench_plugin.agent.contract import ModelDescription, Port

    Values = np.ndarray[Any, Any]

BATCH = "batch"  # the symbolic dimension that counts samples
IDS = 16  # identifiers are below this where the model declares no table's size


def passes(model: ModelDescription, seed: int, channels_last: bool = False) -> List[List[Values]]:
    """The inputs of each pass, in the model's order, of its shapes and dtypes; statistics are the mean over passes.

    It is one pass over a batch of CALIBRATION_IMAGES samples where the model has a symbolic batch, or where the first
    dimension of every input is 1; else as many passes over one sample each. ``channels_last``: images of a model that
    declares no layout have their channels last.
    """
    count = conditioning.CALIBRATION_IMAGES
    ports = model.inputs
    if any(BATCH in port.shape for port in ports):
        at = {**model.binding, BATCH: count}
        return [[_values(port, seed, place, _bound(port, at), channels_last) for place, port in enumerate(ports)]]
    shapes = [_bound(port, model.binding) for port in ports]
    if all(shape[:1] == (1,) for shape in shapes):
        stacked = [(count, *shape[1:]) for shape in shapes]
        return [[_values(port, seed, place, stacked[place], channels_last) for place, port in enumerate(ports)]]
    each = [
        _values(port, seed, place, (count, *shapes[place]), channels_last) for place, port in enumerate(ports)
    ]  # fmt: skip
    return [[values[index] for values in each] for index in range(count)]


def _bound(port: Port, binding: Any) -> Tuple[int, ...]:
    return tuple(int(size) for size in port.bound(binding))


def _values(port: Port, seed: int, place: int, shape: Tuple[int, ...], channels_last: bool) -> Values:
    """Values [...] of ``shape`` as the model declares them for its input number ``place``."""
    import numpy as np

    rng = np.random.default_rng([seed, 0xC0D, zlib.crc32(port.name.encode())])
    if port.dtype == "bool":
        return rng.integers(0, 2, shape).astype(bool)
    if port.dtype.startswith(("int", "uint")):
        return rng.integers(0, port.high or IDS, shape).astype(port.dtype)
    if port.values == "uniform":
        return np.asarray(rng.random(shape) * (port.high or 1), dtype=port.dtype)
    if port.high and port.values not in ("image", "pixels"):  # a mask in floating point
        return rng.integers(0, port.high, shape).astype(port.dtype)
    image = port.values in ("image", "pixels") and len(shape) == 4
    values = _images(port, seed + place, shape, channels_last) if image else rng.standard_normal(shape)
    if port.values == "pixels":
        values = 1 / (1 + np.exp(-2 * values))
    return np.asarray(values, dtype=port.dtype)


def _images(port: Port, seed: int, shape: Tuple[int, ...], channels_last: bool) -> Values:
    """Images of ``shape`` [N, ...] in the layout of the input, with the same numbers in every layout."""
    import numpy as np

    layout = port.layout if sorted(port.layout) == sorted("NCHW") else "NHWC" if channels_last else "NCHW"
    found = samples.images(seed, [shape[layout.index(dim)] for dim in "NCHW"])
    return np.ascontiguousarray(found.transpose(["NCHW".index(dim) for dim in layout]))
