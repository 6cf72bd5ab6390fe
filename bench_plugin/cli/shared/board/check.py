"""``bench board check``: what of a board works, in the order in which a cell needs it, up to what does not."""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench_plugin.cli.shared.output import note
from bench_plugin.domain.errors import BenchError, EnvironmentMissing
from bench_plugin.inventory.workspace import Workspace
from bench_plugin.reach.boards import probe
from bench_plugin.reach.boards.board import Board
from bench_plugin.reach.processes.leased_agent import AgentFailure, LeasedAgent, Limits, Source
from bench_plugin.reach.processes.supervisor import AgentPool

FINDING = 1
RUNTIME = "onnxruntime"
LIMITS = Limits(30.0, 0)
BYTES = 100_000  # that go there and come back
# What uname(2) calls a machine whose target's architecture has another name.
ARCHITECTURES = {"armv7l": "arm", "armv8l": "arm", "armv6l": "arm", "arm64": "aarch64", "amd64": "x86_64"}
REMEDIES = {
    "board-lost": "see that it is switched on and that reach in {file} is right",
    "harness": "its own words say what it lacks",
}


@dataclass(frozen=True)
class Finding:
    """The result of one step; ``text`` says what was found and, unless ``exit_code`` is 0, how to mend it."""

    subject: str
    text: str
    exit_code: int = 0

    @property
    def fine(self) -> bool:
        """Whether it is as it should be."""
        return self.exit_code == 0


def checked(workspace: Workspace, name: str, toolchain: str | None = None) -> Iterator[Finding]:
    """Check a board; the last finding is the first that is not fine, if any. ``toolchain`` names another runtime."""
    reach = workspace.boards[name]
    board = reach.board
    yield Finding("description", f"boards/{name}.toml: target {board.target}, reached by {board.kind}")
    if missing := reach.missing():
        yield Finding("this machine", missing, EnvironmentMissing.exit_code)
        return
    yield Finding("this machine", "has what it takes to reach the board")
    try:
        with leased(workspace, name, toolchain) as agent:
            yield from _of_agent(workspace, board, agent, programs=reach.programs)
    except AgentFailure as error:
        remedy = REMEDIES.get(error.symptom, "").format(file=f"boards/{name}.toml")
        yield Finding("board", f"{error}{'; ' if remedy else ''}{remedy}", FINDING)
    except BenchError as error:
        yield Finding("board", str(error), error.exit_code)


@contextmanager
def leased(workspace: Workspace, name: str, toolchain: str | None = None) -> Iterator[LeasedAgent]:
    """An agent of a board, alone, whose only adapter is ``probe``. Raises BenchError."""
    reach = workspace.boards[name]
    runtime = toolchain or runtime_of(workspace, reach.board)
    with tempfile.TemporaryDirectory(prefix="bench-board-") as folder:
        pool = AgentPool(
            workspace.toolchains.ensure, Path(folder), lambda _: [Source("probe", Path(probe.__file__).read_bytes())],
            boards={name: reach}, note=note, variables=workspace.variables,
        )  # fmt: skip
        try:
            with pool.boards.taken(name, programs=reach.programs), pool.lease(runtime, board=name) as agent:
                yield agent
        finally:
            pool.close()


def runtime_of(workspace: Workspace, board: Board) -> str:
    """A toolchain whose runtime can be shipped to the board: onnxruntime if it can; empty where none can."""
    compilers = workspace.catalog.of_kind("compiler").values()
    found = [one.toolchain for one in compilers if board.target in one.declaration.get("boards", ())]
    return RUNTIME if RUNTIME in found else next(iter(found), "")


def _of_agent(workspace: Workspace, board: Board, agent: LeasedAgent, *, programs: bool) -> Iterator[Finding]:
    """What an agent of the board says and does. Raises AgentFailure."""
    yield Finding("board", f"answers: {_said(agent.hello)}")
    wanted = str(workspace.hardware[board.target].get("architecture", ""))
    machine = str(agent.hello.get("machine", ""))
    if wanted and machine and not board.same_machine and ARCHITECTURES.get(machine, machine) != wanted:
        text = f"it is {machine}, and target {board.target} is {wanted}; give boards/{board.name}.toml its true target"
        yield Finding("place", text, FINDING)
        return
    yield Finding("place", "it is this machine, as its file says" if board.same_machine else "it is another machine")
    if programs:
        yield Finding("run", "it runs compiled programs, and starts one for each cell; none was run now")
        return
    yield _echoed(agent)
    if board.power:
        yield _powered(board, agent)


def _echoed(agent: LeasedAgent) -> Finding:
    """Send a file there and back. Raises AgentFailure."""
    data = os.urandom(BYTES)
    with tempfile.NamedTemporaryFile(prefix="bench-echo-") as given:
        given.write(data)
        given.flush()
        answer = agent.call("probe", "echo", {"text": "echo"}, files={"data": Path(given.name)}, limits=LIMITS)
    returned = hashlib.sha256(answer.files["data"].read_bytes()).digest()
    if answer.meta.get("text") != "echo" or returned != hashlib.sha256(data).digest():
        return Finding(
            "run", f"{BYTES} bytes went there and other bytes came back; look for a fault of the link", FINDING
        )
    return Finding(
        "run", f"{BYTES} bytes went there and came back on {answer.meta['system']}, Python {answer.meta['python']}"
    )


def _powered(board: Board, agent: LeasedAgent) -> Finding:
    """Read the sensor of the board's power."""
    asked = {"kind": board.power["kind"], "sensor": board.power["path"]}
    try:
        watts = agent.call("probe", "power", asked, limits=LIMITS).meta["watts"]
    except AgentFailure as error:
        text = f"{error}; give power in boards/{board.name}.toml a sensor that the board has, or leave it out"
        return Finding("power", text, FINDING)
    return Finding("power", f"{watts:.2f} W by {board.power['path']}")


def _said(hello: Mapping[str, Any]) -> str:
    told = {"machine": "architecture", "machine_id": "machine", "agent": "agent"}
    return ", ".join(f"{word} {str(hello[key])[:12]}" for key, word in told.items() if hello.get(key)) or "nothing"
