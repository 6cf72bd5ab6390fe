"""Operator cases and generated graphs as subjects of a compiler, and what a run of one gave as comparable values."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bench_plugin.agent import packs
from bench_plugin.compare.operator_rules import Tensor, Value
from bench_plugin.pipeline.stages import Done
from bench_plugin.pipeline.tasks.corpus import CaseData, given_arrays, tensors
from bench_plugin.pipeline.tasks.subjects import InputSet, Subject

PORT = {"layout": "", "dtype": "", "shape": []}


def of_case(data: CaseData, path: Path) -> Subject:
    """A case, whose file lies at ``path``, with its inputs as those of a single run."""
    arrays, values = given_arrays(data)
    rows = [{**PORT, **row} for row in data.row["inputs"]]
    inputs = InputSet(lambda: arrays, {}, batched=False, once=True, values=values)
    binding = _binding(data.row["inputs"], arrays)
    return Subject(data.name, {"model.onnx": path}, rows, data.row["outputs"], binding, "", inputs)


def outputs_of(ran: Done) -> list[Value]:
    """The outputs of a single run: plain arrays ``out0`` ..., or the values that the reply describes."""
    described = ran.meta["run"].get("values")
    if described is None:
        names = sorted((name for name in ran.arrays if name.startswith("out")), key=lambda name: int(name[3:]))
        return [Tensor(str(ran.arrays[name].dtype.name), ran.arrays[name]) for name in names]

    def read(description: Any) -> Any:
        if description is None:
            return None
        if isinstance(description, list):
            return [read(item) for item in description]
        raw = ran.arrays[f"{packs.VALUE}{description['o']}"]
        return packs.tensor_of(description["d"], description["s"], raw, codes=True)

    return [tensors(read(value), value) for value in described]


def _binding(rows: list[dict[str, Any]], arrays: Mapping[str, Any]) -> dict[str, int]:
    """The sizes of symbolic dimensions: those of the case's own inputs."""
    found: dict[str, int] = {}
    for row in rows:
        given = arrays.get(f"in:{row['name']}")
        if given is not None:
            sizes = zip(row.get("shape", ()), given.shape, strict=False)
            found.update({dim: size for dim, size in sizes if isinstance(dim, str) and dim})
    return found
