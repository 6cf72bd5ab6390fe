"""A connection to a board by the OpenSSH client: one master that carries commands, files and the agent's port."""

from __future__ import annotations

import os
import re
import shlex
import socket
import subprocess
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from bench_plugin.reach.processes.leased_agent import AgentFailure
from bench_plugin.reach.processes.nursery import Child, Nursery

BOARD_LOST = "board-lost"
HARNESS = "harness"
NO_CONNECTION = 255  # what ssh ends with where the connection fails, and not the command
CONTROL = "master"  # relative to the folder of the link: the path of a socket has at most 108 bytes
POLL_SECONDS = 0.05
COMMAND_SECONDS = 30.0
LAST_WORDS_SECONDS = 1.0  # for a client of the connection learns of its end before its master has said why
SLOWEST = 200_000  # bytes a second that a link must carry at least
NOISE = re.compile(r"^(Warning: Permanently added|\*\* |Pseudo-terminal)")


@dataclass(frozen=True)
class Address:
    """Where a board is. ``options`` are those of ssh's ``-o``, such as ``ProxyJump=bastion``.

    Without ``config`` the user's own configuration of ssh holds. A link that carries nothing for ``silence`` seconds
    is dead.
    """

    host: str
    user: str = ""
    port: int = 0
    key: str = ""
    options: tuple[str, ...] = ()
    config: str = ""
    silence: int = 4

    def arguments(self) -> list[str]:
        """The arguments of ssh that all its commands share, without the host."""
        given = ["-F", self.config] if self.config else []
        given += ["-p", str(self.port)] if self.port else []
        given += ["-i", self.key, "-o", "IdentitiesOnly=yes"] if self.key else []
        # ssh takes the first value of an option, so the user's are before ours.
        for option in (*self.options, "BatchMode=yes", "ConnectTimeout=10"):
            given += ["-o", option]
        return given

    @property
    def destination(self) -> str:
        """The host, with the user if one is given."""
        return f"{self.user}@{self.host}" if self.user else self.host


class Link:
    """An open connection; ``open`` it first. Used by one thread at a time, but for ``close``."""

    def __init__(
        self, name: str, address: Address, folder: Path, nursery: Nursery, variables: Mapping[str, str]
    ) -> None:
        self._name = name
        self._address = address
        self._folder = folder
        self._nursery = nursery
        self._variables = dict(variables)
        self._log = folder / "ssh.log"
        self._master: Child | None = None

    @property
    def alive(self) -> bool:
        """Whether the connection is there, as far as ssh knows."""
        return self._master is not None and not self._master.ended.is_set()

    def open(self, seconds: float) -> None:
        """Connect within ``seconds``. Raises AgentFailure with symptom ``board-lost`` and ssh's own message."""
        self._folder.mkdir(parents=True, exist_ok=True)
        until = time.monotonic() + seconds
        alive = ["ServerAliveInterval=1", f"ServerAliveCountMax={self._address.silence}"]
        options = [
            part for option in (*alive, "ControlPersist=no", "ClearAllForwardings=yes") for part in ("-o", option)
        ]
        command = ["ssh", "-N", "-M", "-S", CONTROL, *self._address.arguments(), *options, self._address.destination]
        ours, theirs = socket.socketpair()
        ours.close()
        self._log.write_bytes(b"")
        self._master = self._nursery.spawn(command, self._variables, self._folder, theirs, self._log)
        while not self._folder.joinpath(CONTROL).exists():
            if self._master.ended.wait(POLL_SECONDS):
                raise self.lost("cannot be reached")
            if time.monotonic() > until:
                raise self.lost(f"cannot be reached: no connection within {seconds:.0f} s")

    def close(self) -> None:
        """End the connection and everything that it carries."""
        if self._master is not None:
            self._nursery.kill(self._master)

    def lost(self, what: str) -> AgentFailure:
        """The failure of a board whose connection is of no use: with ssh's own message. What is left of it is ended."""
        if self._master is not None:
            self._master.ended.wait(LAST_WORDS_SECONDS)
        self.close()
        said = self.said()
        return AgentFailure(
            BOARD_LOST,
            f"board {self._name} {what}{': ' if said else ''}{said}",
            detail=self._written(),
            log=str(self._log),
        )

    def said(self) -> str:
        """What the master said last, without its remarks."""
        lines = [line.strip() for line in self._written().splitlines() if line.strip()]
        return " ".join(line for line in lines if not NOISE.match(line))[-600:]

    def _written(self) -> str:
        try:
            return self._log.read_text("utf-8", "replace")
        except OSError:
            return ""

    def command(self, words: Sequence[str]) -> list[str]:
        """The command line that runs ``words`` on the board, without interpretation by its shell."""
        return [*self._client(), "--", shlex.join(words)]

    def _client(self, *arguments: str) -> list[str]:
        # Without its master a client of ssh would connect anew: the proxy that fails forbids it.
        forbid = ["-o", "ControlMaster=no", "-o", "ProxyCommand=false", "-o", "LogLevel=ERROR"]
        return ["ssh", "-S", CONTROL, *forbid, *self._address.arguments(), *arguments, self._address.destination]

    def run(self, script: str, *words: str, given: IO[bytes] | None = None, seconds: float = COMMAND_SECONDS) -> str:
        """The standard output of a script of the board's POSIX shell, whose arguments are ``words``.

        ``given`` is its standard input. Raises AgentFailure: ``board-lost`` where the connection ended or the board
        does not answer in time, ``harness`` with the script's own message where it failed.
        """
        command = self.command(["/bin/sh", "-c", script, "bench", *words])
        try:
            done = subprocess.run(
                command, cwd=self._folder, stdin=given or subprocess.DEVNULL, capture_output=True, timeout=seconds,
                check=False, encoding="utf-8", errors="replace", env=self._variables,
            )  # fmt: skip
        except subprocess.TimeoutExpired as error:
            raise self.lost(f"did not answer within {seconds:.0f} s") from error
        if done.returncode == 0:
            return done.stdout
        if done.returncode == NO_CONNECTION or not self.alive:
            raise self.lost("was lost")
        lines = [line.strip() for line in done.stderr.splitlines() if line.strip()]
        told = lines[-1] if lines else f"exit code {done.returncode}"
        raise AgentFailure(HARNESS, f"board {self._name}: {told}", detail=done.stderr)

    def put(self, path: Path, place: str) -> None:
        """Copy a file to the board, where it appears complete or not at all.

        It goes through ``cat``, so that a board without sftp does. Raises AgentFailure as :meth:`run` does.
        """
        script = 'umask 077; mkdir -p "${1%/*}" && cat > "$1.$$" && mv -f "$1.$$" "$1" || { rm -f "$1.$$"; exit 1; }'
        with path.open("rb") as file:
            self.run(script, place, given=file, seconds=_sending(path))

    def unpack(self, path: Path, place: str) -> None:
        """Unpack a tar into a new folder of the board, which appears complete or not at all. Raises as :meth:`put`."""
        script = (
            'umask 077; rm -rf "$1.$$"; mkdir -p "$1.$$" && tar -xf - -C "$1.$$" && { [ -e "$1" ] || mv "$1.$$" "$1"; }'
            ' || { rm -rf "$1.$$"; exit 1; }; rm -rf "$1.$$"'
        )
        with path.open("rb") as file:
            self.run(script, place, given=file, seconds=_sending(path))

    def start(self, words: Sequence[str], log: Path) -> subprocess.Popen[bytes]:
        """Start a program on the board, whose standard input is a pipe and whose output goes to ``log``."""
        with log.open("ab") as output:
            return subprocess.Popen(
                self.command(words), cwd=self._folder, stdin=subprocess.PIPE, stdout=output, stderr=output,
                env=self._variables,
            )  # fmt: skip

    def connect(self, port: int) -> tuple[socket.socket, subprocess.Popen[bytes]]:
        """A connection to a port of the board's loopback, through the link, and the process of ssh that carries it."""
        ours, theirs = socket.socketpair()
        command = self._client("-W", f"127.0.0.1:{port}")
        with theirs:
            carrier = subprocess.Popen(
                command, cwd=self._folder, stdin=theirs.fileno(), stdout=theirs.fileno(), stderr=subprocess.DEVNULL,
                env=self._variables,
            )  # fmt: skip
        return ours, carrier


def _sending(path: Path) -> float:
    """Seconds within which a file must be sent."""
    return COMMAND_SECONDS + path.stat().st_size / SLOWEST


class Heartbeat:
    """Writes a byte to a program of the board every second, which so knows that the link lives. ``end`` closes it."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._beat, name="bench-heartbeat", daemon=True)
        self._thread.start()

    def end(self) -> None:
        """Close the program's standard input."""
        self._ended.set()
        self._thread.join(2.0)
        with suppress(OSError):  # the program ended before
            self._file.close()

    def _beat(self) -> None:
        while not self._ended.wait(1.0):
            try:
                os.write(self._file.fileno(), b".")
            except OSError:
                return
