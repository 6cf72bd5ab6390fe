"""Seeded inputs of a model: the same numbers for every framework, in the layout that each declares."""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from bench_plugin.inventory.models import InputSpec, Model
from bench_plugin.pipeline.array_sets import ArraySet, identified

if TYPE_CHECKING:
    import numpy as np

BATCH = "batch"


def is_batched(model: Model) -> bool:
    """Whether the first dimension of every input is the batch symbol."""
    return all(spec.shape and spec.shape[0] == BATCH for spec in model.inputs)


def samples(model: Model, seed: int, count: int, layout: str = "") -> dict[str, np.ndarray[Any, Any]]:
    """``count`` distinct samples of every input by name, at the first binding of the symbols, in its declared dtype.

    An input of a batched model has the shape [count, ...], where one sample is [1, ...]; any other [count, *shape].
    The same seed gives the same numbers everywhere. Raises ValueError as :func:`to_layout` does.
    """
    binding = {**model.binding(0), BATCH: 1}
    arrays = {}
    for spec in model.inputs:
        shape = spec.bound(binding)
        per_sample = shape[1:] if is_batched(model) else shape
        arrays[spec.name] = to_layout(
            _generate(spec, seed, (count, *per_sample)), spec.layout, layout, is_batched(model)
        )
    return arrays


def second_binding(model: Model, seed: int, layout: str = "") -> dict[str, np.ndarray[Any, Any]]:
    """One set of inputs by name at the second binding of the symbols, which includes the batch: [batch, ...] or [...].

    Raises ValueError as :func:`to_layout` does.
    """
    binding = model.binding(1)
    return {
        spec.name: to_layout(_generate(spec, seed + 1, spec.bound(binding)), spec.layout, layout, batched=True)
        for spec in model.inputs
    }


def sample_set(model: Model, seed: int, count: int, layout: str = "") -> ArraySet:
    """The arrays of :func:`samples`, hashed once for all files and cells that take them."""
    identity = ("samples", model.inputs, _symbols(model), seed, count, layout)
    return identified(identity, lambda: samples(model, seed, count, layout))


def second_binding_set(model: Model, seed: int, layout: str = "") -> ArraySet:
    """The arrays of :func:`second_binding`, hashed once for all files and cells that take them."""
    identity = ("second binding", model.inputs, _symbols(model), seed, layout)
    return identified(identity, lambda: second_binding(model, seed, layout))


def fitted(model: Model, images: np.ndarray[Any, Any], layout: str = "") -> np.ndarray[Any, Any]:
    """The images [N, channels, height, width] of a dataset as [N, ...], the shape and layout of the model's only input.

    The model must be batched; the dtype stays. Raises ValueError for images of another size, or as
    :func:`to_layout` does.
    """
    spec = model.inputs[0]
    values = images.reshape(len(images), *spec.bound({**model.binding(0), BATCH: 1})[1:])
    return to_layout(values, spec.layout, layout, batched=True)


def to_layout(values: np.ndarray[Any, Any], have: str, want: str, batched: bool) -> np.ndarray[Any, Any]:
    """Permute ``values`` from layout ``have`` to ``want``, such as NCHW to NHWC; unchanged where either is "".

    ``values`` has the shape [N, ...] with one dimension for each letter of the layout; if not ``batched``, axis 0
    counts samples and comes before them. Raises ValueError where the layouts do not name the same dimensions.
    """
    import numpy as np

    if not have or not want or have == want:
        return values
    if sorted(have) != sorted(want):
        raise ValueError(f"layouts {have} and {want} do not name the same dimensions")
    order = [have.index(dim) for dim in want]
    if not batched:  # samples of an unbatched model have one more axis in front
        order = [0, *(index + 1 for index in order)]
    return np.ascontiguousarray(values.transpose(order))


def permuted(shape: tuple[int, ...], have: str, want: str) -> tuple[int, ...]:
    """A shape of layout ``have`` in the order of layout ``want``; unchanged where either is ""."""
    return tuple(shape[have.index(dim)] for dim in want) if have and want and have != want else shape


def describe(model: Model, layout: str = "") -> list[dict[str, Any]]:
    """The description of the inputs that adapters get, in the given layout: name, dtype, shape, layout and values."""
    rows = []
    for spec in model.inputs:
        shape: list[int | str] = list(spec.shape)
        if spec.layout and layout and spec.layout != layout:
            shape = [shape[spec.layout.index(dim)] for dim in layout]
        rows.append({
            "name": spec.name, "dtype": spec.dtype, "shape": shape, "layout": layout if spec.layout else "",
            "values": spec.values, "high": spec.high,
        })  # fmt: skip
    return rows


def _symbols(model: Model) -> tuple[tuple[str, tuple[int, ...]], ...]:
    return tuple((name, tuple(values)) for name, values in sorted(model.symbols.items()))


def _generate(spec: InputSpec, seed: int, shape: tuple[int, ...]) -> np.ndarray[Any, Any]:
    import numpy as np

    rng = np.random.default_rng([seed, zlib.crc32(spec.name.encode())])
    if spec.dtype == "bool":
        return rng.integers(0, 2, shape).astype(bool)
    if spec.dtype.startswith(("int", "uint")):
        return rng.integers(0, spec.high or 16, shape).astype(spec.dtype)
    if spec.values == "uniform":
        return np.asarray(rng.random(shape) * (spec.high or 1), dtype=spec.dtype)
    if spec.values == "image":
        return np.asarray(_images(rng, shape), dtype=spec.dtype)
    if spec.values == "pixels":  # images with values in [0, 1], as from image files
        flat = len(shape) < 3
        side = round(shape[-1] ** 0.5) if flat else 0
        fields = _images(rng, (shape[0], side, side) if flat else shape)
        return np.asarray(1 / (1 + np.exp(-2 * fields)), dtype=spec.dtype).reshape(shape)
    if spec.high:  # a mask in floating point
        return rng.integers(0, spec.high, shape).astype(spec.dtype)
    return rng.standard_normal(shape).astype(spec.dtype)


def _images(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray[Any, Any]:
    """Low-frequency fields of varied contrast with a little noise; networks respond differently to white noise."""
    import numpy as np

    *lead, height, width = shape
    coarse = rng.standard_normal((*lead, 8, 8))
    field = np.einsum("...ij,hi,wj->...hw", coarse, _interpolation(height), _interpolation(width), optimize=True)
    contrast = rng.random((shape[0], *(1 for _ in shape[1:]))) * 1.5 + 0.5
    return np.asarray(field * contrast + 0.1 * rng.standard_normal(shape))


def _interpolation(size: int) -> np.ndarray[Any, Any]:
    """Linear interpolation from 8 points to ``size``: a [size, 8] matrix."""
    import numpy as np

    position = np.clip((np.arange(size) + 0.5) * 8 / size - 0.5, 0, 7)
    low = np.minimum(position.astype(int), 6)
    matrix = np.zeros((size, 8))
    matrix[np.arange(size), low] = 1 - (position - low)
    matrix[np.arange(size), low + 1] += position - low
    return matrix


def stack_names(arrays: Mapping[str, Any], prefix: str) -> dict[str, Any]:
    """The arrays whose names begin with ``prefix:``, under the rest of their names, in their order."""
    return {name.split(":", 1)[1]: value for name, value in arrays.items() if name.startswith(prefix + ":")}
