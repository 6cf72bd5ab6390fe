"""The host's side of the guardian: spawn an agent, learn how it ended, kill it."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from bench_plugin.domain.errors import BenchError

PACKET = 1 << 20
SPAWN_SECONDS = 30.0


@dataclass
class Child:
    """A spawned agent; ``status`` is that of waitpid(2) once ``ended`` is set, None if the guardian ended first."""

    id: str
    pid: int = 0
    error: str = ""
    status: int | None = None
    started: threading.Event = field(default_factory=threading.Event)
    ended: threading.Event = field(default_factory=threading.Event)


class Nursery:
    """Starts the guardian and asks it for agents. It must be made in the main thread, before any other thread."""

    def __init__(self, scratch: Path) -> None:
        self._connection, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        script = Path(__file__).with_name("guardian.py")
        self._guardian = subprocess.Popen(
            [sys.executable, "-I", "-S", str(script), str(theirs.fileno()), str(scratch)],
            close_fds=True, pass_fds=[theirs.fileno()], start_new_session=True, stdin=subprocess.DEVNULL,
        )  # fmt: skip
        theirs.close()
        self._children: dict[str, Child] = {}
        self._lock = threading.Lock()
        self._count = 0
        self._listener = threading.Thread(target=self._listen, name="bench-guardian", daemon=True)
        self._listener.start()

    def spawn(
        self, argv: Sequence[str], environment: Mapping[str, str], folder: Path, channel: socket.socket, log: Path
    ) -> Child:
        """Start a process; ``{fd}`` in ``argv`` becomes the descriptor of its end of ``channel``, which is closed here.

        Raises BenchError when it cannot be started.
        """
        with self._lock:
            self._count += 1
            child = Child(f"{os.getpid()}-{self._count}")
            self._children[child.id] = child
        request = {"do": "spawn", "id": child.id, "argv": list(argv), "env": dict(environment), "cwd": str(folder)}
        with channel, log.open("ab") as file:
            try:
                socket.send_fds(self._connection, [json.dumps(request).encode()], [channel.fileno(), file.fileno()])
            except OSError as error:
                raise BenchError(f"the guardian of the agents cannot be asked: {error}") from error
        if not child.started.wait(SPAWN_SECONDS):
            raise BenchError("the guardian of the agents does not answer")
        if not child.pid:
            raise BenchError(f"the agent cannot be started: {child.error or 'the guardian of the agents is gone'}")
        return child

    def kill(self, child: Child) -> None:
        """Kill an agent with all its descendants and orphans, and wait until it is gone."""
        if not child.ended.is_set():
            try:
                self._connection.send(json.dumps({"do": "kill", "id": child.id}).encode())
            except OSError:
                return  # the guardian has ended, and with it every agent
            child.ended.wait(SPAWN_SECONDS)

    def close(self) -> None:
        """End every agent and the guardian, and wait for it."""
        with suppress(OSError):
            self._connection.shutdown(socket.SHUT_WR)
        self._listener.join(SPAWN_SECONDS)  # returns when the guardian closes its end, without polling
        if self._listener.is_alive():
            self._guardian.kill()
        self._guardian.wait()
        self._connection.close()

    def _listen(self) -> None:
        while True:
            try:
                data = self._connection.recv(PACKET)
            except OSError:
                data = b""
            if not data:
                break
            answer = json.loads(data)
            child = self._children[answer["id"]]
            if "status" in answer:
                child.status = answer["status"]
                child.ended.set()
            else:
                child.pid, child.error = answer.get("pid", 0), answer.get("error", "")
                child.started.set()
        for child in list(self._children.values()):
            child.started.set()
            child.ended.set()
