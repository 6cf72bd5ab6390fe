"""The tools' own lists of ONNX's operators, read by agents in their toolchains."""

from __future__ import annotations

import json

from bench_plugin.characterise.compliance.lists import Listed
from bench_plugin.domain.compiler_name import ALL
from bench_plugin.domain.errors import BenchError, UsageError
from bench_plugin.inventory.workspace import Workspace
from bench_plugin.reach.processes.leased_agent import AgentFailure, Limits
from bench_plugin.reach.processes.supervisor import AgentPool

PREFIX = "listed_"  # of the adapters that read a list, before the name of the compiler
SECONDS = 300.0
GIB = 2**30


class CannotRead(BenchError):
    """A tool did not say which operators it has."""


def own_lists(workspace: Workspace, pool: AgentPool, asked: str) -> dict[str, Listed]:
    """The lists of the compilers that are named with commas between them, or of ``all`` that have one.

    Raises UsageError for a compiler without such a list, CannotRead where a tool does not give it.
    """
    known = [name.removeprefix(PREFIX) for name in sorted(workspace.catalog.adapters) if name.startswith(PREFIX)]
    names = known if asked == ALL else [part.strip() for part in asked.split(",") if part.strip()]
    for name in names:
        if name not in known:
            raise UsageError(f"--lists: no list of operators is read of {name!r}; there are {', '.join(known)}")
    return {name: _list_of(workspace, pool, name) for name in names}


def _list_of(workspace: Workspace, pool: AgentPool, name: str) -> Listed:
    adapter = workspace.catalog[PREFIX + name]
    limits = Limits(SECONDS, int(workspace.toolchains.memory_gb(adapter.toolchain) * GIB))
    try:
        with pool.lease(adapter.toolchain) as agent:
            answer = agent.call(adapter.name, "list", {}, limits=limits)
            operators = json.loads(answer.files["operators.json"].read_bytes())
    except AgentFailure as error:
        raise CannotRead(f"{name}: {error.message}") from error
    return Listed(str(answer.meta["source"]), frozenset(map(str, operators)))
