"""Operator cases and generated graphs as subjects of a compiler, and the outputs of their runs as values to compare."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bench_plugin.agent import packs
from bench_plugin.compare.operators.values import Tensor, Value
from bench_plugin.domain.recipes import recipe
from bench_plugin.pipeline.array_sets import ArraySet, digests_of
from bench_plugin.pipeline.stages import Done
from bench_plugin.pipeline.tasks.corpus import CaseData, given_arrays, tensors
from bench_plugin.pipeline.tasks.subjects import InputSet, Subject
from bench_plugin.reach.processes.given_files import GivenFile

PORT = {"layout": "", "dtype": "", "shape": []}


def of_case(data: CaseData) -> Subject:
    """The subject of a case, whose ONNX file is in memory; its inputs [...] are those of a single run."""
    arrays, values = given_arrays(data)
    rows = [{**PORT, **row} for row in data.row["inputs"]]
    inputs = InputSet(ArraySet(lambda: arrays), {}, batched=False, once=True, values=values)
    binding = _binding(data.row["inputs"], arrays)
    file = GivenFile(Path(f"{data.name}.onnx"), hashlib.sha256(data.model).hexdigest(), data=data.model)
    return Subject(data.name, {"model.onnx": file}, rows, data.row["outputs"], binding, "", inputs)


def content_of(data: CaseData) -> str:
    """One hash of all that the calls of a case are given: its ONNX file, its arrays and its other values."""
    arrays, values = given_arrays(data)
    file = hashlib.sha256(data.model).hexdigest()
    return recipe(stage="case", file=file, arrays=list(digests_of(arrays).items()), values=values)


def outputs_of(ran: Done) -> list[Value]:
    """The outputs of a single run: its arrays ``out0``, ``out1`` ... [...], or the values that the reply describes."""
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
    """The sizes of symbolic dimensions, taken from the shapes of the case's inputs."""
    found: dict[str, int] = {}
    for row in rows:
        given = arrays.get(f"in:{row['name']}")
        if given is not None:
            sizes = zip(row.get("shape", ()), given.shape, strict=False)
            found.update({dim: size for dim, size in sizes if isinstance(dim, str) and dim})
    return found
