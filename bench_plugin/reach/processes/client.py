"""The host's client of one agent: typed answers and failures, deadlines and memory limits (docs/protocol.md)."""

from __future__ import annotations

import hashlib
import os
import select
import signal
import socket
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from bench_plugin.agent import wire
from bench_plugin.agent.arrays import from_numpy, to_numpy
from bench_plugin.agent.channel import Channel, Closed
from bench_plugin.domain.errors import BenchError

if TYPE_CHECKING:
    import numpy as np

    Arrays = Mapping[str, np.ndarray[Any, Any]]

START_SECONDS = 60.0
POLL_SECONDS = 0.2
MESSAGE = 300
LOG_LINES = 20
LOG_BYTES = 32 * 1024


@dataclass(frozen=True)
class Limits:
    """``seconds`` for each announced stage, and ``memory_bytes`` of resident memory of the process tree."""

    seconds: float
    memory_bytes: int


class Source(NamedTuple):
    """The file of an adapter for an agent; ``module`` is the dotted name by which other adapters import it."""

    name: str
    text: bytes
    module: str = ""


@dataclass(frozen=True)
class Answer:
    """The result of a call: metadata, arrays of any shapes and dtypes by name, and files.

    ``seconds`` is by announced stage, and under ``call`` for the whole; ``peak_bytes`` is resident memory.
    """

    meta: Mapping[str, Any]
    arrays: Arrays
    files: Mapping[str, Path]
    seconds: Mapping[str, float]
    peak_bytes: int
    log: str


class AgentFailure(BenchError):
    """A call that did not finish; ``symptom`` is a value of domain/outcome.py, ``stage`` the last one announced."""

    def __init__(
        self, symptom: str, message: str, *, stage: str | None = None, detail: str = "", log: str = "",
        signal: int | None = None, types: tuple[str, ...] = (),
    ) -> None:  # fmt: skip
        super().__init__(message)
        self.symptom = symptom
        self.message = first_line(message)
        self.stage = stage
        self.detail = detail or message
        self.log = log
        self.signal = signal
        self.types = types


class Process(Protocol):
    """What an agent runs in: a process of this machine, or a board, which has no process to ask."""

    shares_files: bool

    def resident(self) -> int:
        """Resident bytes of the process tree; 0 where it cannot be asked."""

    def kill(self) -> int | None:
        """End it; returns its status as of waitpid(2), None where there is none."""

    def ended(self) -> int | None:
        """Its status as of waitpid(2) if it ends by itself within a moment, else None.

        Raises BenchError, with the reason, where what ended it was not the agent's own doing.
        """


@dataclass
class Agent:
    """A connected agent. It must not be used from two threads at once.

    ``calls`` counts the calls that it finished; ``lost`` is true once its connection ended.
    """

    channel: Channel
    process: Process
    log: Path
    adapters: Callable[[str], Sequence[Source]]
    results: Path
    calls: int = 0
    lost: bool = False
    _next: int = 0
    _loaded: dict[str, bytes] = field(default_factory=dict)
    memory_limit: int = 0

    def greet(self) -> None:
        """Wait for the agent's hello. Raises AgentFailure when it does not come."""
        frame = self._receive(0, _Watch(Limits(START_SECONDS, 0)))
        if frame.kind != wire.HELLO:
            said = frame.meta.get("message") or wire.KINDS[frame.kind]
            raise self._lost("harness", f"the agent said {said!r} instead of hello")

    def call(
        self, adapter: str, operation: str, meta: Mapping[str, Any], *, arrays: Arrays | None = None,
        files: Mapping[str, Path] | None = None, limits: Limits,
    ) -> Answer:  # fmt: skip
        """Run one operation of an adapter; ``arrays`` have any shapes and dtypes.

        Raises AgentFailure when the operation fails, exceeds the limits, or the agent is lost.
        """
        began = time.monotonic()
        self.load(adapter, limits)
        self.memory_limit = limits.memory_bytes
        given = arrays or {}
        places = {name: self._place(path, limits) for name, path in (files or {}).items()}
        request = {
            "adapter": adapter, "operation": operation, "meta": dict(meta), "arrays": list(given), "files": places,
        }  # fmt: skip
        frame = self._ask(wire.CALL, request, limits, [from_numpy(values) for values in given.values()])
        self.calls += 1
        elapsed = time.monotonic() - began
        try:
            names, paths, gave, peak = (frame.meta[key] for key in ("arrays", "files", "meta", "peak"))
            seconds = {**frame.meta["seconds"], "call": elapsed}
            received = {name: to_numpy(array) for name, array in zip(names, frame.arrays, strict=True)}
            fetched = {name: self._fetch(name, path, limits) for name, path in paths.items()}
        except (KeyError, IndexError, TypeError, ValueError, AttributeError) as error:
            raise self._lost("harness", f"the agent's answer lacks what belongs to it: {error!r}") from error
        return Answer(gave, received, fetched, seconds, peak, str(self.log))

    def versions(self, adapter: str, limits: Limits) -> dict[str, str]:
        """The installed versions of the distributions that an adapter uses. Raises AgentFailure."""
        self.load(adapter, limits)
        return dict(self._ask(wire.VERSIONS, {"adapter": adapter}, limits).meta["versions"])

    def reset(self, limits: Limits) -> None:
        """Let every adapter drop the objects that it keeps between calls. Raises AgentFailure."""
        self._ask(wire.RESET, {}, limits)

    def resident(self) -> int:
        """Resident bytes of the agent's process tree now."""
        return self.process.resident()

    def close(self) -> None:
        """End the agent, also in the middle of a call."""
        self.lost = True
        self.process.kill()
        self.channel.close()

    def load(self, adapter: str, limits: Limits) -> None:
        """Send the adapter and those that it uses, unless the agent has the same ones. Raises AgentFailure."""
        for name, text, module in self.adapters(adapter):
            if self._loaded.get(name) != text:
                blob = wire.Array("bytes", (len(text),), text)
                digest = hashlib.sha256(text).hexdigest()
                self._ask(wire.LOAD, {"adapter": name, "sha256": digest, "module": module}, limits, [blob])
                self._loaded[name] = text

    def _place(self, path: Path, limits: Limits) -> dict[str, str]:
        if self.process.shares_files:
            return {"path": os.path.abspath(path)}  # the agent works in another folder
        data = path.read_bytes()
        digest = hashlib.sha256(data).hexdigest()
        self._ask(wire.PUT, {"sha256": digest}, limits, [wire.Array("bytes", (len(data),), data)])
        return {"sha256": digest}

    def _fetch(self, name: str, path: str, limits: Limits) -> Path:
        """Move a result file out of the agent's folder, which is removed with the agent."""
        self.results.mkdir(parents=True, exist_ok=True)
        target = self.results / f"{os.urandom(8).hex()}-{Path(name).name}"
        if self.process.shares_files:
            os.replace(path, target)
        else:
            target.write_bytes(self._ask(wire.GET, {"path": path}, limits).arrays[0].data)
        return target

    def _ask(
        self, kind: int, meta: Mapping[str, Any], limits: Limits, arrays: list[wire.Array] | None = None
    ) -> wire.Frame:
        self._next += 1
        watch = _Watch(limits)
        self.channel.settimeout(limits.seconds)
        try:
            self.channel.send(kind, self._next, dict(meta), arrays or [])
        except TimeoutError:
            raise self._lost("timeout", f"the agent took no data for {limits.seconds:g} s", watch.stage) from None
        except OSError:
            raise self._gone(watch.stage, within=False) from None
        except wire.WireError as error:
            raise AgentFailure("harness", f"the request cannot be sent: {error}", log=str(self.log)) from error
        while True:
            frame = self._receive(self._next, watch)
            if frame.kind == wire.STAGE:
                watch.begin(str(frame.meta.get("stage", "")))
            elif frame.kind == wire.ERROR:
                self.calls += 1
                raise self._reported(frame.meta, watch.stage)
            elif frame.kind == wire.RESULT:
                return frame
            else:
                raise self._lost("harness", f"the agent answered with {wire.KINDS[frame.kind]}", watch.stage)

    def _receive(self, call: int, watch: _Watch) -> wire.Frame:
        while not select.select([self.channel], [], [], max(0.0, min(POLL_SECONDS, watch.left())))[0]:
            if watch.left() <= 0:
                what = f"stage {watch.stage}" if watch.stage else "the call"
                raise self._lost("timeout", f"{what} took longer than {watch.limits.seconds:g} s", watch.stage)
            used = self.process.resident() if watch.limits.memory_bytes else 0
            if used > watch.limits.memory_bytes > 0:
                limit = watch.limits.memory_bytes
                text = f"the agent used {used / 2**20:.0f} MiB, the limit is {limit / 2**20:.0f} MiB"
                raise self._lost("out-of-memory", text, watch.stage)
        try:
            frame = self.channel.receive(max(1.0, watch.left()))
        except Closed as closed:
            raise self._gone(watch.stage, closed.within) from None
        except TimeoutError:
            raise self._lost("timeout", "the agent stopped within a frame", watch.stage) from None
        except OSError:
            raise self._gone(watch.stage, within=False) from None
        except wire.WireError as error:
            raise self._lost("harness", f"the agent sent garbage: {error}", watch.stage) from error
        if frame.call != call:
            text = f"the agent answered call {frame.call}, asked was call {call}"
            raise self._lost("harness", text, watch.stage)
        return frame

    def _reported(self, meta: Mapping[str, Any], stage: str | None) -> AgentFailure:
        return AgentFailure(
            str(meta.get("symptom", "harness")), str(meta.get("message", "")), detail=str(meta.get("detail", "")),
            stage=str(meta.get("stage") or "") or stage, log=str(self.log), types=tuple(meta.get("types", ())),
        )  # fmt: skip

    def _gone(self, stage: str | None, within: bool) -> AgentFailure:
        """The failure of a connection that ended: by a signal, by an exit, or in the middle of a frame."""
        try:
            status = self.process.ended()
        except BenchError as error:
            return self._lost("harness", str(error), stage)
        where = f" in stage {stage}" if stage else ""
        if status is not None and os.WIFSIGNALED(status):
            number = os.WTERMSIG(status)
            name = signal.Signals(number).name if number in set(signal.Signals) else f"signal {number}"
            return self._lost("crash", f"the agent was killed by {name}{where}", stage, number)
        if within:
            return self._lost("harness", f"the agent ended within a frame{where}", stage)
        code = "" if status is None else f" with exit code {os.waitstatus_to_exitcode(status)}"
        return self._lost("crash", f"the agent ended{code}{where}", stage)

    def _lost(self, symptom: str, message: str, stage: str | None = None, number: int | None = None) -> AgentFailure:
        self.close()
        detail = f"{message}\n{_tail(self.log)}"
        return AgentFailure(symptom, message, stage=stage or None, detail=detail, log=str(self.log), signal=number)


class _Watch:
    """The deadline of one request: it counts from the start of the last announced stage."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.stage: str | None = None
        self._since = time.monotonic()

    def begin(self, stage: str) -> None:
        self.stage = stage
        self._since = time.monotonic()

    def left(self) -> float:
        return self._since + self.limits.seconds - time.monotonic()


def first_line(text: str) -> str:
    """The first line that is not blank, cut to a bounded length."""
    line = next((line.strip() for line in text.splitlines() if line.strip()), "")
    return line if len(line) <= MESSAGE else line[: MESSAGE - 1] + "…"


def connect_tcp(host: str, port: int, token: bytes, seconds: float = START_SECONDS) -> Channel:
    """A channel to an agent that listens on a port; the token is proven, but never sent.

    ``seconds`` limits the connection. Raises OSError, wire.WireError or Closed when it cannot be made.
    """
    from bench_plugin.agent.tokens import authenticate

    connection = socket.create_connection((host, port), seconds)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    channel = Channel(connection)
    try:
        authenticate(channel, token)
    except (OSError, wire.WireError, Closed):
        channel.close()
        raise
    return channel


def _tail(log: Path) -> str:
    try:
        with log.open("rb") as file:
            file.seek(max(0, log.stat().st_size - LOG_BYTES))
            lines = file.read().decode("utf-8", "replace").splitlines()
    except OSError:
        return ""
    return "\n".join(line[:MESSAGE] for line in lines[-LOG_LINES:])
