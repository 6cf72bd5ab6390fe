"""The effects of quantising parts of layers, emulated by the adapter ``onnx_sensitivity``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from bench_plugin.characterise.sensitivity.findings import (
    Assignment,
    Effect,
    Finding,
    Layer,
    Part,
    bits_saved,
)
from bench_plugin.cli.shared.sensitivity.studied import CannotMeasure, Machine, Studied
from bench_plugin.compare.measures import scale_of
from bench_plugin.compare.quality import paired_drop
from bench_plugin.domain.outcome import Stage
from bench_plugin.pipeline.array_sets import joined
from bench_plugin.pipeline.judging.judge_quantised import numbered
from bench_plugin.pipeline.stages import CallSpec, Done, Task

ADAPTER = "onnx_sensitivity"

Array = np.ndarray[Any, Any]


class Emulation:
    """A model whose layers can be quantised; its layers and ranges are found when it is made.

    Raises CannotMeasure for a model without such layers, or whose outputs are no finite floating-point numbers.
    """

    def __init__(self, machine: Machine, studied: Studied) -> None:
        self.studied = studied
        self._machine = machine
        inputs, calibration = studied.inputs, studied.calibration
        found = self.task("profile", {}, arrays=joined(inputs.arrays, calibration.arrays))
        said = found.meta["profile"]
        self.ranges: Mapping[str, Sequence[float]] = said["ranges"]
        self.untouched: Mapping[str, int] = said["untouched"]
        self.results = [int(row["results"]) for row in said["layers"]]
        self.layers = [
            Layer(row["name"], row["named"], row["operator"], row["weights"], row["activations"])
            for row in said["layers"]
        ]
        self.outputs: list[Array] = list(numbered(found.arrays).values())
        self._judged = [place for place, values in enumerate(self.outputs) if values.dtype.kind == "f" and values.size]
        if not self._judged or not all(np.isfinite(self.outputs[place]).all() for place in self._judged):
            raise CannotMeasure(f"{studied.model.name}: the outputs are no finite floating-point numbers")

    @property
    def samples(self) -> int:
        """On how many inputs effects are measured."""
        return len(self.outputs[0])

    def findings(self, widths: Sequence[int], note: Any) -> list[Finding]:
        """The effect of every part at each number of bits, with all else in floating point. ``note`` tells progress."""
        found = []
        for number, layer in enumerate(self.layers):
            steps = [(Part(number, kind), bits) for kind in layer.kinds for bits in widths]
            effects = self.effects([{part: bits} for part, bits in steps])
            for (part, bits), effect in zip(steps, effects, strict=True):
                found.append(Finding(part, bits, effect, bits_saved(layer, part.kind, bits)))
            note(f"{number + 1} of {len(self.layers)} layers: {layer.name}")
        return found

    def measure(self, assignment: Assignment) -> Effect:
        """The effect of one assignment."""
        return self.effects([assignment])[0]

    def effects(self, assignments: Sequence[Assignment]) -> list[Effect]:
        """The effect of each assignment on the model. Raises CannotMeasure where one cannot be computed."""
        named = [{part.wire: bits for part, bits in one.items()} for one in assignments]
        said = {"assignments": named, "ranges": self.ranges, "answers": self.studied.labels is not None}
        found = self.task("measure", said)
        answers = found.arrays.get("answers")
        return [
            self._effect(noise, None if answers is None else answers[number], self.samples)
            for number, noise in enumerate(found.arrays["noise"])
        ]

    def effect_of(self, outputs: Sequence[Array]) -> Effect:
        """The effect that outputs [n, ...] for the first n inputs stand for."""
        count = len(outputs[0])
        noise = [
            float(np.linalg.norm((found.astype(np.float64) - expected[:count]).reshape(-1)))
            if found.shape == expected[:count].shape else float("inf")
            for found, expected in zip(outputs, self.outputs, strict=False)
        ]  # fmt: skip
        answers = None if self.studied.labels is None else outputs[0].reshape(count, -1).argmax(axis=1)
        return self._effect(np.array(noise), answers, count)

    def task(self, operation: str, said: Mapping[str, Any], *, arrays: Any = None) -> Done:
        """The finished stage of one operation of the adapter. Raises CannotMeasure where it fails."""
        studied = self.studied
        meta = {"batched": studied.inputs.batched, "threads": self._machine.tasks.threads, **said}
        call = CallSpec(operation, meta, arrays or studied.inputs.arrays)
        parts = {
            "file": studied.subject.origin, "inputs": studied.inputs.parts, "calibration": studied.calibration.parts,
        }  # fmt: skip
        limits = self._machine.tasks.limits(studied.model, ADAPTER)
        affinity = f"{studied.subject.origin} by layers"
        task = Task(
            Stage.REFERENCE, ADAPTER, (call,), parts, limits, studied.subject.files, affinity=affinity
        )  # fmt: skip
        done = self._machine.obtain(task)
        if done.failure:
            raise CannotMeasure(f"{studied.model.name}: {done.failure.message}")
        return done

    def _effect(self, noise: Array, answers: Array | None, count: int) -> Effect:
        """The effect of moving each output by its noise for the first ``count`` inputs; ``answers`` [count] are their
        classes.
        """
        errors = []
        for place in self._judged:
            unit = scale_of(self.outputs[place][:count]).norm
            errors.append(float(noise[place]) / unit if unit else float("inf") if noise[place] else 0.0)
        if answers is None or self.studied.labels is None:
            return Effect(max(errors))
        reference = self.outputs[0][:count].reshape(count, -1).argmax(axis=1)
        return Effect(max(errors), paired_drop(reference, answers, self.studied.labels[:count]))
