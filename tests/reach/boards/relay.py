"""A rogue listener between a host and an agent: it passes bytes on, and does with them what a test asks for."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable
from types import TracebackType

from bench_plugin.reach.network import Endpoint

# Gets the direction ("host" for bytes from the host) and the bytes, and returns those that are passed on.
Change = Callable[[str, bytes], bytes]


class Relay:
    """Listens on a port of its own; ``seen`` has the bytes of each direction of the last connection."""

    def __init__(self, endpoint: Endpoint, change: Change = lambda side, data: data) -> None:
        self._to = (endpoint.host, endpoint.port)
        self.change = change
        self.seen = {"host": b"", "agent": b""}
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.endpoint = Endpoint("127.0.0.1", self._listener.getsockname()[1], endpoint.token_file, wait=20)
        self._open: list[socket.socket] = []
        self._threads: list[threading.Thread] = []

    def __enter__(self) -> Relay:
        self._run(self._accept)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self.reset()
        self._listener.close()
        for thread in self._threads:
            thread.join(5)

    def reset(self) -> None:
        """End all connections at both ends."""
        for one in self._open:
            try:
                one.shutdown(socket.SHUT_RDWR)
            except OSError:
                continue
            finally:
                one.close()

    def _run(self, target: Callable[..., None], *args: object) -> None:
        thread = threading.Thread(target=target, args=args, daemon=True)
        thread.start()
        self._threads.append(thread)

    def _accept(self) -> None:
        while True:
            try:
                near, _ = self._listener.accept()
            except OSError:
                return
            far = socket.create_connection(self._to)
            self._open += [near, far]
            self.seen = {"host": b"", "agent": b""}
            self._run(self._pass, "host", near, far)
            self._run(self._pass, "agent", far, near)

    def _pass(self, side: str, source: socket.socket, sink: socket.socket) -> None:
        try:
            while data := source.recv(1 << 16):
                self.seen[side] += data
                sink.sendall(self.change(side, data))
            sink.shutdown(socket.SHUT_WR)
        except OSError:
            return
