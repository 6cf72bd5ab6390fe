"""What an ONNX file is made of, read by an agent: onnx is not imported here."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from bench_plugin.characterise.facts import Facts
from bench_plugin.characterise.outline import outline_of
from bench_plugin.cli.shared.output import note
from bench_plugin.domain.errors import BenchError, UsageError
from bench_plugin.domain.settings import settings_here
from bench_plugin.inventory.workspace import Workspace
from bench_plugin.reach.processes.leased_agent import AgentFailure, Limits
from bench_plugin.reach.processes.supervisor import AgentPool

ADAPTER = "onnx_facts"
SECONDS = 120.0
GIB = 2**30


class CannotRead(BenchError):
    """The file is no ONNX file, or nothing could be read of it."""


def read_facts(model: Path, *, batch: int, sizes: Mapping[str, int]) -> Facts:
    """The facts of a file at a batch and at sizes of its other symbols.

    Raises UsageError for a missing file and for symbols without a size or with one that is not used, CannotRead for a
    file that is no ONNX file or does not allow the batch.
    """
    if not model.is_file():
        raise UsageError(f"{model}: there is no such file")
    settings = settings_here()
    workspace = Workspace.load(settings)
    adapter = workspace.catalog[ADAPTER]
    limits = Limits(SECONDS, int(workspace.toolchains.memory_gb(adapter.toolchain) * GIB))
    pool = AgentPool(
        environments=lambda name: workspace.toolchains.ensure(name, progress=note),
        folder=settings.results.parent / "logs", adapters=workspace.catalog.sources, variables=workspace.variables,
    )  # fmt: skip
    try:
        with pool.lease(adapter.toolchain) as agent:
            said = {"batch": batch, "sizes": dict(sizes)}
            files = {"model.onnx": outline_of(model)}  # without weights, which may be gigabytes
            answer = agent.call(ADAPTER, "facts", said, files=files, limits=limits)
            facts = Facts.read(json.loads(answer.files["facts.json"].read_bytes()))
    except AgentFailure as error:
        raise CannotRead(f"{model}: {error.message}") from error
    finally:
        pool.close()
    if unused := set(sizes) - set(answer.meta["symbols"]):
        known = ", ".join(answer.meta["symbols"]) or "none"
        raise UsageError(f"{model}: no input has the symbols {', '.join(sorted(unused))}; it has {known}")
    if free := answer.meta["free"]:
        missing = ", ".join(f"{name}=N" for name in free)
        raise UsageError(f"{model}: sizes are needed of the symbols {', '.join(free)}: --sizes {missing}")
    return facts
