"""An adapter without a framework that fails in every way an agent can; ``GoCall.fault`` names the way.

Agents load this file by content, so it imports the standard library and ``bench_plugin.agent`` only.
"""

from __future__ import annotations

import ctypes
import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from bench_plugin.agent import wire
from bench_plugin.agent.adapter import InvalidModel, Reply, Unsupported, VersionSkew
from bench_plugin.agent.contract import Call

ADAPTER = {
    "name": "fake",
    "kind": "framework",
    "toolchain": "fake",
    "title": "Fake",
    "distribution": "fake",
    "operations": ["go"],
    "precisions": ["fp32"],
    "targets": ["local"],
    "unsupported": [{"exception": "NotImplementedError", "pattern": "no kernel"}],
}

CHUNK = 16 << 20


@dataclass(frozen=True)
class GoCall(Call):
    """An operation of the fake's own.

    fault: the names of what goes wrong, one after another.
    stages: stages that are announced and slept through, in seconds.
    bytes: how many the faults ``peak`` and ``fragments`` take.
    outside: the path that the fault ``escape`` gives back.
    pid_file: where the fault ``grandchild`` writes its number.
    given: the whole metadata, which is echoed.
    """

    operation = "go"

    fault: str | tuple[str, ...] = ()
    stages: Mapping[str, float] = field(default_factory=dict)
    bytes: int = 0
    outside: str = ""
    pid_file: str = ""
    given: Any = None

    @classmethod
    def read(cls, meta: Any, where: str) -> GoCall:
        """The record, which keeps all of the metadata."""
        return super().read({**meta, "given": dict(meta)}, where)

    @property
    def faults(self) -> list[str]:
        """The names of the faults."""
        return [self.fault] if isinstance(self.fault, str) else list(self.fault)


CALLS = {"go": GoCall}
# A header that promises 64 bytes more than follow.
HALF = wire.HEADER.pack(wire.MAGIC, wire.VERSION, wire.RESULT, 0, 1, 64, 0, 0, 0, 64)
SECOND = 2  # the number of a fresh agent's first call: the first request sends this file
FOREVER = 600.0

# Calls that this process has answered: what a leaking framework would remember over a reset.
used: list[str] = []
kept: list[bytearray] = []  # what lies above the blocks that ``fragments`` gives back
BLOCK = 100_000  # bytes, which glibc takes from its heap


class Adapter:
    """Echoes what it is given, unless the call asks for a fault."""

    def __init__(self) -> None:
        self.remembered = 0

    def versions(self) -> dict[str, str]:
        """A distribution that nobody installs."""
        return {"fake": "1.0"}

    def reset(self) -> None:
        """Forget the calls so far, or hang if the last one asked for that."""
        self.remembered = 0
        if used and used[-1].endswith("reset_hangs"):
            time.sleep(FOREVER)

    def go(self, call: GoCall) -> Reply:
        """Do what ``fault`` says in stage ``work``; without a fault give back arrays, metadata and files.

        ``fault`` may be a list: one after another. ``files`` come back as copies, ``stages`` are announced and slept
        through (name to seconds).
        """
        faults = call.faults
        self.remembered += 1
        try:
            self._stages(call)
            call.stage("work")
            for name in faults:
                reply = FAULTS[name](call)
                if reply is not None:
                    return reply
            return self._echo(call)
        finally:
            used.append(",".join(faults))

    def _stages(self, call: GoCall) -> None:
        for name, seconds in call.stages.items():
            call.stage(name)
            time.sleep(seconds)

    def _echo(self, call: GoCall) -> Reply:
        files = {}
        for name, path in call.files.items():
            files[name] = call.path(name)
            with open(path, "rb") as source, open(files[name], "wb") as copy:
                copy.write(source.read())
        meta = {"given": call.given, "pid": os.getpid(), "remembered": self.remembered, "folder": call.folder}
        return Reply(meta, dict(call.place.arrays), files)


def sleep(call: GoCall) -> None:
    """Hang."""
    time.sleep(FOREVER)


def spin(call: GoCall) -> None:
    """Compute without end."""
    while True:
        pass


def spin_below(call: GoCall) -> None:
    """Wait for a program that computes without end."""
    subprocess.run([sys.executable, "-c", "while True: pass"])


def segfault(call: GoCall) -> None:
    """Read address zero."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    ctypes.string_at(0)


def abort(call: GoCall) -> None:
    """End as C++ does with an exception that nothing catches."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    os.write(2, b"terminate called after throwing an instance of 'std::out_of_range'\n  what():  map::at\n")
    os.abort()


def fill(call: GoCall) -> None:
    """Write until the disk is full, and say as little of that as C++'s streams do."""
    try:
        with open(call.path("large"), "wb", buffering=0) as file:
            while True:
                file.write(b"x" * 65536)
    except OSError:
        raise RuntimeError("basic_ios::clear: iostream error") from None


def kill(call: GoCall) -> None:
    """Die as the kernel's out-of-memory killer would have it."""
    os.kill(os.getpid(), signal.SIGKILL)


def leave(call: GoCall) -> None:
    """End with an exit code, as native libraries do that give up."""
    os._exit(3)


def allocate(call: GoCall) -> None:
    """Take memory without end, every page touched."""
    taken = []
    while True:
        taken.append(bytearray(b"\1") * CHUNK)
        time.sleep(0.01)


def peak(call: GoCall) -> None:
    """Take ``bytes`` for a moment and give them back."""
    len(bytearray(b"\1") * call.bytes)


def fragments(call: GoCall) -> None:
    """Take ``bytes`` in small blocks and give them back, all but one above them: the C library keeps the rest."""
    blocks = [bytearray(b"\1") * BLOCK for _ in range(call.bytes // BLOCK)]
    kept.append(bytearray(BLOCK))
    del blocks


def exception(call: GoCall) -> None:
    """Raise with a message of a megabyte, most of it beyond ASCII."""
    raise ValueError("the shape of node 17 is wrong\n" + "\N{SNOWMAN}\N{ROCKET}" * (1 << 19))


def unsupported(call: GoCall) -> None:
    """Say so by the agent's own exception."""
    raise Unsupported("operator Einsum is not implemented")


def declared(call: GoCall) -> None:
    """Say so by an exception that ADAPTER declares."""
    raise NotImplementedError("no kernel for Einsum")


def invalid(call: GoCall) -> None:
    """Object to the model."""
    raise InvalidModel("input x has no type")


def skew(call: GoCall) -> None:
    """Be too old for the model."""
    raise VersionSkew("opset 99, at most 21 is known")


def no_disk(call: GoCall) -> None:
    """Raise what a compiler said that found the disk full."""
    raise ValueError("C++ compile error\n\nOutput:\nfatal error: cannot write PCH file: No space left on device")


def no_memory(call: GoCall) -> None:
    """Have an allocation refused."""
    raise MemoryError("cannot allocate 1 TiB")


def not_json(call: GoCall) -> None:
    """Give back metadata that cannot be sent."""
    call.given["object"] = object()


def escape(call: GoCall) -> Reply:
    """Give back a file that is not the agent's."""
    return Reply(files={"stolen": call.outside})


def noise(call: GoCall) -> None:
    """Print a lot: from Python, to the descriptors, and through the C library's buffers."""
    library = ctypes.CDLL(None)
    for number in range(2000):
        print("python says", number, "x" * 80)
        print("python complains", number, file=sys.stderr)
        os.write(1, b"a descriptor says\n")
        os.write(2, b"a descriptor complains\n")
        library.puts(b"the C library says")
    library.fflush(None)
    print("last words")


def garbage(call: GoCall) -> None:
    """Write to the channel what is no frame, as a runtime would that prints to any descriptor it finds."""
    os.write(_channel(), b"WARNING: deprecated\n" * 10)
    time.sleep(FOREVER)


def truncated(call: GoCall) -> None:
    """Promise a blob and close the channel."""
    os.write(_channel(), HALF)
    os.close(_channel())
    time.sleep(FOREVER)


def stalled(call: GoCall) -> None:
    """Promise a blob, send a byte of it now and then, never all."""
    os.write(_channel(), HALF)
    while True:
        os.write(_channel(), b"x")
        time.sleep(0.1)


def wrong_call(call: GoCall) -> None:
    """Answer another call than the one that was asked."""
    os.write(_channel(), _frame(wire.RESULT, 999))
    time.sleep(FOREVER)


def wrong_kind(call: GoCall) -> None:
    """Answer with a request, in a fresh agent."""
    os.write(_channel(), _frame(wire.RUN, SECOND))
    time.sleep(FOREVER)


def wrong_answer(call: GoCall) -> None:
    """Answer with a result that lacks everything a result has, in a fresh agent."""
    os.write(_channel(), _frame(wire.RESULT, SECOND))
    time.sleep(FOREVER)


def grandchild(call: GoCall) -> None:
    """Leave behind a process in a session of its own; its number goes to the file ``pid_file``."""
    process = subprocess.Popen(["sleep", str(FOREVER)], start_new_session=True)
    with open(call.pid_file + ".partial", "w") as file:
        file.write(str(process.pid))
    os.replace(file.name, call.pid_file)


def again(call: GoCall) -> None:
    """Announce two stages in turn without end."""
    while True:
        call.stage("build")
        call.stage("export")
        time.sleep(0.05)


def flood(call: GoCall) -> None:
    """Announce one stage without end, as fast as the host reads it."""
    while True:
        call.stage("build")


def nameless(call: GoCall) -> None:
    """Announce stages that nobody knows, without end."""
    for number in range(10**6):
        call.stage(f"stage {number}")
        time.sleep(0.05)


def verbose(call: GoCall) -> None:
    """Print 200 MiB, with a first and a last line."""
    os.write(1, b"first words\n")
    for _ in range(200):
        os.write(1, (b"x" * 99 + b"\n") * 10486)
        time.sleep(0.002)
    os.write(1, b"last words\n")


def used_only(call: GoCall) -> None:
    """Fail in an agent that has answered calls before."""
    if used:
        raise RuntimeError("something is left of " + used[-1])


FAULTS: dict[str, Callable[[GoCall], Reply | None]] = {
    "none": lambda call: None, "sleep": sleep, "spin": spin, "spin_below": spin_below, "segfault": segfault,
    "abort": abort, "fill": fill, "kill": kill, "exit": leave, "allocate": allocate,
    "peak": peak, "fragments": fragments, "exception": exception, "unsupported": unsupported, "declared": declared,
    "no_memory": no_memory, "no_disk": no_disk, "invalid": invalid, "skew": skew, "not_json": not_json,
    "escape": escape, "noise": noise, "garbage": garbage, "truncated": truncated, "stalled": stalled,
    "wrong_call": wrong_call, "wrong_kind": wrong_kind, "wrong_answer": wrong_answer, "grandchild": grandchild,
    "used_only": used_only, "again": again, "flood": flood, "nameless": nameless, "verbose": verbose,
    "reset_hangs": lambda call: None,
}  # fmt: skip


def _channel() -> int:
    return int(sys.argv[sys.argv.index("--fd") + 1])


def _frame(kind: int, call: int) -> bytes:
    return b"".join(bytes(part) for part in wire.encode(kind, call))
