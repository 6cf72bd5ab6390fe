"""Subjects that take several samples per call, and sets of inputs whose number is a multiple of that."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from bench_plugin.pipeline.array_sets import identified
from bench_plugin.pipeline.tasks.subjects import InputSet, Subject
from bench_plugin.reach.processes.leased_agent import Limits

if TYPE_CHECKING:
    Arrays = Mapping[str, np.ndarray[Any, Any]]

COPIES = 2  # of its inputs that an agent has at least: as they came, and as they are bound to the runtime's call
BATCHES = 2  # of inputs that rotate in a timed run, at least
MIB = 2**20


def batched(subject: Subject, batch: int) -> Subject:
    """The subject with ``batch`` samples per call: it is compiled for that many where its compiler fixes shapes."""
    symbols = {row["shape"][0] for row in subject.described if row["shape"] and isinstance(row["shape"][0], str)}
    example = whole_batches(subject.inputs, batch).arrays
    return replace(
        subject, batch=batch, binding={**subject.binding, **dict.fromkeys(symbols, batch)}, second_binding=None,
        example=(lambda: {name: values[:batch] for name, values in example().items()}) if subject.example() else dict,
    )  # fmt: skip


def why_not(subject: Subject, batch: int) -> str:
    """Why the model takes one sample per call, as its file declares its inputs; empty where it takes ``batch``."""
    fixed = [row for row in subject.described if not row["shape"] or isinstance(row["shape"][0], int)]
    if subject.inputs.batched and not fixed and not subject.inputs.once:
        return ""
    shown = ", ".join(f"{row['name']} {list(row['shape'])}" for row in fixed or subject.described) or "no input"
    return f"batch {batch}: the first dimension of every input must be symbolic; the model takes {shown}"


def whole_batches(given: InputSet, batch: int) -> InputSet:
    """The N samples of a set, followed by as many of its first ones as make N a multiple of ``batch``."""
    if batch == 1 or given.once:
        return given
    identity = ("whole batches", batch, tuple(sorted(given.arrays.digests().items())))

    def arrays() -> Arrays:
        return {name: values[np.arange(-(-len(values) // batch) * batch) % len(values)]
                for name, values in given.arrays().items()}  # fmt: skip

    return replace(given, arrays=identified(identity, arrays), parts={**given.parts, "whole batches": batch})


def only_first(arrays: Arrays, count: int) -> dict[str, Any]:
    """Outputs [N, ...] without those of samples that filled the last batch: [count, ...]; other arrays as they are."""
    return {name: values[:count] if name.startswith("out") else values for name, values in arrays.items()}


def beyond_memory(subject: Subject, samples: int, limits: Limits, ram_bytes: int = 0) -> str:
    """Why ``samples`` inputs do not fit into the memory of a stage or of its board; empty where they may fit.

    It counts what is certain, which are the inputs alone: what the model needs between its layers is not known before
    it runs.
    """
    one = sum(int(values[:1].nbytes) for values in subject.inputs.arrays().values())
    needed = COPIES * samples * one
    for size, what in ((limits.memory_bytes, "the limit of a stage"), (ram_bytes, "the RAM of its target")):
        if size and needed > size:
            return (
                f"batch {subject.batch}: its inputs alone take {needed / MIB:,.1f} MiB ({samples} samples, {COPIES} "
                f"copies), and {what} is {size / MIB:,.1f} MiB"
            )
    return ""
