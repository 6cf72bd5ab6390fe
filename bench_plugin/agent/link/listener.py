"""The listener: it lets hosts prove the token, side by side, and gives the board to one of them at a time.

It runs no adapter: each admitted connection gets a process of its own, which was never used before. The listener is the
parent of that process, so it ends what is left of it, and it can tell a host afterwards how it ended.
"""

from __future__ import annotations

import collections
import contextlib
import os
import select
import signal
import socket
import subprocess
import sys
import time
from typing import Callable, Deque, Dict, List, Optional

from bench_plugin.agent import wire
from bench_plugin.agent.link import processes
from bench_plugin.agent.link.admitted import Admitted
from bench_plugin.agent.link.bounds import Bounds
from bench_plugin.agent.link.handshake import AUTHENTICATED, SECONDS, Refused, Stranger, refusal
from bench_plugin.agent.link.sockets import tune

MOST_STRANGERS = 256  # connections that have proven nothing; beyond that, the oldest one goes
MOST_WAITING = 16
TELL_SECONDS = 1.0  # how often one that waits is told who holds the board
GRACE = 2.0  # seconds that an agent has to end by itself once its host is gone
REMEMBERED = 64  # sessions whose end can be asked for
MOST_PORT = 65535
PEER_CLOSED = getattr(select, "EPOLLRDHUP", 0x2000)


class _Arriving:
    """A connection that has proven nothing yet."""

    def __init__(self, connection: socket.socket, address: str, stranger: Stranger) -> None:
        self.connection = connection
        self.address = address
        self.stranger = stranger
        self.until = time.monotonic() + SECONDS


class _Waiting:
    """An authenticated connection that does not have the board yet."""

    def __init__(self, arriving: _Arriving) -> None:
        stranger = arriving.stranger
        if stranger.proven is None:
            raise Refused("nothing was proven")
        self.connection = arriving.connection
        self.session = stranger.proven.session("agent") if stranger.frames == AUTHENTICATED else None
        self.nonce, self.hello_key = stranger.proven.host, stranger.proven.hello_key()
        self.who = "%s (%s)" % (stranger.who or "a host without a name", arriving.address)
        self.told = 0.0


class _Holding:
    """The connection that has the board, and the process that serves it."""

    def __init__(self, waiting: _Waiting, process: "subprocess.Popen[bytes]") -> None:
        self.connection = waiting.connection
        self.name = waiting.nonce.hex()
        self.who = waiting.who
        self.process = process
        self.since = time.monotonic()
        self.kill_at: Optional[float] = None


class Listener:
    """Listens on ``address`` and starts ``command``, the agent's command line, for one admitted host after the other.

    ``say`` is called with a line for the log. Raises OSError where the address cannot be listened on, ValueError where
    it is none.
    """

    def __init__(
        self, address: str, token: bytes, command: List[str], folder: str, bounds: Bounds, tunnelled: bool = False,
        say: Callable[[str], None] = lambda text: print(text, flush=True),
    ) -> None:  # fmt: skip
        host, _, port = address.rpartition(":")
        if not port.isdigit() or int(port) > MOST_PORT:
            raise ValueError("the port is %r" % port)
        host = host.strip("[]") or "127.0.0.1"
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        self._listener = socket.create_server((host, int(port)), family=family, backlog=128)
        self._listener.setblocking(False)
        self._token = token
        self._command = command
        self._folder = folder
        self._bounds = bounds
        self._tunnelled = tunnelled
        self._say = say
        self._poll = select.poll()
        self._arriving: "collections.OrderedDict[int, _Arriving]" = collections.OrderedDict()
        self._waiting: Deque[_Waiting] = collections.deque()
        self._holding: Optional[_Holding] = None
        self._statuses: "collections.OrderedDict[str, int]" = collections.OrderedDict()
        self._stopped = False
        self._wake, self._woken = socket.socketpair()

    @property
    def address(self) -> str:
        """HOST:PORT, with the port that the system gave."""
        return "%s:%d" % self._listener.getsockname()[:2]

    def serve(self) -> None:
        """Serve until SIGTERM or SIGINT; the agent at work ends with it."""
        processes.adopt_orphans()
        for end in (self._wake, self._woken):
            end.setblocking(False)
        signal.set_wakeup_fd(self._woken.fileno(), warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda number, frame: None)
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._stop)
        self._poll.register(self._listener, select.POLLIN)
        self._poll.register(self._wake, select.POLLIN)
        try:
            while not self._stopped:
                self._step()
        finally:
            if self._holding is not None:
                processes.kill_group(self._holding.process.pid)
            processes.kill_children()
            self._reaped()
            signal.set_wakeup_fd(-1)

    def _stop(self, number: int, frame: object) -> None:
        self._stopped = True

    def _step(self) -> None:
        busy = self._arriving or self._waiting or (self._holding is not None and self._holding.kill_at is not None)
        for descriptor, _ in self._poll.poll(200 if busy else None):
            if descriptor == self._listener.fileno():
                self._accept()
            elif descriptor == self._wake.fileno():
                self._wake.recv(4096)
            elif descriptor in self._arriving:
                self._heard(self._arriving[descriptor])
            elif self._holding is not None and descriptor == self._holding.connection.fileno():
                self._poll.unregister(descriptor)  # the host is gone, or the link is
                self._holding.kill_at = time.monotonic() + GRACE
            else:
                self._left(descriptor)
        self._reaped()
        self._expire()
        self._give()

    def _accept(self) -> None:
        while True:
            try:
                connection, address = self._listener.accept()
            except BlockingIOError:
                return
            except OSError as error:  # no descriptor is left, or the peer has gone again
                if not self._arriving:
                    self._say("a connection could not be accepted: %s" % error)
                    time.sleep(0.05)
                    return
                self._drop(next(iter(self._arriving.values())))
                continue
            connection.setblocking(False)
            tune(connection)
            if len(self._arriving) >= MOST_STRANGERS:
                self._drop(next(iter(self._arriving.values())))
            stranger = Stranger(self._token, self._tunnelled)
            self._arriving[connection.fileno()] = _Arriving(connection, "%s:%d" % address[:2], stranger)
            self._poll.register(connection, select.POLLIN)

    def _heard(self, one: _Arriving) -> None:
        """Read what a stranger sent; not a byte more than its handshake."""
        try:
            data = one.connection.recv(one.stranger.wanted)
            answer = one.stranger.feed(data) if data else b""
            if not data or (answer and one.connection.send(answer) != len(answer)):
                self._drop(one)
                return
        except BlockingIOError:
            return
        except (Refused, wire.WireError) as error:
            self._say("%s was refused: %s" % (one.address, error))
            self._tell_refusal(one.connection, str(error))
            self._drop(one)
            return
        except OSError:
            self._drop(one)
            return
        if one.stranger.proven is not None:
            self._forget(one)
            self._admit(one)

    def _admit(self, one: _Arriving) -> None:
        waiting = _Waiting(one)
        if one.stranger.asks:
            self._tell(waiting, wire.RESULT, self._end_of(one.stranger.asks))
            waiting.connection.close()
        elif len(self._waiting) >= MOST_WAITING:
            text = "%d hosts wait for the board already" % MOST_WAITING
            self._tell(waiting, wire.ERROR, {"symptom": "harness", "message": text})
            waiting.connection.close()
        else:
            self._waiting.append(waiting)
            self._poll.register(waiting.connection, select.POLLIN)

    def _end_of(self, name: str) -> Dict[str, object]:
        """What became of the process of a session."""
        running = self._holding is not None and self._holding.name == name
        return {"running": running, "status": self._statuses.get(name)}

    def _give(self) -> None:
        """Give the board to the one that has waited longest, and tell the others who has it."""
        if self._holding is None and self._waiting:
            waiting = self._waiting.popleft()
            self._poll.unregister(waiting.connection)
            self._holding = self._start(waiting)
            if self._holding is not None:
                self._poll.register(waiting.connection, PEER_CLOSED)
        now = time.monotonic()
        for waiting in [one for one in self._waiting if now - one.told >= TELL_SECONDS]:
            waiting.told = now
            holding = self._holding
            said = {"holder": holding.who, "seconds": round(now - holding.since, 1)} if holding else {}
            if not self._tell(waiting, wire.BUSY, said):
                self._lose(waiting)

    def _start(self, waiting: _Waiting) -> Optional[_Holding]:
        reading, writing = os.pipe()
        descriptor = waiting.connection.fileno()
        argv = [*self._command, "--fd", str(descriptor), "--folder", self._folder, "--admitted", str(reading)]
        waiting.connection.setblocking(True)
        try:
            process = subprocess.Popen(
                argv, stdin=subprocess.DEVNULL, pass_fds=[descriptor, reading], start_new_session=True
            )
        except OSError as error:
            self._say("an agent could not be started: %s" % error)
            os.close(writing)
            waiting.connection.close()
            return None
        finally:
            os.close(reading)
        with contextlib.suppress(OSError):  # it ended at once; its status says how
            Admitted(waiting.session, self._bounds, waiting.nonce, waiting.hello_key).write(writing)
        self._say("%s has the board" % waiting.who)
        return _Holding(waiting, process)

    def _reaped(self) -> None:
        """Note the end of the agent at work, and end what it left behind."""
        ended = processes.reap()
        holding = self._holding
        if holding is None or holding.process.pid not in ended:
            return
        status = ended[holding.process.pid]
        holding.process.returncode = status  # it was waited for here
        processes.kill_group(holding.process.pid)
        processes.kill_children()
        self._statuses[holding.name] = status
        if len(self._statuses) > REMEMBERED:
            self._statuses.popitem(last=False)
        if holding.kill_at is None:
            self._poll.unregister(holding.connection)
        holding.connection.close()
        how = "signal %d" % os.WTERMSIG(status) if os.WIFSIGNALED(status) else "exit code %d" % (status >> 8)
        self._say("%s has left the board (%s)" % (holding.who, how))
        self._holding = None

    def _expire(self) -> None:
        now = time.monotonic()
        while self._arriving:
            oldest = next(iter(self._arriving.values()))
            if now < oldest.until:
                break
            self._drop(oldest)
        if self._holding is not None and self._holding.kill_at is not None and now >= self._holding.kill_at:
            processes.kill_group(self._holding.process.pid)

    def _left(self, descriptor: int) -> None:
        """One that waits has closed its connection, or sent something that nobody asked for."""
        for waiting in self._waiting:
            if waiting.connection.fileno() == descriptor:
                self._lose(waiting)
                return

    def _lose(self, waiting: _Waiting) -> None:
        self._waiting.remove(waiting)
        self._poll.unregister(waiting.connection)
        waiting.connection.close()

    def _forget(self, one: _Arriving) -> None:
        del self._arriving[one.connection.fileno()]
        self._poll.unregister(one.connection)

    def _drop(self, one: _Arriving) -> None:
        self._forget(one)
        one.connection.close()

    def _tell(self, waiting: _Waiting, kind: int, meta: Dict[str, object]) -> bool:
        """Send a frame; returns whether the host took it at once, as one that lives does."""
        data = b"".join(wire.encode(kind, 0, meta))
        if waiting.session is not None:
            state = waiting.session.sealing()
            state.update(data)
            data += waiting.session.code(state)
        try:
            return waiting.connection.send(data) == len(data)
        except OSError:
            return False

    def _tell_refusal(self, connection: socket.socket, message: str) -> None:
        with contextlib.suppress(OSError):
            connection.send(refusal(message))


def own_command() -> List[str]:
    """The command line of this agent: the zip file that it runs from, else the package by its name."""
    archive = getattr(globals().get("__loader__"), "archive", "")
    flags = ["-I"] if sys.flags.isolated else []
    return [sys.executable, *flags, "-u", *([archive] if archive else ["-m", "bench_plugin.agent"])]
