"""The server of an agent: it answers the requests of one connection in order, one at a time."""

from __future__ import annotations

import importlib
import os
import platform
import re
import socket
import sys
import traceback
from typing import TYPE_CHECKING, Any, Callable, Dict, List, Optional, Tuple, Type

from bench_plugin.agent import causes, modules, refusals, wire
from bench_plugin.agent.adapter import (
    InvalidModel,
    Reply,
    Unsupported,
    VersionSkew,
    converted_operator,
    symptom_of,
    type_names,
)
from bench_plugin.agent.channel import Channel, Closed
from bench_plugin.agent.contract import OPERATIONS, Call, Malformed, Place, record_of
from bench_plugin.agent.deployed import Deploy, Deployed, InferenceError
from bench_plugin.agent.link.bounds import UNBOUNDED, Alarm
from bench_plugin.agent.link.identity import agent_digest, machine_id
from bench_plugin.agent.link.session import NotAuthentic
from bench_plugin.agent.measure import Heap, PeakMemory, Stopwatch
from bench_plugin.agent.store import Refused, Store

if TYPE_CHECKING:
    from bench_plugin.agent.link.admitted import Admitted

ANSI = re.compile("\x1b\\[[0-9;]*m")
MESSAGE_CHARACTERS = 4096
DETAIL_CHARACTERS = 64 * 1024
NAME_CHARACTERS = 200  # of a stage, or of the class of an exception
MOST_TYPES = 32
TOOLS = ("framework", "compiler", "runtime")  # the kinds of adapters whose tools are under test
WORK = (wire.CALL, wire.RESET)  # what leaves freed memory behind; requests of a deployed model are timed
TIME, RUN = "time", "run"  # every adapter of compilers that runs artefacts is timed by the same method


class Loaded:
    """An adapter in this process: its declaration, the records of its operations, and its instance once it was called.

    Raises Refused for an operation that neither the contract nor the adapter's own CALLS knows.
    """

    def __init__(self, name: str, path: str, module: str) -> None:
        self._module = modules.loaded(module, path)
        self.declaration: Dict[str, Any] = self._module.ADAPTER
        self.calls: Dict[str, Type[Call]] = dict(getattr(self._module, "CALLS", {}))
        for operation in self.declaration.get("operations", ()):
            if operation in self.calls:
                continue
            if operation not in OPERATIONS:
                known = ", ".join(sorted(OPERATIONS))
                raise Refused(
                    "adapter %s: operation %r is not in the contract, which has %s" % (name, operation, known)
                )
            self.calls[operation] = record_of(operation)
        if self.declaration.get("kind") == "compiler" and RUN in self.calls:
            self.calls.setdefault(TIME, record_of(TIME))
        self._instance: Optional[Any] = None

    @property
    def instance(self) -> Any:
        """The only instance of the adapter, made on first use."""
        if self._instance is None:
            self._instance = self._module.Adapter()
        return self._instance

    def import_ahead(self) -> None:
        """Import the modules that the declaration names under ``imports``, before the first call needs them.

        The adapter is made first: it may set variables that the modules read.
        """
        names = self.declaration.get("imports", ())
        try:
            if names:
                self.instance  # noqa: B018
            for name in names:
                importlib.import_module(name)
        except Exception:  # the call that needs them reports the error, with its stage
            return

    def reset(self) -> None:
        """Let the adapter drop the objects that it keeps between calls, if it was ever called."""
        if self._instance is not None:
            self._instance.reset()


class Idle(Exception):
    """A host that has the board and asks for nothing."""


class Server:
    """Serves one channel until it ends.

    Without ``admitted`` the host is the one that started this process, which shares its files. Else it came over a
    network, with bounds, and a call may name no file of this machine.
    """

    def __init__(self, channel: Channel, folder: str, admitted: Optional[Admitted] = None) -> None:
        self._channel = channel
        self._admitted = admitted
        self._bounds = admitted.bounds if admitted else UNBOUNDED
        self._alarm = Alarm(self._bounds.call)
        self._store = Store(folder, self._bounds.store << 20)
        self._adapters: Dict[str, Loaded] = {}
        self._deployed: Optional[Deployed] = None
        self._peak = PeakMemory()
        self._heap = Heap()
        self._stage = ""
        self._needed = 0  # bytes of the files of the call
        self._declared: List[Dict[str, str]] = []  # the rows of ``errors`` that hold for the call

    def serve(self) -> None:
        """Answer requests until ``bye``, the end of the connection, or bytes that are not a frame.

        Raises OSError when an answer cannot be sent.
        """
        about = self._about()
        self._channel.send(wire.HELLO, 0, self._admitted.signed(about) if self._admitted else about)
        idle, most = self._limits()
        while True:
            try:
                frame = self._channel.receive(None, most, idle)
            except Closed:
                return
            except (wire.WireError, Idle) as error:  # the beginning of the next frame is not known any more
                self._report(0, error)
                return
            except socket.timeout as error:
                self._report(0, wire.WireError("a frame was not sent at the least rate: %s" % error))
                return
            if frame.kind == wire.BYE:
                return
            self._alarm.begin()
            try:
                if frame.kind == wire.RUN:
                    self._model().run(frame)
                else:
                    self._answer(frame)
            except InferenceError as error:
                self._report(error.call, _cause(error))
            except Closed:
                return
            except NotAuthentic as error:  # of a repeated inference; the next frame is not known any more
                self._report(0, error)
                return
            except Exception as error:  # the host gets whatever an adapter raises
                if isinstance(error, OSError) and self._channel.broken:
                    raise
                self._report(frame.call, error)
            worked = frame.kind in WORK
            del frame  # so that its buffers can be used again
            if worked:
                self._heap.trim()

    def _limits(self) -> Tuple[Callable[[float], None], int]:
        """What limits the wait for a request, and its bytes."""
        bounds = self._bounds

        def idle(seconds: float) -> None:
            self._alarm.rest()
            if 0 < bounds.idle <= seconds:
                raise Idle("there was no request for %g s, so the board is given to the next host" % bounds.idle)

        return idle, bounds.frame << 20 or wire.MAX_BYTES

    def _answer(self, frame: wire.Frame) -> None:
        self._stage, self._declared, self._needed = "", [], 0
        if frame.kind == wire.CALL:
            self._call(frame)
        elif frame.kind == wire.LOAD:
            self._load(frame)
        elif frame.kind == wire.PUT:
            self._channel.send(wire.RESULT, frame.call, self._put(frame))
        elif frame.kind in (wire.DATA, wire.PROCESS, wire.OUTPUT, wire.STATS):
            self._model().answer(frame)
        elif frame.kind == wire.MODEL:
            self._deploy(frame)
        elif frame.kind == wire.GET:
            with open(self._store.below(str(frame.meta["path"])), "rb") as file:
                data = file.read()
            self._channel.send(wire.RESULT, frame.call, None, [wire.Array("bytes", (len(data),), data)])
        elif frame.kind == wire.RESET:
            self._deployed = None
            for adapter in self._adapters.values():
                adapter.reset()
            self._channel.send(wire.RESULT, frame.call)
        elif frame.kind == wire.VERSIONS:
            versions = self._loaded(frame).instance.versions()
            self._channel.send(wire.RESULT, frame.call, {"versions": versions})
        elif frame.kind == wire.CANCEL:
            cancelled = self._deployed is not None and self._deployed.cancel()  # calls are answered in order
            self._channel.send(wire.RESULT, frame.call, {"cancelled": cancelled})
        else:
            raise Refused("an agent does not answer %s" % wire.KINDS[frame.kind])

    def _put(self, frame: wire.Frame) -> Dict[str, Any]:
        """Store content; without a blob, say whether it is stored already."""
        digest = str(frame.meta["sha256"])
        if not frame.arrays:
            return {"stored": self._store.holds(digest)}
        return {"path": self._store.put(digest, frame.arrays[0].data)}

    def _load(self, frame: wire.Frame) -> None:
        name, digest = str(frame.meta["adapter"]), str(frame.meta["sha256"])
        readable = re.sub(r"[^A-Za-z0-9]", "_", name)[:64]  # for tracebacks
        path = self._store.put(digest, frame.arrays[0].data, suffix="-%s.py" % readable)
        module = str(frame.meta.get("module") or modules.own(name))
        self._adapters[name] = Loaded(name, path, module)
        self._channel.send(wire.RESULT, frame.call)
        self._adapters[name].import_ahead()

    def _loaded(self, frame: wire.Frame) -> Loaded:
        name = str(frame.meta.get("adapter", ""))
        if name not in self._adapters:
            raise Refused("no adapter %r was sent" % name)
        return self._adapters[name]

    def _call(self, frame: wire.Frame) -> None:
        meta = frame.meta
        loaded = self._loaded(frame)
        operation = str(meta["operation"])
        if operation not in loaded.calls or method_of(operation) not in loaded.declaration.get("operations", ()):
            raise Refused("adapter %s has no operation %r" % (meta["adapter"], operation))
        watch = Stopwatch()
        reply = self._performed(frame, loaded, operation, watch)
        results = {name: self._store.below(path) for name, path in reply.files.items()}
        answer = {
            "meta": reply.meta, "arrays": list(reply.arrays), "files": results, "seconds": watch.seconds,
            "peak": self._peak.read(),
        }  # fmt: skip
        self._channel.send(wire.RESULT, frame.call, answer, list(reply.arrays.values()))

    def _performed(
        self, frame: wire.Frame, loaded: Loaded, operation: str, watch: Stopwatch, deploy: Optional[Deploy] = None
    ) -> Reply:
        """The reply of an adapter to a call, whose stages are announced to the host."""
        meta = frame.meta
        method = method_of(operation)
        self._declared = [row for row in loaded.declaration.get("errors", ()) if row.get("operation", method) == method]

        def announce(stage: str) -> None:
            if not isinstance(stage, str) or not 0 < len(stage) <= NAME_CHARACTERS:
                text = "a stage has a name of 1 to %d characters, not %s"
                raise ValueError(text % (NAME_CHARACTERS, bounded(repr(stage), NAME_CHARACTERS)))
            watch.stage(stage)
            self._stage = stage
            self._channel.send(wire.STAGE, frame.call, {"stage": stage})

        names: List[str] = meta.get("arrays", [])
        files = {name: self._given(place) for name, place in meta.get("files", {}).items()}
        self._needed = sum(os.path.getsize(path) for path in files.values())
        place = Place(self._store.scratch(), files, dict(zip(names, frame.arrays)), announce, deploy)
        call = loaded.calls[operation].read(meta.get("meta", {}), operation).at(place)
        call.prepare()
        self._peak.reset()
        reply = _raising(loaded, operation, call)
        watch.stop()
        return reply

    def _deploy(self, frame: wire.Frame) -> None:
        """Keep the model that an adapter runs, for requests that carry inputs and nothing else."""
        self._deployed = None
        loaded = self._loaded(frame)
        if "run" not in loaded.declaration.get("operations", ()):
            raise Refused("adapter %s runs no models" % frame.meta["adapter"])
        deployed = Deployed(self._channel, self._alarm.begin)
        reply = self._performed(frame, loaded, "run", Stopwatch(), deployed.keep)
        order = deployed.order(dict(zip(frame.meta.get("arrays", []), frame.arrays)))
        self._deployed = deployed
        self._channel.send(wire.OK, frame.call, {"meta": reply.meta, "arrays": order})

    def _model(self) -> Deployed:
        if self._deployed is None:
            raise Refused("no model was deployed on this connection: send model first")
        return self._deployed

    def _given(self, place: Dict[str, str]) -> str:
        """The path of a call's file, given as a path on a shared file system or as the digest of stored content.

        Raises Refused for a path from a host that came over a network.
        """
        if "path" not in place:
            return self._store.stored(place["sha256"])
        if self._admitted is not None:
            raise Refused("a call over a network names the file %r: put its content first" % place["path"])
        return place["path"]

    def _report(self, call: int, error: Exception) -> None:
        detail = _traceback(error)
        try:
            sys.stderr.write(detail)
            sys.stderr.flush()
        except OSError:  # the disk of the log is full; the host gets the same text
            pass
        symptom = "harness" if isinstance(error, (Refused, Malformed, wire.WireError, Idle)) else symptom_of(error)
        if symptom == "exception" and causes.out_of_memory(error):
            symptom = "out-of-memory"
        types = type_names(error)[:MOST_TYPES]
        cause, message = causes.cause_of(error, self._declared), _message(error)
        lack = causes.short_of_disk(self._store.folder, self._needed) or causes.resource_below(message)
        if lack:  # whatever a tool makes of it
            first, newline, rest = message.partition("\n")
            cause = causes.ENVIRONMENT
            message = "%s (%s)%s%s" % (first, lack, newline, rest)
        meta = {
            "symptom": symptom, "cause": cause, "stage": self._stage,
            "message": bounded(message, MESSAGE_CHARACTERS), "detail": bounded(detail, DETAIL_CHARACTERS),
            "types": [bounded(name, NAME_CHARACTERS) for name in types],
        }  # fmt: skip
        self._channel.send(wire.ERROR, call, meta)

    def _about(self) -> Dict[str, Any]:
        return {
            "pid": os.getpid(), "python": platform.python_version(), "machine": platform.machine(),
            "machine_id": machine_id(), "agent": agent_digest(), "adapters": sorted(self._adapters),
        }  # fmt: skip


def _cause(error: InferenceError) -> Exception:
    """What the model raised."""
    return error.__cause__ if isinstance(error.__cause__, Exception) else error


def _message(error: BaseException) -> str:
    """The message of an exception: that of its cause, where the cause is an error of the tool and not ours.

    A key that is not there says less than the error that was made of it.
    """
    operator = next(filter(None, map(converted_operator, causes.chain(error))), "")
    seen = set()  # an exception may be a cause of its own cause
    while error.__cause__ is not None and not isinstance(error, (Unsupported, InvalidModel, VersionSkew)):
        if id(error) in seen or isinstance(error.__cause__, LookupError):
            break
        seen.add(id(error))
        error = error.__cause__
    text = ANSI.sub("", _text(error)).strip()
    return causes.at_operator(causes.told(text) or type(error).__name__, operator)


def _text(error: BaseException) -> str:
    """The text of an exception, whose own ``__str__`` may fail."""
    try:
        return str(error)
    except Exception as broken:
        return "%s, whose text cannot be read: its __str__ raises %s" % (type(error).__name__, type(broken).__name__)


def _traceback(error: BaseException) -> str:
    """The traceback from the adapter on, without the agent's own frames, which say nothing about the cause."""
    cause = error.__cause__ if isinstance(error, Unsupported) and error.__cause__ is not None else error
    frames = cause.__traceback__
    while frames is not None and frames.tb_next is not None and frames.tb_frame.f_globals.get("__name__") == __name__:
        frames = frames.tb_next
    try:
        return "".join(traceback.format_exception(type(cause), cause, frames))
    except Exception as broken:  # such as a chain of thousands of causes
        where = "".join(traceback.format_tb(frames))
        return "%s%s (its causes cannot be shown: %s)\n" % (where, _text(cause), type(broken).__name__)


def method_of(operation: str) -> str:
    """The method of an adapter that does an operation: an artefact is timed by the method that runs it."""
    return RUN if operation == TIME else operation


def bounded(text: str, most: int) -> str:
    """A text, of which only the beginning and the end are left if it is longer than ``most`` characters."""
    if len(text) <= most:
        return text
    half = most // 2
    return "%s\n... %d characters left out ...\n%s" % (text[:half], len(text) - 2 * half, text[-half:])


def _raising(loaded: Loaded, operation: str, call: Call) -> Reply:
    """Call the adapter; an exception that says "not implemented" becomes Unsupported.

    Which ones do is said by refusals.py for the tools of all adapters, and by the declaration for those of its own.
    """
    try:
        reply = getattr(loaded.instance, method_of(operation))(call)
    except Exception as error:
        for row in loaded.declaration.get("unsupported", ()):
            named = any(name.rsplit(".", 1)[-1] == row.get("exception") for name in type_names(error))
            where = row.get("operation", method_of(operation)) == method_of(operation)
            if named and where and re.search(row.get("pattern", ""), _text(error)):
                raise Unsupported(_text(error)) from error
        if loaded.declaration.get("kind") in TOOLS and refusals.refuses(error):
            raise Unsupported(_message(error)) from error
        raise
    if not isinstance(reply, Reply):
        raise Refused("%s returned %s, not a Reply" % (operation, type(reply).__name__))
    for name, kind in (("meta", object), ("arrays", wire.Array), ("files", str)):
        _check_table(getattr(reply, name), kind, "%s: %s of its Reply" % (operation, name))
    return reply


def _check_table(table: Any, kind: type, where: str) -> None:
    """Check a part of a reply. Raises Refused where it is no dictionary of names to values of that kind."""
    if not isinstance(table, dict):
        raise Refused("%s is of type %s; expected dict" % (where, type(table).__name__))
    for name, value in table.items():
        if not isinstance(name, str):
            raise Refused("%s has a key of type %s; expected str" % (where, type(name).__name__))
        if not isinstance(value, kind):
            text = "%s: %s is of type %s; expected %s"
            raise Refused(text % (where, bounded(repr(name), NAME_CHARACTERS), type(value).__name__, kind.__name__))
