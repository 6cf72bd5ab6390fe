"""The host's client of one agent: typed answers and failures, deadlines and memory limits (docs/protocol.md)."""

from __future__ import annotations

import errno
import hashlib
import os
import shutil
import signal
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench_plugin.agent import wire
from bench_plugin.agent.arrays import from_numpy, to_numpy
from bench_plugin.agent.channel import Channel, Closed, TooLong
from bench_plugin.agent.contract.records import Malformed
from bench_plugin.agent.contract.replies import check_reply
from bench_plugin.agent.repeating import Repeating, form_of
from bench_plugin.domain.errors import BenchError
from bench_plugin.reach.processes import answers, result_files
from bench_plugin.reach.processes.agent_log import bound_log, last_words, printed, quoted
from bench_plugin.reach.processes.deadline import Deadline
from bench_plugin.reach.processes.given_files import GivenFile, GivenFiles, NotAsStated
from bench_plugin.reach.processes.leased_agent import (
    BUSY_TYPE,
    MESSAGE,
    NOT_AS_STATED,
    START_SECONDS,
    AgentFailure,
    Answer,
    Limits,
    LinkLost,
    Process,
    Source,
)
from bench_plugin.reach.processes.memory import memory_kills

if TYPE_CHECKING:
    import numpy as np

    Arrays = Mapping[str, np.ndarray[Any, Any]]

POLL_SECONDS = 0.2
BUSY_SECONDS = 10.0  # a listener says every second that the board is busy
SMALL_BYTES = wire.MAX_META + wire.MAX_BLOBS * wire.DESCRIPTOR.size  # a frame without the contents of blobs
LARGE = (wire.CALL, wire.GET, wire.RUN, wire.OUTPUT, wire.STATS)  # the requests that are answered with blobs
ASKED_BYTES = 1 << 16  # a board is asked whether it has content of this size or more, before that is sent
ANSWERS = (wire.RESULT, wire.OK)
LOOK_EVERY = 1024  # inferences, after which memory and log are looked at though nothing waits
# Whose memory it was cannot be told: the kernel chooses, and an agent is chosen before the process of the run.
NO_MEMORY = "this machine has no memory left, and its kernel killed the agent"
STARTED = "started"  # what the first of the two answers to process says


@dataclass
class Agent:
    """A connected agent. It must not be used from two threads at once.

    ``folder`` is its own one on a shared file system, the only one that the files of answers are taken from.
    ``calls`` counts the calls that it finished; ``clean`` says that nothing was called since its start or last reset;
    ``lost`` is true once its connection ended; ``stage`` is the one that the last request announced last. ``given``
    keeps the copies of files for an agent on this machine; it is None for a board, which gets their content.
    ``hello`` is what the agent said about its place.
    """

    channel: Channel
    process: Process
    log: Path
    adapters: Callable[[str], Sequence[Source]]
    results: Path
    folder: Path | None = None
    calls: int = 0
    clean: bool = True
    lost: bool = False
    stage: str | None = None
    _next: int = 0
    _loaded: dict[str, bytes] = field(default_factory=dict)
    _looked: float = 0.0
    _bounded: float = 0.0  # when the log was bounded last, on the monotonic clock
    _printed: int = 0  # bytes that the log had when the last request was made
    memory_limit: int = 0
    _kills: int = field(default_factory=memory_kills)  # of this machine's kernel, when the last call began
    given: GivenFiles | None = None
    hello: Mapping[str, Any] = field(default_factory=dict)  # what the agent said of itself
    _repeating: Repeating | None = None
    _sent: set[str] = field(default_factory=set)  # digests of the content that the board has

    def greet(self, seconds: float = START_SECONDS, *, wait: float = 0.0) -> None:
        """Wait for the agent's hello; where another host has the board, up to ``wait`` seconds until it is free.

        Raises AgentFailure when hello does not come within ``seconds``, with the type BUSY_TYPE for a board that
        another host has, and with the symptom ``board-lost`` when the link to a board ends.
        """
        limits = Limits(seconds, 0)
        began, busy = time.monotonic(), False
        while True:
            try:
                frame = self._receive(0, Deadline(BUSY_SECONDS if busy else seconds), limits, SMALL_BYTES)
            except AgentFailure as error:  # no model is at work yet, so none is to blame
                raise AgentFailure(
                    "board-lost" if error.symptom == "board-lost" else "harness", f"the agent did not start: {error}",
                    detail=error.detail, log=error.log, signal=error.signal,
                ) from error  # fmt: skip
            if frame.kind != wire.BUSY:
                break
            busy = "holder" in frame.meta
            if busy and time.monotonic() - began >= wait:
                holder = answers.clean(str(frame.meta.get("holder")), MESSAGE)
                since = answers.clean(str(frame.meta.get("seconds")), 20)
                text = f"the board is held by {holder} since {since} s; waited for it: {wait:g} s"
                failure = self._lost("harness", text)
                failure.types = BUSY_TYPE
                raise failure
        if frame.kind != wire.HELLO:
            said = answers.clean(str(frame.meta.get("message") or wire.KINDS[frame.kind]), MESSAGE)
            raise self._lost("harness", f"the agent said {said!r} instead of hello")
        self.hello = frame.meta

    def call(
        self, adapter: str, operation: str, meta: Mapping[str, Any], *, arrays: Arrays | None = None,
        files: Mapping[str, Path | GivenFile] | None = None, limits: Limits, take_files: bool = True,
    ) -> Answer:  # fmt: skip
        """Run one operation of an adapter; ``arrays`` have any shapes and dtypes.

        The files of the answer are left where they are, to be removed by the next call, unless ``take_files``.
        Raises AgentFailure when the operation fails, exceeds the limits or changes its input files, when a file is not
        what is stated of it, or the agent is lost.
        """
        began = time.monotonic()
        self.load(adapter, limits)
        self.memory_limit, self._kills = limits.memory_bytes, memory_kills()
        given = arrays or {}
        self.clean = False
        with self.placed(adapter, operation, files or {}, limits) as places:
            request = {
                "adapter": adapter, "operation": operation, "meta": dict(meta), "arrays": list(given), "files": places,
            }  # fmt: skip
            frame = self.ask(wire.CALL, request, limits, [from_numpy(values) for values in given.values()])
            self.calls += 1
            elapsed = time.monotonic() - began
        where = f"the reply of adapter {adapter} to {operation}"
        try:
            answer = answers.call_result(frame.meta, len(frame.arrays), where)
        except Malformed as error:
            raise self._lost("harness", str(error), self.stage) from error
        received = {name: to_numpy(array) for name, array in zip(answer.arrays, frame.arrays, strict=True)}
        try:
            check_reply(adapter, operation, answer.said, list(received), list(answer.files))
        except Malformed as error:
            raise self._failed("harness", str(error)) from error
        fetched = self._fetched(answer.files, limits, where) if take_files else {}
        return Answer(answer.said, received, fetched, {**answer.seconds, "call": elapsed}, answer.peak, str(self.log))

    def versions(self, adapter: str, limits: Limits) -> dict[str, str]:
        """The installed versions of the distributions that an adapter uses. Raises AgentFailure."""
        self.load(adapter, limits)
        frame = self.ask(wire.VERSIONS, {"adapter": adapter}, limits)
        try:
            return answers.versions(frame.meta, f"the reply of adapter {adapter} to versions")
        except Malformed as error:
            raise self._failed("harness", str(error)) from error

    def reset(self, limits: Limits) -> None:
        """Let every adapter drop the objects that it keeps between calls. Raises AgentFailure."""
        self.ask(wire.RESET, {}, limits)
        self.clean = True

    def resident(self) -> int:
        """Resident bytes of the agent's process tree now."""
        return self.process.resident()

    def ended_idle(self) -> bool:
        """Whether it is known to have ended while nobody had leased it, as all agents do with their guardian."""
        return self.process.gone

    def close(self) -> None:
        """End the agent, also in the middle of a call, and remove the folder of one that is given copies of files.

        A long run starts hundreds of agents, and a large model is copied for each: together they would fill the disk.
        The folder of a board's agent is that of the board, which may start another one.
        """
        self.lost = True
        self.process.kill()
        self.channel.close()
        bound_log(self.log)
        if self.folder is not None and self.given is not None:
            shutil.rmtree(self.folder, ignore_errors=True)

    def load(self, adapter: str, limits: Limits) -> None:
        """Send the adapter and those that it uses, unless the agent has the same ones. Raises AgentFailure."""
        for name, text, module in self.adapters(adapter):
            if self._loaded.get(name) != text:
                blob = wire.Array("bytes", (len(text),), text)
                digest = hashlib.sha256(text).hexdigest()
                self.ask(wire.LOAD, {"adapter": name, "sha256": digest, "module": module}, limits, [blob])
                self._loaded[name] = text

    @contextmanager
    def placed(
        self, adapter: str, operation: str, files: Mapping[str, Path | GivenFile], limits: Limits
    ) -> Iterator[dict[str, dict[str, str]]]:
        """The places of the files of a call, which must be unchanged when it is over, also if it failed.

        Raises AgentFailure for a file that is not as stated, or was changed.
        """
        if self.given is None:
            yield {name: self._put(file, limits) for name, file in files.items()}
            return
        try:
            copies = self.given.place(files)
        except NotAsStated as error:
            raise AgentFailure("harness", str(error), log=str(self.log), types=NOT_AS_STATED) from error
        try:
            yield {name: {"path": str(path)} for name, path in copies.paths.items()}
        finally:
            changed = "" if self.lost else copies.changed()  # the folder of a lost agent is not used again
            if changed:
                text = f"the adapter changed its input file {changed} ({adapter}, operation {operation})"
                raise self._lost("harness", f"{text}; it may only write below call.folder") from None

    def _put(self, given: Path | GivenFile, limits: Limits) -> dict[str, str]:
        """Send the content of a file to an agent that does not share our files."""
        file = GivenFile(given) if isinstance(given, Path) else given
        data = file.path.read_bytes() if file.data is None else file.data
        digest = hashlib.sha256(data).hexdigest()
        if file.sha256 not in ("", digest):
            text = f"{file.path}: the file changed while the run was at work"
            raise AgentFailure("harness", text, log=str(self.log), types=NOT_AS_STATED)
        if digest not in self._sent:
            if len(data) < ASKED_BYTES or not self.ask(wire.PUT, {"sha256": digest}, limits).meta.get("stored"):
                self.ask(wire.PUT, {"sha256": digest}, limits, [wire.Array("bytes", (len(data),), data)])
            self._sent.add(digest)
        return {"sha256": digest}

    def _fetched(self, paths: Mapping[str, str], limits: Limits, where: str) -> dict[str, Path]:
        """The files of an answer, in the folder of results. Raises AgentFailure."""
        if not paths:
            return {}
        for name, path in paths.items():
            if self.given is not None and self.given.holds(path):
                raise self._failed("harness", f"result {name} is an input file of the call: copy it below call.folder")
        try:
            if self.process.shares_files:
                if self.folder is None:
                    raise result_files.NotTaken("the agent has no folder that files are taken from")
                return result_files.take(paths, self.folder, self.results, most_bytes=limits.memory_bytes)
            return self._downloaded(paths, limits)
        except result_files.TooLarge as error:
            raise self._failed("out-of-memory", f"{where}: {error}") from error
        except result_files.NotTaken as error:
            raise self._lost("harness", f"{where}: {error}", self.stage) from error
        except OSError as error:  # a fault of this machine, such as a full disk
            text = f"{where}: its files cannot be put into {self.results}: {error.strerror or error}"
            raise self._failed("harness", text) from error

    def _downloaded(self, paths: Mapping[str, str], limits: Limits) -> dict[str, Path]:
        """The files of an answer, sent by an agent that does not share our files."""
        self.results.mkdir(parents=True, exist_ok=True)
        found: dict[str, Path] = {}
        total = 0
        for name, path in paths.items():
            frame = self.ask(wire.GET, {"path": path}, limits)
            if len(frame.arrays) != 1:
                raise result_files.NotTaken(f"get of {path} was answered with {len(frame.arrays)} blobs, not with one")
            total += memoryview(frame.arrays[0].data).nbytes
            if 0 < limits.memory_bytes < total:
                raise result_files.TooLarge(f"the answer's files have more than {limits.memory_bytes / 2**20:.0f} MiB")
            found[name] = result_files.result_path(self.results, name)
            found[name].write_bytes(frame.arrays[0].data)
        return found

    def ask(
        self, kind: int, meta: Mapping[str, Any], limits: Limits, arrays: Sequence[wire.Array] = (),
        started: Callable[[], None] | None = None,
    ) -> wire.Frame:  # fmt: skip
        """The answer to one request with ``arrays`` of any shapes [...]; ``started`` is called when it says so.

        Raises AgentFailure.
        """
        self._next += 1
        deadline = Deadline(limits.seconds, wall=limits.wall_seconds, spent=self.process.spent)
        self.stage = None
        self._bound_log()
        self._printed = printed(self.log)
        self._looked = time.monotonic()
        sending = limits.wall_seconds or limits.seconds
        self._repeating = None
        try:
            self.channel.send(kind, self._next, dict(meta), arrays, seconds=sending)
        except OSError as error:
            raise self._not_sent(error, sending) from None
        except wire.WireError as error:
            raise self._failed("harness", f"the request cannot be sent: {error}") from error
        most = (limits.memory_bytes or wire.MAX_BYTES) if kind in LARGE else 0
        while True:
            frame = self._receive(self._next, deadline, limits, max(most, SMALL_BYTES))
            if frame.kind == wire.STAGE:
                deadline.begin(str(frame.meta.get("stage", "")))
                self.stage = deadline.stage or None
                if deadline.left() <= 0:
                    raise self._late(deadline)
            elif frame.kind == wire.ERROR:
                self.calls += 1
                raise self._reported(frame.meta)
            elif frame.kind in ANSWERS:
                if frame.meta.get("process") != STARTED:
                    return frame
                if started is not None:
                    started()
            else:
                raise self._lost("harness", f"the agent answered with {wire.KINDS[frame.kind]}", self.stage)

    def _not_sent(self, error: OSError, seconds: float) -> AgentFailure:
        """The failure of a request that could not be sent."""
        if isinstance(error, TimeoutError) and error.errno != errno.ETIMEDOUT:  # which is the system's, for a dead link
            return self._lost("timeout", f"the agent did not take the data of a request within {seconds:g} s")
        return self._gone(None, within=False)

    def _repeat(self, inputs: Sequence[Any], outputs: Sequence[Any], seconds: float) -> None:
        """Remember the forms of an inference; the next one has most likely the same."""
        sent, received = form_of(wire.RUN, inputs), form_of(wire.RESULT, outputs)
        self._repeating = Repeating(self.channel, sent, received, seconds) if sent and received else None

    def infer(self, inputs: Sequence[Any], limits: Limits, waiting: Callable[[float], None]) -> list[Any]:
        """The outputs [...] of one sample, whose ``inputs`` are numpy arrays [...], through the deployed model.

        ``waiting`` comes from :meth:`patience`. Raises AgentFailure.
        """
        self._next += 1
        call = self._next
        if not call % LOOK_EVERY:
            self._look(limits)
        repeating = self._repeating
        try:
            if repeating is not None and repeating.sent.fits(inputs):
                outputs = repeating.exchange(call, inputs)
                if outputs is not None:
                    return outputs
            else:
                self._repeating = None
                self.channel.send(wire.RUN, call, None, [from_numpy(one) for one in inputs], limits.seconds)
        except wire.WireError as error:
            raise self._lost("harness", f"the agent sent garbage: {error}") from error
        except Closed as closed:
            raise self._gone(self.stage, closed.within) from None
        except OSError as error:
            raise self._not_sent(error, limits.seconds) from None
        while True:
            frame = self._received(call, limits, limits.seconds, _any_size, waiting)
            if frame.kind == wire.RESULT:
                outputs = [to_numpy(array) for array in frame.arrays]
                self._repeat(inputs, outputs, limits.seconds)
                return outputs
            if frame.kind == wire.ERROR:
                raise self._reported(frame.meta)
            if frame.kind != wire.STAGE:
                raise self._lost("harness", f"the agent answered with {wire.KINDS[frame.kind]}", self.stage)

    def patience(self, limits: Limits) -> Callable[[float], None]:
        """What watches the agent while an inference is waited for; it raises AgentFailure when that takes too long."""

        def waiting(seconds: float) -> None:
            if seconds >= limits.seconds:
                raise self._lost("timeout", f"the inference took longer than {limits.seconds:g} s", self.stage)
            self._look(limits)

        return waiting

    def _receive(self, call: int, deadline: Deadline, limits: Limits, most: int) -> wire.Frame:
        """The next frame, of at most ``most`` bytes if it is a result and SMALL_BYTES if not. Raises AgentFailure."""

        def waiting(seconds: float) -> None:
            deadline.look()
            if deadline.left() <= 0:
                raise self._late(deadline)
            self._look(limits)

        self._look(limits)
        return self._received(
            call, limits, lambda: max(1.0, deadline.left()), lambda kind: most if kind in ANSWERS else SMALL_BYTES,
            waiting,
        )  # fmt: skip

    def _received(
        self, call: int, limits: Limits, seconds: float | Callable[[], float], most: Callable[[int], int],
        waiting: Callable[[float], None],
    ) -> wire.Frame:  # fmt: skip
        """The next frame, as Channel.receive gives it. Raises AgentFailure."""
        try:
            frame = self.channel.receive(seconds, most, waiting)
        except Closed as closed:
            raise self._gone(self.stage, closed.within) from None
        except TimeoutError as error:
            if error.errno == errno.ETIMEDOUT:  # the system's, for a dead link
                raise self._gone(self.stage, within=False) from None
            raise self._lost("timeout", "the agent stopped within a frame", self.stage) from None
        except OSError:
            raise self._gone(self.stage, within=False) from None
        except TooLong as error:
            raise self._too_long(error, limits) from error
        except wire.WireError as error:
            raise self._lost("harness", f"the agent sent garbage: {error}", self.stage) from error
        except MemoryError as error:  # the tool kept to its limit; this process cannot hold what it may answer
            text = "this machine has no memory left to receive the agent's answer"
            raise self._lost("harness", text, self.stage) from error
        if frame.call != call:
            if frame.call == 0 and frame.kind == wire.ERROR:
                said = answers.reported(frame.meta).message
                raise self._lost("harness", f"the agent ended the connection: {said}", self.stage)
            text = f"the agent answered call {frame.call}, asked was call {call}"
            raise self._lost("harness", text, self.stage)
        return frame

    def _look(self, limits: Limits) -> None:
        """Look at memory and log, at most once in POLL_SECONDS. Raises AgentFailure for too much memory."""
        now = time.monotonic()
        if now - self._looked < POLL_SECONDS:
            return
        self._looked = now
        self._bound_log()
        used = self.process.resident() if limits.memory_bytes else 0
        if used > limits.memory_bytes > 0:
            text = f"the agent used {used / 2**20:.0f} MiB, the limit is {limits.memory_bytes / 2**20:.0f} MiB"
            raise self._lost("out-of-memory", text, self.stage)

    def _bound_log(self) -> None:
        """Bound the log, at most once in POLL_SECONDS, however short the calls are."""
        now = time.monotonic()
        if now - self._bounded >= POLL_SECONDS:
            self._bounded = now
            bound_log(self.log)

    def _too_long(self, error: TooLong, limits: Limits) -> AgentFailure:
        """The failure of a frame that was refused before its bytes were taken."""
        if error.kind == wire.RESULT and 0 < limits.memory_bytes <= error.most:
            text = f"the agent's answer has {error.bytes / 2**20:.0f} MiB, the limit is {error.most / 2**20:.0f} MiB"
            return self._lost("out-of-memory", text, self.stage)
        return self._lost("harness", f"the agent sent garbage: {error}", self.stage)

    def _late(self, deadline: Deadline) -> AgentFailure:
        what = f"stage {self.stage}" if self.stage else "the call"
        return self._lost("timeout", f"{what} {deadline.text}", self.stage)

    def _reported(self, meta: Mapping[str, Any]) -> AgentFailure:
        said = answers.reported(meta)
        return AgentFailure(
            said.symptom, said.message, detail=said.detail, stage=said.stage or self.stage, log=str(self.log),
            types=said.types, cause=said.cause,
        )  # fmt: skip

    def _failed(self, symptom: str, message: str) -> AgentFailure:
        """The failure of a call after which the agent can be used again."""
        return AgentFailure(symptom, message, stage=self.stage, log=str(self.log))

    def _gone(self, stage: str | None, within: bool) -> AgentFailure:
        """The failure of a connection that ended: by a signal, by an exit, or in the middle of a frame."""
        try:
            status = self.process.ended()
        except LinkLost as error:
            return self._lost("board-lost", str(error), stage)
        except BenchError as error:
            return self._lost("harness", str(error), stage)
        where = f" in stage {stage}" if stage else ""
        if status is not None and os.WIFSIGNALED(status):
            number = os.WTERMSIG(status)
            if number == signal.SIGKILL and self.process.shares_files and memory_kills() > self._kills:
                return self._lost("harness", f"{NO_MEMORY}{where}", stage, number)
            name = signal.Signals(number).name if number in set(signal.Signals) else f"signal {number}"
            words = last_words(self.log, self._printed) if number == signal.SIGABRT else ""
            said = f"the agent was killed by {name}{where}" + (f": {words}" if words else "")
            return self._lost("crash", said, stage, number)
        if within:
            return self._lost("harness", f"the agent ended within a frame{where}", stage)
        code = "" if status is None else f" with exit code {os.waitstatus_to_exitcode(status)}"
        return self._lost("crash", f"the agent ended{code}{where}", stage)

    def _lost(self, symptom: str, message: str, stage: str | None = None, number: int | None = None) -> AgentFailure:
        self.close()
        detail = f"{message}\n{quoted(self.log)}"
        return AgentFailure(symptom, message, stage=stage or None, detail=detail, log=str(self.log), signal=number)


def _any_size(kind: int) -> int:
    return wire.MAX_BYTES
