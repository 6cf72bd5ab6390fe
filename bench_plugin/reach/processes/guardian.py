"""The parent of all agents: a small process that outlives pytest just long enough to leave nothing behind.

Started by the main thread before any other thread. It is a child subreaper, so whatever an agent orphans becomes
its child; at end-of-file on its socket (pytest is gone, however it ended) it kills every agent, its descendants and
every orphan, removes the scratch folder, and ends. Run as a script: it imports the standard library only.

Requests are JSON objects, one per packet (SOCK_SEQPACKET): ``{"do": "spawn", "id", "argv", "env", "cwd"}`` with two
descriptors (the agent's channel, its log), ``{"do": "kill", "id"}``. Answers: ``{"id", "pid"}`` or ``{"id", "error"}``
after a spawn, ``{"id", "status"}`` (as of waitpid) when the agent has ended.
"""

from __future__ import annotations

import ctypes
import json
import os
import select
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator

PR_SET_CHILD_SUBREAPER = 36
PACKET = 1 << 20
MARK = "BENCH_AGENT_ID"
ROUNDS = 200
PAUSE = 0.005


class Guardian:
    """Spawns, reaps and kills."""

    def __init__(self, connection: socket.socket, scratch: str) -> None:
        self._connection = connection
        self._scratch = scratch
        self._agents: dict[int, str] = {}  # pid -> id
        self._wake, self._woken = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)

    def run(self) -> None:
        """Serve until end-of-file, then leave nothing."""
        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
        for number in {signal.SIGINT, signal.SIGTERM, signal.SIGHUP, *_ignored()}:
            # A terminal's Ctrl-C is pytest's to handle. A handler ends at exec; SIG_IGN would be the agents' for life,
            # also where it was handed down: nohup ignores SIGHUP, a shell's background jobs SIGINT and SIGQUIT.
            signal.signal(number, lambda number, frame: None)
        signal.set_wakeup_fd(self._woken, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda number, frame: None)
        while True:
            readable, _, _ = select.select([self._connection.fileno(), self._wake], [], [])
            if self._wake in readable:
                os.read(self._wake, 4096)
                self._reap()
            if self._connection.fileno() in readable and not self._request():
                break
        self._end()

    def _request(self) -> bool:
        data, descriptors, _, _ = socket.recv_fds(self._connection, PACKET, 2)
        if not data:
            return False
        request = json.loads(data)
        if request["do"] == "spawn":
            self._spawn(request, descriptors)
        elif request["do"] == "kill":
            self._kill(request["id"])
        return True

    def _spawn(self, request: dict[str, object], descriptors: list[int]) -> None:
        channel, log = descriptors
        argv = [str(part).replace("{fd}", str(channel)) for part in list(request["argv"])]  # type: ignore[call-overload]
        environment = {**dict(request["env"]), MARK: str(request["id"])}  # type: ignore[call-overload]
        try:
            process = subprocess.Popen(
                argv, env=environment, cwd=str(request["cwd"]), close_fds=True, pass_fds=[channel],
                start_new_session=True, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
            )  # fmt: skip
        except (OSError, ValueError, subprocess.SubprocessError) as error:
            self._tell({"id": request["id"], "error": f"{argv[0]}: {error}"})
        else:
            self._agents[process.pid] = str(request["id"])
            process.returncode = 0  # reaped below, with every other child
            self._tell({"id": request["id"], "pid": process.pid})
        finally:
            os.close(channel)
            os.close(log)

    def _reap(self) -> None:
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            if pid in self._agents:
                mark = self._agents.pop(pid)
                self._kill_marked(mark)
                self._tell({"id": mark, "status": status})

    def _kill(self, mark: str) -> None:
        pids = [pid for pid, own in self._agents.items() if own == mark]
        for pid in pids:
            _kill_all([pid, *descendants(pid)])
        self._kill_marked(mark)

    def _kill_marked(self, mark: str) -> None:
        """Orphans of one agent: they carry its mark in their environment, whatever session they are in."""
        for _ in range(ROUNDS):
            found = [pid for pid in descendants(os.getpid()) if pid not in self._agents and _mark_of(pid) == mark]
            if not found:
                return
            _kill_all(found)
            time.sleep(PAUSE)

    def _end(self) -> None:
        for _ in range(ROUNDS):
            found = list(descendants(os.getpid()))
            if not found:
                break
            _kill_all(found)
            time.sleep(PAUSE)  # never a blocking wait: a child that was orphaned just now is not killed yet
        shutil.rmtree(self._scratch, ignore_errors=True)

    def _tell(self, answer: dict[str, object]) -> None:
        try:
            self._connection.send(json.dumps(answer).encode())
        except OSError:
            return  # pytest is gone: end-of-file comes next


def _ignored() -> list[int]:
    """The signals that this process ignores: Python's own choice (SIGPIPE) and what its parent handed down."""
    return [number for number in signal.valid_signals() if signal.getsignal(number) is signal.SIG_IGN]


def descendants(pid: int) -> Iterator[int]:
    """Every living process below ``pid``, by the parents that /proc names."""
    children: dict[int, list[int]] = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                with open(f"/proc/{name}/stat", "rb") as file:
                    fields = file.read().rpartition(b")")[2].split()
            except OSError:
                continue
            if fields[0] != b"Z":
                children.setdefault(int(fields[1]), []).append(int(name))
    pending = list(children.get(pid, ()))
    while pending:
        child = pending.pop()
        yield child
        pending.extend(children.get(child, ()))


def _mark_of(pid: int) -> str:
    try:
        with open(f"/proc/{pid}/environ", "rb") as file:
            entries = file.read().split(b"\0")
    except OSError:
        return ""
    prefix = MARK.encode() + b"="
    return next((entry[len(prefix) :].decode() for entry in entries if entry.startswith(prefix)), "")


def _kill_all(pids: list[int]) -> None:
    for pid in pids:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            continue


def main() -> None:
    """``guardian.py FD SCRATCH``."""
    Guardian(socket.socket(fileno=int(sys.argv[1])), sys.argv[2]).run()


if __name__ == "__main__":
    main()
