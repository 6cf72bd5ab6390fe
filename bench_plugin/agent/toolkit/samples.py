"""Inputs and outputs of many samples: run one at a time, joined afterwards; and seeded images."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Callable, Dict, Iterable, Iterator, List, Mapping, Optional, Sequence, Union

from bench_plugin.agent import packs
from bench_plugin.agent.adapter import Reply
from bench_plugin.agent.arrays import from_numpy
from bench_plugin.agent.contract import RunCall, RunImportedCall
from bench_plugin.agent.wire import Array

if TYPE_CHECKING:
    import numpy as np

    Arrays = List[np.ndarray[Any, Any]]

Values = List[Any]  # arrays; where a tool takes them, also lists (sequences) and None (empty optionals)
Run = Callable[[Values], Values]

ROWS = "#rows"  # beside an output whose length varies: how many of its rows each sample has, [N]


def answered(
    call: Union[RunCall, RunImportedCall], run: Run, inputs: Sequence[Any], meta: Optional[Mapping[str, object]] = None
) -> Reply:
    """The reply to a call that runs a model: outputs ``out0``, ``out1`` ..., and ``meta``.

    ``run`` takes the inputs of one sample and returns its outputs; ``inputs`` are the call's, in the order that ``run``
    takes them.
    """
    return reply(call, results(call, run, inputs), meta)


def results(call: Union[RunCall, RunImportedCall], run: Run, inputs: Sequence[Any]) -> List[Values]:
    """Outputs of each of N samples; of one run where the call says ``once``, or where the model takes nothing."""
    if _at_once(call):
        return [run(list(inputs))]
    return one_by_one(run, inputs, call.batched)


def reply(
    call: Union[RunCall, RunImportedCall], outputs: Sequence[Values], meta: Optional[Mapping[str, object]] = None
) -> Reply:
    """The reply with what :func:`results` gave, for whoever looks at it in between."""
    if _at_once(call):
        described, arrays = packs.reply(outputs[0])
        return Reply({**(meta or {}), **described}, arrays)
    names = numbered(len(outputs[0]))
    return Reply(dict(meta or {}), blobs(joined(outputs, names, call.batched, call.ragged)))


def _at_once(call: Union[RunCall, RunImportedCall]) -> bool:
    return call.once or not call.inputs


def one_by_one(run: Run, inputs: Sequence[Any], batched: bool) -> List[Values]:
    """Outputs of each of N samples: batch-1 slices of batched inputs, ``x[i]`` of others."""
    return [run([x[i : i + 1] if batched else x[i] for x in inputs]) for i in range(len(inputs[0]))]


def feeds(arrays: Mapping[str, Any], batched: bool) -> Iterator[Dict[str, Any]]:
    """N samples one after another, each as a model takes it, by name; none where there are no arrays."""
    for index in range(min((len(values) for values in arrays.values()), default=0)):
        yield {name: x[index : index + 1] if batched else x[index] for name, x in arrays.items()}


def computed_in(dtypes: Iterable[str]) -> str:
    """The precision that outputs were computed in, by numpy's names of their types; "" for several, or for none."""
    named = {"float32": "fp32", "bfloat16": "bf16"}
    computed = sorted({named[dtype] for dtype in dtypes if dtype in named})
    return computed[0] if len(computed) == 1 else ""


def doubled(values: Any) -> Any:
    """Floating point numbers as float64, anything else as it is."""
    return values.astype("float64") if values.dtype.kind == "f" else values


def joined(outputs: Sequence[Arrays], names: Sequence[str], batched: bool, ragged: bool = False) -> Dict[str, Any]:
    """N samples' outputs by name as [N, ...]; ``ragged`` ones are concatenated, with their lengths in ``name#rows``."""
    import numpy as np

    found: Dict[str, Any] = {}
    for index, name in enumerate(names):
        values = [result[index] for result in outputs]
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
