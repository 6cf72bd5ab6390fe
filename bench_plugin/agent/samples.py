"""Inputs and outputs of many samples: run one at a time, joined afterwards; and seeded images for warming up."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Callable, Dict, List, Mapping, Sequence

from bench_plugin.agent.adapter import Call
from bench_plugin.agent.arrays import from_numpy, to_numpy
from bench_plugin.agent.wire import Array

if TYPE_CHECKING:
    import numpy as np

    Arrays = List[np.ndarray[Any, Any]]

ROWS = "#rows"  # beside an output whose length varies: how many of its rows each sample has, [N]


def given(call: Call, prefix: str = "in") -> Arrays:
    """The call's arrays under ``prefix:``, in their order."""
    return [to_numpy(array) for name, array in call.arrays.items() if name.startswith(prefix + ":")]


def given_by_name(call: Call, prefix: str = "in") -> Dict[str, Any]:
    """The call's arrays under ``prefix:``, by name."""
    return {
        name.partition(":")[2]: to_numpy(array) for name, array in call.arrays.items() if name.startswith(prefix + ":")
    }


def one_by_one(run: Callable[[Arrays], Arrays], inputs: Arrays, batched: bool) -> List[Arrays]:
    """Outputs of each of N samples: batch-1 slices of batched inputs, ``x[i]`` of others."""
    return [run([x[i : i + 1] if batched else x[i] for x in inputs]) for i in range(len(inputs[0]))]


def joined(results: Sequence[Arrays], names: Sequence[str], batched: bool, ragged: bool = False) -> Dict[str, Any]:
    """N samples' outputs by name as [N, ...]; ``ragged`` ones are concatenated, with their lengths in ``name#rows``."""
    import numpy as np

    found: Dict[str, Any] = {}
    for index, name in enumerate(names):
        values = [result[index] for result in results]
        if ragged:
            found[name] = np.concatenate(values)
            found[name + ROWS] = np.array([len(value) for value in values], dtype=np.int64)
        else:
            found[name] = (
                np.concatenate(values) if batched and all(value.ndim for value in values) else np.stack(values)
            )
    return found


def numbered(count: int) -> List[str]:
    """Names of outputs that have none: out0, out1 ..."""
    return ["out%d" % index for index in range(count)]


def blobs(arrays: Mapping[str, Any], prefix: str = "") -> Dict[str, Array]:
    """Arrays for a reply, under ``prefix``."""
    return {prefix + name: from_numpy(values) for name, values in arrays.items()}


def output_names(call: Call, count: int) -> List[str]:
    """What the model declares its outputs to be called, when it declares as many as there are."""
    model: Any = call.meta["model"]
    declared = [str(row["name"]) for row in model.get("outputs", [])]
    return declared if len(declared) == count else numbered(count)


def images(seed: int, shape: Sequence[int]) -> np.ndarray[Any, Any]:
    """Low-frequency float32 fields [n, channels, height, width] of varied contrast with a little noise."""
    import numpy as np

    rng = np.random.default_rng([seed, 0x1A6E])
    count, channels, height, width = shape
    coarse = rng.standard_normal((count, channels, 8, 8))
    rows, columns = (np.linspace(0, 7, size) for size in (height, width))
    low_r, low_c = np.minimum(rows.astype(int), 6), np.minimum(columns.astype(int), 6)
    part_r, part_c = (rows - low_r)[:, None], columns - low_c
    by_row = coarse[:, :, low_r] * (1 - part_r) + coarse[:, :, low_r + 1] * part_r
    field = by_row[..., low_c] * (1 - part_c) + by_row[..., low_c + 1] * part_c
    contrast = rng.random((count, 1, 1, 1)) * 1.5 + 0.5
    values: np.ndarray[Any, Any] = (field * contrast + 0.1 * rng.standard_normal(tuple(shape))).astype(np.float32)
    return values


def save_images(path: str, shape: Sequence[int]) -> None:
    """Seeded images in [0, 1], channels last, as an .npy file."""
    import numpy as np

    count, height, width, channels = shape
    values = images(0, (count, channels, height, width)).transpose(0, 2, 3, 1)
    np.save(path, np.ascontiguousarray(1 / (1 + np.exp(-values)), dtype=np.float32), allow_pickle=False)
