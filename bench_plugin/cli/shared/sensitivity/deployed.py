"""Layers quantised to 8 bits, compiled and run by compilers, beside the simulation of the same graphs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from bench_plugin.characterise.sensitivity.deployed import Deployed
from bench_plugin.characterise.sensitivity.gap import Gap, gap
from bench_plugin.cli.shared.sensitivity.emulated import Emulation
from bench_plugin.cli.shared.sensitivity.studied import Machine
from bench_plugin.domain.cell import Cell, Check
from bench_plugin.domain.errors import UsageError
from bench_plugin.domain.texts.choices import hint
from bench_plugin.pipeline.array_sets import ArraySet
from bench_plugin.pipeline.judging.judge_quantised import numbered
from bench_plugin.pipeline.stages import Done
from bench_plugin.pipeline.tasks.subjects import InputSet

PRECISION, GRAPH = "w8a8", "qdq"
ALL = "all"
MOST_ELEMENTS = 1 << 22  # of the results of layers that are compared in one graph, over all inputs


def compilers(machine: Machine, names: Sequence[str]) -> list[str]:
    """The compilers that take a graph with QuantizeLinear, out of ``names``, of which ``all`` stands for each of them.

    Raises UsageError for a name that is none of them.
    """
    able = [
        name for name, adapter in machine.workspace.catalog.of_kind("compiler").items()
        if GRAPH in adapter.graphs.get(PRECISION, ()) and "onnx" in adapter.takes and "local" in adapter.targets
    ]  # fmt: skip
    if list(names) == [ALL]:
        return able
    for name in names:
        if name not in able and name.partition("[")[0] not in able:
            raise UsageError(
                f"--compilers: {name!r} is no compiler that takes a model with QuantizeLinear; {hint(name, able)}"
            )
    return list(names)


class Deployment:
    """Compiles and runs layers of a model."""

    def __init__(self, machine: Machine, emulation: Emulation) -> None:
        self._machine = machine
        self._emulation = emulation

    def alone(self, compiler: str, note: Callable[[str], None]) -> list[Deployed]:
        """Every layer on its own, in the order of the file. ``note`` tells progress."""
        found = []
        for number, layer in enumerate(self._emulation.layers):
            found.append(self.layers(compiler, (number,)))
            note(f"{compiler}: {number + 1} of {len(self._emulation.layers)} layers: {layer.name}")
        return found

    def together(self, compiler: str) -> Deployed:
        """All layers at once."""
        return self.layers(compiler, tuple(range(len(self._emulation.layers))))

    def layers(self, compiler: str, numbers: tuple[int, ...]) -> Deployed:
        """These layers quantised, compiled and run. Raises CannotMeasure where the graph cannot be made."""
        elements = sum(self._emulation.results[number] for number in numbers)
        count = min(self._emulation.samples, max(2, MOST_ELEMENTS // max(elements, 1)))
        said = {"ranges": self._emulation.ranges, "layers": list(numbers), "samples": count}
        made = self._emulation.task("quantise", said)
        own = len(self._emulation.outputs)
        simulated = self._emulation.effect_of(list(numbered(made.arrays).values())[:own])
        found = Deployed(compiler, numbers, count, simulated)
        ran, integer = self._ran(compiler, made, count)
        if ran.failure:
            return replace(found, failure=f"{ran.failure.stage}: {ran.failure.message}", integer=integer)
        outputs = list(numbered(ran.arrays).values())
        if len(outputs) != own + len(numbers):
            text = f"it gave {len(outputs)} outputs where the graph has {own + len(numbers)}"
            return replace(found, failure=text, integer=integer)
        gaps = {}
        for place, number in enumerate(numbers):
            one = _gap(made.arrays[f"steps{place}"], outputs[own + place], made.arrays.get(f"tied{place}"))
            if one is not None:
                gaps[number] = one
        return replace(found, deployed=self._emulation.effect_of(outputs[:own]), gaps=gaps, integer=integer)

    def _ran(self, compiler: str, made: Done, count: int) -> tuple[Done, str]:
        """The stage that ran the compiled graph on the first ``count`` inputs, and what was said of its kernels."""
        studied = self._emulation.studied
        tasks = self._machine.compile_tasks
        cell: Cell = replace(studied.cell, check=Check.EQUIVALENCE, compiler=compiler, precision=PRECISION, graph=GRAPH)
        outputs = [*studied.subject.outputs, *made.meta["quantise"]["outputs"]]
        inputs = _first(studied.inputs, count)
        subject = replace(
            studied.subject, origin=made.key, files={"model.onnx": made.given["model.onnx"]}, outputs=outputs,
            inputs=inputs, second_binding=None, meta={"output_scales": [None] * len(outputs)},
        )  # fmt: skip
        limits = self._machine.tasks.limits(studied.model, tasks.adapter(cell).name)
        if tasks.in_one_process(cell):
            done = self._machine.obtain(tasks.compile_and_run(cell, subject, limits))
            return done, "" if done.failure else str(done.meta["compile"].get("integer", ""))
        compiled = self._machine.obtain(tasks.compile(cell, subject, limits))
        if compiled.failure:
            return compiled, ""
        integer = str(compiled.meta["compile"].get("integer", ""))
        return self._machine.obtain(tasks.run(cell, subject, compiled, limits)), integer


def _first(inputs: InputSet, count: int) -> InputSet:
    """The first ``count`` samples of a set of inputs."""
    own = inputs.arrays
    arrays = ArraySet(
        lambda: {name: values[:count] for name, values in own().items()},
        lambda: {name: f"{digest} first {count}" for name, digest in own.digests().items()},
    )
    return replace(inputs, arrays=arrays, parts={**inputs.parts, "first": count})


def _gap(unrounded: Any, integers: Any, tied: Any) -> Gap | None:
    """The gap of a layer; None where the integers have another shape, as those of another layout have."""
    return gap(unrounded, integers, tied) if unrounded.shape == integers.shape else None
