"""A user's own inputs of an ONNX file (``--bench-inputs``): fitted to what it declares, or refused with a reason."""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from bench_plugin.inventory.inputs_file import OPTION, InputsFile
from bench_plugin.inventory.models import Model
from bench_plugin.pipeline.array_sets import ArraySet, identified
from bench_plugin.pipeline.tasks.generated_inputs import GeneratedInputs, beyond

if TYPE_CHECKING:
    import numpy as np

    Values = np.ndarray[Any, Any]

VARIED = 8  # samples that are made of a single one
SPREAD = 0.1
SAMPLES = "for all of them one sample, or N samples with N as a first dimension"


class GivenInputs(GeneratedInputs):
    """Inputs for one file from a user's arrays; see :class:`GeneratedInputs` for what it offers.

    An array with one dimension more than the file declares holds N samples. One with as many holds the rows of a batch
    where the first dimension of every input is symbolic, samples where it is 1 in the file and more in every array, and
    else a single sample. The verdict is about how outputs change
    with the inputs, so a single sample is followed by others: its floating-point numbers times 1 + 0.1 N(0, 1), seeded.
    """

    def __init__(self, model: Model, given: InputsFile, seed: int, declared: Mapping[str, Any]) -> None:
        rows = declared["inputs"]
        self._names = [row["name"] for row in rows]
        self._sizes: dict[str, int] = {}
        self.beyond = beyond(declared)
        given_arrays = _apart(given.arrays, rows)
        self.complaint = "" if self.beyond else _complaint(given_arrays, rows)
        self.refused = f"{OPTION}: {given.path.name}: {self.complaint}" if self.complaint else ""
        fits = bool(rows) and not self.beyond and not self.complaint
        stacked = fits and _is_stacked(given_arrays, rows)
        self.batched = not stacked and all(row["shape"] and isinstance(row["shape"][0], str) for row in rows)
        self.parts = {"given": given.digest, "seed": seed, "names": self._names}
        self.described = [{**row, "layout": ""} for row in rows]
        self.second_binding = None
        if fits:
            self._sizes = _sizes(given_arrays, rows, stacked)
            if self.batched:
                self._sizes.update({row["shape"][0]: 1 for row in rows})
        whole = stacked or self.batched

        def arrays() -> dict[str, Values]:
            chosen = {name: given_arrays[name] if whole else given_arrays[name][None] for name in self._names}
            return {f"in:{name}": values for name, values in _several(chosen, seed).items()}

        self.samples: ArraySet = identified(("given", given.digest, seed, tuple(self._names), whole), arrays)

    @property
    def binding(self) -> dict[str, int]:
        """The sizes of the file's symbolic dimensions in one sample, by the names that the file gives them."""
        return dict(self._sizes)


def _apart(arrays: Mapping[str, Values], rows: Sequence[Mapping[str, Any]]) -> Mapping[str, Values]:
    """The arrays, each [N, ...] as [N, 1, ...] where the file takes one row and all have several."""
    for row in rows:
        values = arrays.get(row["name"])
        if values is None or values.ndim != len(row["shape"]) or not row["shape"] or row["shape"][0] != 1:
            return arrays
    names = [row["name"] for row in rows]
    if any(len(arrays[name]) < 2 for name in names):
        return arrays
    return {**arrays, **{name: arrays[name][:, None] for name in names}}


def _complaint(arrays: Mapping[str, Values], rows: Sequence[Mapping[str, Any]]) -> str:
    """Why the arrays do not fit the file; empty where they do."""
    wanted = ", ".join(_shown(row) for row in rows) or "no inputs"
    missing = [row["name"] for row in rows if row["name"] not in arrays]
    unknown = [name for name in arrays if name not in {row["name"] for row in rows}]
    if missing or unknown:
        text = f"there is no array {missing[0]!r}" if missing else f"no input has the name of the array {unknown[0]!r}"
        return f"{text}; the model takes {wanted}"
    for row in rows:
        values = arrays[row["name"]]
        if values.dtype.name != row["dtype"]:
            return f"array {row['name']!r} is {values.dtype.name}; the model takes {wanted}"
    ranks = {row["name"]: arrays[row["name"]].ndim - len(row["shape"]) for row in rows}
    wrong = next((name for name, more in ranks.items() if more not in (0, 1)), "")
    if wrong or len(set(ranks.values())) > 1:
        name = wrong or next(iter(ranks))
        text = f"array {name!r} has the shape {list(arrays[name].shape)}"
        return f"{text}; the model takes {wanted}, {SAMPLES}"
    stacked = 1 in ranks.values()
    for row in rows:
        shape = arrays[row["name"]].shape[int(stacked) :]
        if any(isinstance(want, int) and want != have for want, have in zip(row["shape"], shape, strict=True)):
            text = f"array {row['name']!r} has the shape {list(arrays[row['name']].shape)}"
            return f"{text}; the model takes {wanted}, {SAMPLES}"
    return _counts(arrays, rows, stacked)


def _counts(arrays: Mapping[str, Any], rows: Sequence[Mapping[str, Any]], stacked: bool) -> str:
    """Why numbers of samples, or sizes of one symbolic dimension, contradict each other; empty where they do not."""
    counts = {row["name"]: len(arrays[row["name"]]) for row in rows} if stacked else {}
    if len(set(counts.values())) > 1:
        return f"the arrays hold different numbers of samples: {counts}"
    if 0 in [arrays[row["name"]].size for row in rows]:
        return "there is an array without elements"
    known: dict[str, int] = {}
    for row in rows:
        for dim, size in zip(row["shape"], arrays[row["name"]].shape[int(stacked) :], strict=True):
            if isinstance(dim, str) and dim and known.setdefault(dim, size) != size:
                return f"dimension {dim!r} is {known[dim]} in one array and {size} in {row['name']!r}"
    return ""


def _is_stacked(arrays: Mapping[str, Any], rows: Sequence[Mapping[str, Any]]) -> bool:
    return bool(arrays[rows[0]["name"]].ndim > len(rows[0]["shape"]))


def _sizes(arrays: Mapping[str, Any], rows: Sequence[Mapping[str, Any]], stacked: bool) -> dict[str, int]:
    pairs = [
        (dim, size)
        for row in rows
        for dim, size in zip(row["shape"], arrays[row["name"]].shape[int(stacked) :], strict=True)
    ]
    return {dim: size for dim, size in pairs if isinstance(dim, str)}


def _shown(row: Mapping[str, Any]) -> str:
    return f"{row['name']} {row['dtype']}[{', '.join(str(dim) or '?' for dim in row['shape'])}]"


def _several(arrays: Mapping[str, Values], seed: int) -> dict[str, Values]:
    """The samples [N, ...]; a single one is followed by varied ones."""
    import numpy as np

    if not arrays or len(next(iter(arrays.values()))) > 1:
        return dict(arrays)
    found = {}
    for name, values in arrays.items():
        rng = np.random.default_rng([seed, 0x91F, zlib.crc32(name.encode())])
        more = np.repeat(values, VARIED, axis=0)
        if values.dtype.kind == "f":
            factors = 1 + SPREAD * rng.standard_normal(more.shape)
            factors[0] = 1
            more = (more * factors).astype(values.dtype)
        found[name] = more
    return found
