"""An agent at work on a Linux board, as the host sees it: a session of ssh, which its tether ends with."""

from __future__ import annotations

import os
import signal
import socket
import subprocess

from bench_plugin.agent.channel import Closed
from bench_plugin.agent.link.handshake import BYTES, TUNNELLED, Refused, prove
from bench_plugin.agent.wire import WireError
from bench_plugin.reach.boards.linux.link import NO_CONNECTION, Heartbeat, Link
from bench_plugin.reach.processes.leased_agent import LinkLost

ABOUT = {"who": "the host of this link", "frames": TUNNELLED}
END_SECONDS = 5.0
SIGNALLED = 128  # the tether's exit code for an agent that a signal ended, less the signal's number


class BoardProcess:
    """An agent on a board, as the session of ssh that it runs in shows it."""

    shares_files = False

    def __init__(self, link: Link, process: subprocess.Popen[bytes], token: bytes) -> None:
        self._link = link
        self._process = process
        self._token = token
        self._port = 0
        self.session = ""  # by which its listener knows the agent, once both ends have proven the token
        self._beating: Heartbeat | None = None
        self._carrier: subprocess.Popen[bytes] | None = None

    def say(self, data: bytes) -> None:
        """Write to its tether, and go on with a byte every second."""
        assert self._process.stdin is not None
        try:
            os.write(self._process.stdin.fileno(), data)
        except OSError as error:
            raise self._link.lost("was lost") from error
        self._beating = Heartbeat(self._process.stdin)

    def connect(self, port: int) -> socket.socket:
        """A connection to a port of the board's loopback."""
        connection, self._carrier = self._link.connect(port)
        self._port = port
        return connection

    @property
    def gone(self) -> bool:
        """Whether it is known to have ended, or its link."""
        return self._process.poll() is not None or not self._link.alive

    def resident(self) -> int:
        """Unknown: to ask a board disturbs what it measures."""
        return 0

    def spent(self) -> float | None:
        """Unknown, for the same reason."""
        return None

    def kill(self) -> int | None:
        """End it: its tether kills it with what it started, and removes its folder."""
        if self._beating is not None:
            self._beating.end()
        for process in (self._process, self._carrier):
            if process is not None:
                try:
                    process.wait(END_SECONDS)
                except subprocess.TimeoutExpired:
                    process.kill()
                    process.wait()
        return None

    def ended(self) -> int | None:
        """Its status as of waitpid(2). Raises LinkLost where the link ended."""
        if self._process.poll() is None and self._link.alive and self.session:
            status = self._asked()
            if status is not None:
                return status
        try:
            code = self._process.wait(END_SECONDS)
        except subprocess.TimeoutExpired:
            return None
        if not self._link.alive or code == NO_CONNECTION:
            raise LinkLost(self._link.lost("was lost").message)
        return code - SIGNALLED if code > SIGNALLED and code - SIGNALLED in set(signal.Signals) else code << 8

    def _asked(self) -> int | None:
        """Its status as the listener on the board says; None where that does not answer, as at the end of a link."""
        connection, carrier = self._link.connect(self._port)
        try:
            channel, _ = prove(connection, self._token, {**ABOUT, "asks": self.session}, END_SECONDS)
            status = channel.receive(END_SECONDS, BYTES).meta.get("status")
        except (OSError, WireError, Closed, Refused):
            return None
        finally:
            connection.close()
            carrier.kill()
            carrier.wait()
        return status if isinstance(status, int) else None
