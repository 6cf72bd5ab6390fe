"""The host's side of the guardian: spawn an agent, learn how it ended, kill it."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from bench_plugin.domain.errors import BenchError
from bench_plugin.reach.processes.variables import for_agents

PACKET = 1 << 16
SPAWN_SECONDS = 30.0


class GuardianGone(BenchError):
    """The guardian has ended, and every agent with it: nobody knows how."""

    def __init__(self, status: int | None) -> None:
        how = "" if status is None else f" ({_ended_by(status)})"
        super().__init__(
            f"the guardian of the agents is gone{how}: the process that all agents are below was ended from outside, "
            "and its agents with it"
        )


@dataclass
class Child:
    """A spawned agent.

    ``pid`` is that of its keeper, below which all its processes are. ``status`` is that of waitpid(2) once ``ended`` is
    set, None if the guardian ended first.
    """

    id: str
    guardian: Guardian
    pid: int = 0
    error: str = ""
    status: int | None = None
    started: threading.Event = field(default_factory=threading.Event)
    ended: threading.Event = field(default_factory=threading.Event)


class Guardian:
    """A guardian process with its connection; ``gone`` is set once it has ended with all its agents.

    Any thread may start it: it is made with exec at once, and it watches this process, not the thread that starts it.
    ``held`` are descriptors that it keeps open for as long as it lives. Raises BenchError when it cannot be started.
    """

    def __init__(self, scratch: Path, held: Sequence[int]) -> None:
        self.gone = threading.Event()
        self.children: dict[str, Child] = {}
        self.connection, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        script = Path(__file__).with_name("guardian.py")
        command = [sys.executable, "-I", "-S", str(script), str(theirs.fileno()), str(scratch), str(os.getpid())]
        try:
            self.process = subprocess.Popen(
                command, env=for_agents(os.environ).variables, close_fds=True, pass_fds=[theirs.fileno(), *held],
                start_new_session=True, stdin=subprocess.DEVNULL,
            )  # fmt: skip
        except OSError as error:
            self.connection.close()
            raise BenchError(f"the guardian of the agents cannot be started: {error}") from error
        finally:
            theirs.close()
        self.listener = threading.Thread(target=self._listen, name="bench-guardian", daemon=True)
        self.listener.start()

    @property
    def alive(self) -> bool:
        """Whether it runs; known at once, while ``gone`` waits for its agents."""
        return self.process.poll() is None and not self.gone.is_set()

    def close(self) -> None:
        """End its agents and it, and wait for it."""
        with suppress(OSError):
            self.connection.shutdown(socket.SHUT_WR)
        self.listener.join(SPAWN_SECONDS)  # returns when the guardian closes its end, without polling
        if self.listener.is_alive():
            self.process.kill()
        self.process.wait()
        self.connection.close()

    def _listen(self) -> None:
        while True:
            try:
                data = self.connection.recv(PACKET)
            except OSError:
                data = b""
            if not data:
                break
            answer = json.loads(data)
            child = self.children.get(answer["id"])
            if child is None:  # it has ended, which both its keeper and the guardian say
                continue
            if "status" in answer:
                child.status = answer["status"]
                del self.children[child.id]
                child.started.set()
                child.ended.set()
            else:
                child.pid, child.error = answer.get("pid", 0), answer.get("error", "")
                child.started.set()
        self.gone.set()
        for child in list(self.children.values()):
            child.started.set()
            child.ended.set()


class Nursery:
    """Starts the guardian and asks it for agents; a guardian that was killed is replaced for the next agent.

    Raises BenchError when the guardian cannot be started.
    """

    def __init__(self, scratch: Path, held: Sequence[int] = ()) -> None:
        self._scratch = scratch
        self._held = tuple(held)
        self._lock = threading.Lock()
        self._count = 0
        self._closed = False
        self._guardians = [Guardian(scratch, self._held)]

    def spawn(
        self, argv: Sequence[str], environment: Mapping[str, str], folder: Path, channel: socket.socket, log: Path
    ) -> Child:
        """Start a process; ``{fd}`` in ``argv`` becomes the descriptor of its end of ``channel``, which is closed here.

        Raises BenchError when it cannot be started.
        """
        with channel:
            child = self._announced()
            asked = {
                "argv": [_octets(part) for part in argv], "cwd": _octets(str(folder)),
                "env": {_octets(name): _octets(value) for name, value in environment.items()},
            }  # fmt: skip
            try:
                with log.open("ab") as output, tempfile.TemporaryFile(dir=self._scratch) as request:
                    request.write(json.dumps(asked).encode())
                    request.seek(0)
                    _send(child, "spawn", [channel.fileno(), output.fileno(), request.fileno()])
            except OSError as error:
                raise BenchError(f"the agent cannot be started: {error}") from error
        if not child.started.wait(SPAWN_SECONDS):
            raise BenchError(f"the guardian of the agents did not answer within {SPAWN_SECONDS:g} s")
        if child.pid:
            return child
        if not child.error and not child.guardian.alive:
            raise GuardianGone(child.guardian.process.poll())
        raise BenchError(f"the agent cannot be started: {child.error or 'its keeper has ended'}")

    def kill(self, child: Child) -> None:
        """Kill an agent with all its descendants and orphans, and wait until it is gone."""
        if not child.ended.is_set():
            with suppress(GuardianGone):  # which ends every agent
                _send(child, "kill")
            child.ended.wait(SPAWN_SECONDS)

    def close(self) -> None:
        """End every agent and every guardian, and wait for them."""
        with self._lock:
            self._closed = True
        for guardian in self._guardians:
            guardian.close()

    def _announced(self) -> Child:
        """A child that the guardian does not know yet; it lives, or is started anew."""
        with self._lock:
            if self._closed:
                raise BenchError("the run is ending")
            if not self._guardians[-1].alive:
                self._guardians.append(Guardian(self._scratch, self._held))
            self._count += 1
            child = Child(f"{os.getpid()}-{self._count}", self._guardians[-1])
            child.guardian.children[child.id] = child
        return child


def _send(child: Child, what: str, descriptors: Sequence[int] = ()) -> None:
    packet = json.dumps({"do": what, "id": child.id}).encode()
    try:
        socket.send_fds(child.guardian.connection, [packet], list(descriptors))
    except OSError as error:
        raise GuardianGone(child.guardian.process.poll()) from error


def _octets(text: str) -> str:
    """The bytes that the system knows a text by, one character each: JSON carries them whatever the locale is."""
    return os.fsencode(text).decode("latin-1")


def _ended_by(status: int) -> str:
    """How a process ended, from Popen's return code."""
    return f"killed by {signal.Signals(-status).name}" if status < 0 else f"exit code {status}"
