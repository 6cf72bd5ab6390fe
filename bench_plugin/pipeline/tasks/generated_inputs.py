"""The generated inputs of one ONNX file, under the file's own names and in its layout."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from bench_plugin.inventory.models import Constructor, InputSpec, Model
from bench_plugin.pipeline.array_sets import renamed
from bench_plugin.pipeline.tasks import inputs as generated

DTYPES = (
    "float16", "float32", "float64", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "bool",
)  # fmt: skip
NAMED = {"": "no tensor (a sequence, an optional or a map)", "object": "of type string"}


class GeneratedInputs:
    """Inputs for one file, generated on use; names and order are those of the file.

    ``parts`` identify them in recipes. ``batched`` says whether the first dimension of every input is the batch.
    ``described`` is the description that adapters get (name, dtype, shape, layout). ``samples`` makes the model's N
    samples of every input, [N, ...] of its declared dtype, named ``in:<name>``; it raises ValueError where the file's
    layout does not have the dimensions of the model's. ``second_binding`` makes one set of inputs at the second binding
    of symbols, and is None for a static model. Why there are no inputs is said by ``complaint`` (the file is not what
    the model declares), ``beyond`` (nothing here makes inputs of its types) or ``refused`` (the user's own do not fit);
    all are empty otherwise.
    """

    def __init__(self, model: Model, constructor: Constructor | None, seed: int, declared: Mapping[str, Any]) -> None:
        self._model = model if model.inputs else _model_of(model, declared)
        self._layout = constructor.layout if constructor else ""
        self._names = [row["name"] for row in declared["inputs"]]
        self.batched = generated.is_batched(self._model)
        self.parts = {
            "model": model.digest,
            "seed": seed,
            "samples": model.samples,
            "layout": self._layout,
            "names": self._names,
        }
        self.samples = renamed(
            generated.sample_set(self._model, seed, self._model.samples, self._layout), self._named
        )  # fmt: skip
        other = generated.second_binding_set(self._model, seed, self._layout)
        self.second_binding = renamed(other, self._named) if self._model.bindings > 1 else None
        described = generated.describe(self._model, self._layout)
        self.described = [
            {**row, "layout": mine["layout"]} for row, mine in zip(declared["inputs"], described, strict=False)
        ]
        self.refused = ""
        self.beyond = beyond(declared)
        self.complaint = self._complain(declared)
        self._declared = declared

    @property
    def binding(self) -> dict[str, int]:
        """The sizes of the file's symbolic dimensions in one sample, by the names that the file gives them."""
        found: dict[str, int] = {}
        binding = {**self._model.binding(0), generated.BATCH: 1}
        for row, spec in zip(self._declared["inputs"], self._model.inputs, strict=False):
            shape = generated.permuted(spec.bound(binding), spec.layout, self._layout)
            found.update({dim: size for dim, size in zip(row["shape"], shape, strict=False) if isinstance(dim, str)})
        return found

    def _named(self, values: Mapping[str, Any]) -> dict[str, Any]:
        return {f"in:{name}": value for name, value in zip(self._names, values.values(), strict=True)}

    def _complain(self, declared: Mapping[str, Any]) -> str:
        have, want = len(declared["inputs"]), len(self._model.inputs)
        return "" if have == want else f"the file takes {have} inputs ({', '.join(self._names)}), the model has {want}"


def beyond(declared: Mapping[str, Any]) -> str:
    """Why nothing can make inputs for the file; empty where it can be done."""
    for row in declared["inputs"]:
        if row["dtype"] not in DTYPES:
            named = NAMED.get(row["dtype"], row["dtype"])
            text = f"the harness does not support input {row['name']!r}, which is {named}"
            return f"{text}; it supports tensors of {', '.join(DTYPES)}"
        if row.get("unranked"):
            return f"the harness does not support input {row['name']!r}, which declares no number of dimensions"
    return ""


def _model_of(model: Model, declared: Mapping[str, Any]) -> Model:
    """The model of a file without a description: a symbolic batch is bound to 1 and 2, other symbols to 8 and 9."""
    symbols: dict[str, tuple[int, ...]] = {}
    specs = []
    for row in declared["inputs"]:
        shape: list[int | str] = []
        for index, dim in enumerate(row["shape"]):
            if isinstance(dim, int):
                shape.append(dim)
                continue
            name = generated.BATCH if index == 0 else (str(dim) or f"{row['name']}_{index}")
            symbols[name] = (1, 2) if index == 0 else (8, 9)
            shape.append(name)
        specs.append(InputSpec(row["name"], tuple(shape), row["dtype"], high=row.get("high", 0)))
    return replace(model, inputs=tuple(specs), symbols=symbols)
