"""The two sides of a comparison: how the artefact of base and that of head are run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from bench_plugin.checks.compiled.compiling import Compiled, CompiledModels
from bench_plugin.checks.performance.against.base import Missing, artefact_of
from bench_plugin.checks.performance.rotation import rotating
from bench_plugin.compare.times.turns import BASE, HEAD
from bench_plugin.domain.cell import Cell
from bench_plugin.inventory.workspace import Workspace
from bench_plugin.pipeline.cell_run import CellRun
from bench_plugin.pipeline.stages import Done, Task
from bench_plugin.reach.environments.toolchains import another
from bench_plugin.reach.processes.leased_agent import Limits
from bench_plugin.results.rows import Row

INPUTS = 8  # samples that a launch rotates through


@dataclass(frozen=True)
class Side:
    """One of the two: the task that runs its artefact, and seconds of ``busy`` time that are added to each inference.

    ``toolchain`` is the environment that it runs in, by the name of its folder; ``artefact`` SHA-256 by file.
    """

    name: str
    task: Task
    toolchain: str
    artefact: Mapping[str, str]
    busy: float = 0.0


def sides(
    run: CellRun, found: Compiled, row: Row, base: Done, models: CompiledModels, limits: Limits, seed: int
) -> tuple[Side, Side]:
    """Base and head of a cell: the artefact of ``row``, which is ``base``, and the one that was just compiled.

    Both run the same calls on the same inputs, each with the options that it was compiled with, and in its own
    environment. Raises Missing where that of base is not there any more.
    """
    given = replace(found.subject.inputs, arrays=rotating(found.subject.inputs, INPUTS, seed).arrays)
    tasks = models.compile_tasks
    here = environment_of(models.workspace, tasks.toolchain(run.cell))
    new = tasks.run(run.cell, found.subject, found.compiled, limits, inputs=given)
    old = tasks.run(run.cell, found.subject, base, limits, inputs=given)
    options = _options(models, run.cell, row)
    old = replace(old, calls=tuple(replace(call, meta={**call.meta, "options": options}) for call in old.calls))
    place = environment(models.workspace, run.cell, row, here)
    if place != here:
        old = replace(old, toolchain=another(place))
    return (
        Side(BASE, old, place, artefact_of(row)),
        Side(HEAD, new, here, {name: found.compiled.digests.get(name, "") for name in found.compiled.files}),
    )


def environment_of(workspace: Workspace, toolchain: str) -> str:
    """The name of the environment that the lock of a toolchain gives: its name and 12 digits of the lock's hash."""
    return f"{toolchain}-{workspace.toolchains.lock_hash(toolchain)[:12]}"


def _options(models: CompiledModels, cell: Cell, row: Row) -> dict[str, str]:
    """The compiler's options of the base: those that its run gave, and the defaults of the adapter."""
    adapter = models.compile_tasks.adapter(cell)
    declared: Mapping[str, list[str]] = adapter.declaration.get("options", {})
    said: Mapping[str, Any] = ((row.get("settings") or {}).get("options") or {}).get(adapter.name, {})
    return {**{name: values[0] for name, values in declared.items()}, **said}


def environment(workspace: Workspace, cell: Cell, row: Row, here: str) -> str:
    """The name of the environment of the base. Raises Missing where it is not there, or cannot be used."""
    said = (row.get("placement") or {}).get("toolchain")
    if said is None:
        raise Missing("the row of the base does not say its toolchain's lock: an older version wrote it")
    if said == here:
        return here
    if cell.target != "local":
        raise Missing(f"the base used toolchain {said}, and only {here} is shipped to a board")
    if not workspace.toolchains.has_environment(said):
        raise Missing(
            f"the environment of the base, {said}, is not among the toolchains any more ({here} is that of the head); "
            "check the base's lock out and run: bench env sync"
        )
    return str(said)
