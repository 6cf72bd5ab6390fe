"""Whether the layers that were read back from an artefact are the model: they are put together in float64.

Layers that are right one by one, with the constants of the file, say nothing of a block between them that a tool leaves
out. So they are evaluated one after another, unrounded and with the constants of the file, and compared with the file.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from bench_plugin.checks.compiled.compiling import Compiled, CompiledModels
from bench_plugin.compare.chosen import Chosen
from bench_plugin.compare.measures import distance, scale_of
from bench_plugin.domain.outcome import Failure
from bench_plugin.pipeline.cell_run import CellRun
from bench_plugin.pipeline.judging.judge import ReferenceOutputs
from bench_plugin.pipeline.judging.judge_quantised import numbered
from bench_plugin.pipeline.stages import Done, Task
from bench_plugin.pipeline.tasks import layer_tasks
from bench_plugin.pipeline.tasks.subjects import InputSet

NEAR = 1e-3  # of a step: how far an output may be off the integers that it was made from


class Outputs(NamedTuple):
    """What the layers as one whole give for the first n inputs: ``values`` [n, ...] by the names of the file's outputs.

    Of those that are the numbers of chosen elements, ``chosen`` has what they are chosen from.
    """

    values: dict[str, Any]
    chosen: dict[str, Chosen]

    def error(self, expected: Mapping[str, Any]) -> float:
        """E of the worst output, against the ``expected`` ones [N, ...]."""
        found = [one.error(expected[name]) for name, one in self.chosen.items()]
        for name, values in self.values.items():
            if name not in self.chosen:
                own = expected[name][: len(values)]
                found.append(distance(values, own, scale_of(own)).E)
        return max(found, default=0.0)


class _End(NamedTuple):
    """The real value ``real`` that an output is; ``source`` is what its elements are chosen from along ``axis``."""

    real: str
    source: str = ""
    axis: int = 0


class ReadBack(NamedTuple):
    """What was read back from the artefact of a cell, ``rebuilt``, and ``matched`` with the constants of its file.

    ``ran`` is the run that is judged, ``plain`` the float64 reference of the unrounded model.
    """

    run: CellRun
    models: CompiledModels
    found: Compiled
    ran: Done
    plain: ReferenceOutputs
    rebuilt: Done
    matched: Done


def error(artefact: ReadBack, *, as_corrected: bool = False) -> float | str:
    """E of the layers as one whole against the file in float64, of the worst output; a text says why it is unknown.

    Biases that the tool may have corrected are those of the file, or ``as_corrected`` the artefact's own.
    """
    made = outputs(artefact, as_corrected=as_corrected)
    return made if isinstance(made, str) else made.error(artefact.plain.outputs)


def outputs(artefact: ReadBack, cut: Sequence[Mapping[str, Any]] = (), *, as_corrected: bool = False) -> Outputs | str:
    """What the layers as one whole give, with the biases of :func:`error`; a text says why it is unknown.

    The results ``cut`` are cut to their ranges, as their integers are, and nothing else is rounded.
    """
    run, plain, rebuilt, matched = artefact.run, artefact.plain, artefact.rebuilt, artefact.matched
    taken = _exposed(artefact)
    if isinstance(taken, str):
        return taken
    given, exposed, sources = taken
    ends = _ends(rebuilt.meta["rebuild"], exposed.arrays, len(plain.outputs))
    if isinstance(ends, str):
        return ends
    ranges = {str(row["real"]): (row["low"], row["high"]) for row in cut}
    wanted = [name for end in ends for name in (end.real, end.source) if name]
    joined = layer_tasks.joined(run.tasks, run.model, rebuilt, matched, wanted, list(ranges), as_corrected=as_corrected)
    values = evaluated(run, joined, rebuilt, layer_tasks.as_sources(given, sources), list(ranges))
    if isinstance(values, Failure):
        return f"its layers cannot be evaluated one after another: {values.message}"
    shown = Outputs({}, {})
    for (name, truth), end in zip(plain.outputs.items(), ends, strict=True):
        own = np.clip(values[end.real], *ranges[end.real]) if end.real in ranges else values[end.real]
        if own.size != truth[: len(own)].size:
            return f"{name} has another shape as the layers give it"
        shown.values[name] = own.reshape(truth[: len(own)].shape)
        if end.source:
            shown.chosen[name] = Chosen(values[end.source], own, end.axis)
    return shown


def _exposed(artefact: ReadBack) -> tuple[InputSet, Done, dict[str, str]] | str:
    """The samples that go through the layers, the artefact with all tensors as outputs after it ran on them, and which
    of its tensors are which inputs (:func:`layer_tasks.sources`); a text says why that is not known.
    """
    run, models, subject, rebuilt = artefact.run, artefact.models, artefact.found.subject, artefact.rebuilt
    given = layer_tasks.few(subject.inputs)
    exposed = run.obtain(
        "layers", models.compile_tasks.run(run.cell, subject, rebuilt, models.limits(run), inputs=given)
    )
    if exposed.failure:
        return f"the artefact with all tensors as outputs does not run: {exposed.failure.message}"
    sources = layer_tasks.sources(rebuilt, exposed.arrays, given)
    return sources if isinstance(sources, str) else (given, exposed, sources)


def calibrated(artefact: ReadBack) -> InputSet | str:
    """The inputs of the calibration as those of the layers as one whole; a text says why they are not known."""
    taken = _exposed(artefact)
    if isinstance(taken, str):
        return taken
    return layer_tasks.as_sources(artefact.models.calibration(artefact.run, artefact.found.subject), taken[2])


def evaluated(
    run: CellRun, joined: Task, rebuilt: Done, inputs: InputSet, cut: Sequence[str] = ()
) -> dict[str, Any] | Failure:
    """The values [N, ...] of the task ``joined`` in float64 by the names of real values, for N samples of ``inputs``.

    The inputs are those of :func:`layer_tasks.as_sources`. A value that another one is made of without any rounding has
    the names of both. ``cut`` are those of the task.
    """
    made = run.obtain("layers", joined)
    if made.failure:
        return made.failure
    exact = run.obtain("evaluate", layer_tasks.unrounded(run.tasks, run.model, made, inputs))
    if exact.failure:
        return exact.failure
    found = dict(zip(made.meta["assemble"]["layers"], numbered(exact.arrays).values(), strict=True))
    names = layer_tasks.unrounded_names(rebuilt, cut)
    return found | {name: found[other] for name, other in names.items() if other in found}


def _ends(said: Mapping[str, Any], exposed: Mapping[str, Any], count: int) -> list[_End] | str:
    """The real values that the ``count`` outputs of a model [N, ...] are.

    They are found by the results whose integers they come from, and by the choices whose numbers they are. A text says
    why they are not known.
    """
    found: list[_End] = []
    for index in range(count):
        output = np.asarray(exposed[f"out{index}"])
        if output.dtype.kind == "f":
            rows = [row for row in said["results"] if _gives(row, exposed[f"out{row['output']}"], output)]
            ends = [_End(str(row["real"])) for row in rows]
        else:
            rows = [row for row in said.get("choices", ()) if _same(exposed[f"out{row['output']}"], output)]
            ends = [_End(str(row["real"]), str(row["source"]), int(row["axis"])) for row in rows]
        if not ends:
            return f"none of its layers gives output {index}"
        found.append(ends[-1])
    return found


def _gives(row: Mapping[str, Any], integers: Any, output: Any) -> bool:
    """Whether an output in floating point is what the integers of a result stand for."""
    values = np.asarray(integers, dtype=np.float64)
    if values.size != output.size:
        return False
    step = min(row.get("scales") or [float(row["scale"] or 0.0)]) if row.get("scale") is not None else 0.0
    if step and np.asarray(integers).dtype.kind in "iu":
        values = (values - row.get("zero", 0)) * step
    near = NEAR * step if step else 0.0
    return bool((np.abs(values.reshape(-1) - output.reshape(-1).astype(np.float64)) <= near).all())


def _same(numbers: Any, output: Any) -> bool:
    """Whether an output of integers is the numbers of a choice."""
    return bool(np.array_equal(np.asarray(numbers).reshape(-1), output.reshape(-1)))
