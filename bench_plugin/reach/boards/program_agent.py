"""The agent of boards that run compiled programs: a program with one model linked in answers the samples of a call.

An artefact has the file ``program.elf``, made of the C agent and the model (bench_plugin/agent/c), and ``model.json``,
which says what the model takes and gives. A call of ``run`` starts the program where none runs or another one does, has
it prove that it holds the model of ``model.json``, and sends it the samples one by one.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from bench_plugin.agent import wire
from bench_plugin.agent.adapter import Reply
from bench_plugin.agent.arrays import from_numpy, to_numpy
from bench_plugin.agent.c.glue import WIRE_TYPES
from bench_plugin.agent.contract import Place, RunCall
from bench_plugin.agent.contract.records import Malformed
from bench_plugin.agent.toolkit import samples
from bench_plugin.reach.boards.program_times import Counted, Plan, figures, instructions, repeated
from bench_plugin.reach.processes.client import Agent
from bench_plugin.reach.processes.given_files import GivenFile
from bench_plugin.reach.processes.leased_agent import AgentFailure, Answer, Limits
from bench_plugin.reach.processes.workplace import Workplace

if TYPE_CHECKING:
    Arrays = Mapping[str, np.ndarray[Any, Any]]

PROGRAM, MODEL = "program.elf", "model.json"
COUNTERS = ("version", "device_ns", "instructions", "stack_bytes", "ram_bytes", "flash_bytes", "heap_bytes", "reserved")
COUNTERS_VERSION = 1
NO_FIGURES = ("version", "reserved")
PER_RUN = ("device_ns", "instructions")
TIME = "time"
OPERATIONS = ("run", TIME)
# Starts a program on the board and connects to it: an agent that has not been greeted. Raises AgentFailure.
Start = Callable[[Path], Agent]


class Model(NamedTuple):
    """The model of a program: rows of ``model.json`` for its inputs and outputs, and its digest, 32 bytes."""

    inputs: Sequence[Mapping[str, Any]]
    outputs: Sequence[Mapping[str, Any]]
    digest: bytes


class ProgramAgent:
    """Leases like any agent; ``start`` starts programs on the board called ``board``.

    ``emulated`` says that its times are those of an emulator, which are not told. ``identity`` is what it says of the
    machine that it runs on where the program cannot know that.
    """

    def __init__(self, board: str, start: Start, place: Workplace, *, emulated: bool, identity: str = "") -> None:
        self.calls = 0
        self.clean = True
        self.lost = False
        self.memory_limit = 0
        self.hello: Mapping[str, Any] = {}
        self._board = board
        self._start = start
        self._log = place.log
        self._folder = place.scratch
        self._start_seconds = place.start_seconds
        self._emulated = emulated
        self._identity = {"machine_id": identity} if identity else {}
        self._agent: Agent | None = None
        self._running = ""  # SHA-256 of the program that runs

    def call(
        self, adapter: str, operation: str, meta: Mapping[str, Any], *, arrays: Arrays | None = None,
        files: Mapping[str, Path | GivenFile] | None = None, limits: Limits, take_files: bool = True,
    ) -> Answer:  # fmt: skip
        """Run the program on the samples of a call ``run``: outputs ``out0``, ``out1`` ... [N, ...] over N samples.

        ``arrays`` are those of a call to an adapter, ``in:<name>`` [N, ...]. The counters of the program are in the
        metadata. A call ``time`` repeats the runs (program_times.py). Raises AgentFailure: ``harness`` for any other
        operation, for an artefact without a program, and for a program that is not what ``model.json`` says; else as
        for an agent of this machine.
        """
        began = time.monotonic()
        if operation not in OPERATIONS:
            raise self._failed(f"board {self._board} runs compiled programs: it cannot do {operation!r} of {adapter}")
        self.memory_limit = limits.memory_bytes
        self.clean = False
        given = {name: GivenFile(file) if isinstance(file, Path) else file for name, file in (files or {}).items()}
        model = self._model(given, adapter)
        running = self._ready(given[PROGRAM], model, limits)
        try:
            call = RunCall.read(dict(meta), operation).at(_place(arrays or {}))
        except Malformed as error:
            raise self._failed(str(error)) from error
        shapes = [port.shape for port in call.output_ports]
        link = _Samples(running, model, shapes, _left(limits), str(self._log), emulated=self._emulated)
        try:
            taken = call.inputs
            inputs = [taken[row["name"]] for row in model.inputs]
            if operation == TIME:
                said, found = self._timed(call, link, inputs, Plan.of(meta))
            else:
                said, found = {}, _arrays(samples.answered(call, link.run, inputs))
        except KeyError as error:
            raise self._failed(f"the call has no input {error}, which the program takes") from error
        finally:
            self.lost = running.lost
        self.calls += 1
        seconds = {operation: time.monotonic() - link.began, "call": time.monotonic() - began}
        return Answer({**said, **self._said(link.columns)}, found, {}, seconds, 0, str(self._log))

    def _timed(
        self, call: RunCall, link: _Samples, inputs: Sequence[Any], plan: Plan
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """The figures of a timed run, and its outputs with ``series:compute`` [n], seconds of single runs.

        An emulated board, and one without a clock, is only counted: each sampled input is run once.
        """
        if call.once or not inputs:
            every, first = [list(inputs)], inputs
        else:
            every = [[x[i : i + 1] if call.batched else x[i] for x in inputs] for i in range(len(inputs[0]))]
            first = [x[: plan.sampled or len(x)] for x in inputs]
        reply = samples.answered(call, link.run, first)  # also the warm-up of a board with a clock
        found: dict[str, Any] = {"series:compute": np.empty(0)}
        said: dict[str, Any] = {"inputs": len(every), "sampled": len(link.counted)}
        warm = link.columns.get("device_ns", ())
        if warm and not self._emulated:
            before = len(link.counted)
            reply = samples.answered(call, link.run, first)
            blocks = [len(link.counted) - before, *repeated(link.run, every, plan)]
            nanoseconds = link.columns["device_ns"][before:]
            found["series:compute"] = np.asarray(nanoseconds, dtype=np.float64) / 1e9
            said.update(figures(nanoseconds, warm[0], blocks, plan))
        if counted := instructions(link.columns):
            said["instructions"] = counted
        return {"timing": said}, {**_arrays(reply), **found}

    def load(self, adapter: str, limits: Limits) -> None:
        """Adapters are not sent: what they compiled is the program."""

    def reset(self, limits: Limits) -> None:
        """A program keeps nothing from call to call, so it stays."""
        self.clean = True

    def resident(self) -> int:
        """Resident bytes of the process tree that the program runs in; 0 where it cannot be asked."""
        return self._agent.resident() if self._agent is not None else 0

    def close(self) -> None:
        """End the program, also in the middle of a call."""
        self.lost = True
        self._stop()

    def ended_idle(self) -> bool:
        """Whether the program is known to have ended while nobody had leased it."""
        return self._agent is not None and not self.lost and self._agent.ended_idle()

    def _stop(self) -> None:
        if self._agent is not None:
            self._agent.close()
        self._agent, self._running = None, ""

    def _model(self, files: Mapping[str, GivenFile], adapter: str) -> Model:
        for name in (PROGRAM, MODEL):
            if name not in files:
                has = ", ".join(sorted(files)) or "no file"
                raise self._failed(f"board {self._board} runs compiled programs: {adapter} made no {name}, but {has}")
        said = json.loads(self._content(files[MODEL]))
        rows = said["parameters"]
        inputs, outputs = ([row for row in rows if row["kind"] == kind] for kind in ("input", "output"))
        return Model(inputs, outputs, bytes.fromhex(said["digest"]))

    def _content(self, file: GivenFile) -> bytes:
        """The content of a file of the artefact, which must be the one that is stated."""
        try:
            data = file.path.read_bytes() if file.data is None else file.data
        except OSError as error:
            raise self._failed(f"{file.path} cannot be read: {error.strerror}") from error
        if file.sha256 not in ("", hashlib.sha256(data).hexdigest()):
            raise self._failed(f"{file.path}: the file changed while the run was at work")
        return data

    def _ready(self, file: GivenFile, model: Model, limits: Limits) -> Agent:
        """The running program, which has proven that it is the one of the model."""
        content = self._content(file)
        digest = hashlib.sha256(content).hexdigest()
        if self._agent is not None and self._running == digest and not self._agent.ended_idle():
            return self._agent
        self._stop()
        program = self._folder / PROGRAM
        program.unlink(missing_ok=True)  # what runs keeps the old one
        program.write_bytes(content)
        program.chmod(0o700)
        agent = self._start(program)
        try:
            agent.greet(self._start_seconds)
            self.hello = {**agent.hello, **self._identity, "agent": digest}
            agent.ask(wire.LOAD, {}, limits, [wire.Array("bytes", (len(model.digest),), model.digest)])
        except AgentFailure:
            self.lost = True
            agent.close()
            raise
        self._agent, self._running = agent, digest
        return agent

    def _said(self, counted: Counted) -> dict[str, Any]:
        """What the reply says of the counters of all runs; what was not counted is absent."""
        found: dict[str, Any] = {
            name: list(values) if name in PER_RUN else max(values) for name, values in counted.items()
        }  # fmt: skip
        placement: dict[str, Any] = {name: found[name] for name in found if name.endswith("_bytes")}
        return {"counters": found, "placement": {**placement, **({"timing": "emulated"} if self._emulated else {})}}

    def _failed(self, message: str) -> AgentFailure:
        return AgentFailure("harness", message, stage="run", log=str(self._log))


class _Samples:
    """Runs samples one by one within one limit, and keeps the counters of each run."""

    def __init__(
        self, agent: Agent, model: Model, declared: Sequence[Sequence[Any]], left: Callable[[], Limits], log: str,
        *, emulated: bool,
    ) -> None:  # fmt: skip
        self.counted: list[Sequence[int]] = []
        self.began = time.monotonic()
        self._agent = agent
        self._model = model
        self._declared = declared
        self._left = left
        self._log = log
        # A device has a clock; an emulator, whose time says nothing of a device, counts instructions. Firmware has one
        # counter, which it tells as both.
        self._untold = {*NO_FIGURES, "device_ns" if emulated else "instructions"}

    @property
    def columns(self) -> Counted:
        """By counter, the figures of all runs so far; a counter that is always 0 is absent, because none counts it."""
        rows = zip(*self.counted, strict=True) if self.counted else ()
        return {name: row for name, row in zip(COUNTERS, rows, strict=False) if name not in self._untold and any(row)}

    def run(self, xs: Sequence[Any]) -> list[Any]:
        """The outputs of one sample, whose inputs are in the order of the program's. Raises AgentFailure."""
        blobs = [_as_taken(x, row) for x, row in zip(xs, self._model.inputs, strict=True)]
        frame = self._agent.ask(wire.RUN, {}, self._left(), blobs)
        arrays, counters = frame.arrays[:-1], frame.arrays[-1:]
        if len(arrays) != len(self._model.outputs) or not counters or counters[0].dtype != "uint64":
            text = f"the program answered run with {len(frame.arrays)} blobs, not with its outputs and the counters"
            raise self._garbage(text)
        counted = [int(value) for value in to_numpy(counters[0]).reshape(-1)]
        if len(counted) != len(COUNTERS) or counted[0] != COUNTERS_VERSION:
            raise self._garbage(f"the program's counters are not those of version {COUNTERS_VERSION}: {counted[:9]}")
        self.counted.append(counted)
        return [self._shaped(array, index) for index, array in enumerate(arrays)]

    def _shaped(self, array: wire.Array, index: int) -> Any:
        """An output [...] in the shape that the model declares, if its size is that: C has no scalars."""
        values = to_numpy(array)
        declared = list(self._declared[index]) if index < len(self._declared) else []
        known = index < len(self._declared) and all(isinstance(size, int) for size in declared)
        return values.reshape(declared) if known and int(np.prod(declared)) == values.size else values

    def _garbage(self, text: str) -> AgentFailure:
        self._agent.close()
        return AgentFailure("harness", text, stage="run", log=self._log)


def _left(limits: Limits) -> Callable[[], Limits]:
    """The limits of the next request, when all requests of a call have to keep to ``limits`` together."""
    whole = limits.wall_seconds or limits.seconds
    until = time.monotonic() + whole

    def left() -> Limits:
        rest = until - time.monotonic()
        if rest <= 0:
            raise AgentFailure("timeout", f"stage run took longer than {whole:g} s on the clock", stage="run")
        return Limits(min(limits.seconds, rest), limits.memory_bytes, min(limits.wall_seconds, rest))

    return left


def _as_taken(x: Any, row: Mapping[str, Any]) -> wire.Array:
    """A sample's input [...] with the dtype and the shape that the program takes. Raises AgentFailure for any other."""
    dtype, shape = WIRE_TYPES[row["type"]], tuple(row["shape"])
    sent = from_numpy(np.asarray(x))
    size = wire.nbytes(dtype, shape)
    if len(memoryview(sent.data).cast("B")) != size or (sent.shape or (1,)) != shape:
        text = f"input {row['name']} is {sent.dtype}{list(sent.shape)}, the program takes {dtype}{list(shape)}"
        raise AgentFailure("harness", text, stage="run")
    return wire.Array(dtype, shape, sent.data)


def _arrays(reply: Reply) -> dict[str, Any]:
    """The arrays [...] of a reply by name."""
    return {name: to_numpy(array) for name, array in reply.arrays.items()}


def _place(arrays: Arrays) -> Place:
    return Place("", {}, {name: from_numpy(values) for name, values in arrays.items()}, _ignored)


def _ignored(stage: str) -> None:
    """The host announces no stage to itself."""
