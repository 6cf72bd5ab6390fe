"""The link over a serial line, with the firmware's C code at the other end of a line that damages bytes."""

from __future__ import annotations

import os
import random
import select
import socket
import struct
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from bench_plugin.reach.boards import uart_link
from bench_plugin.reach.boards.uart_link import Link, connected, described
from tests.reach.boards.compiled import compiled

SECONDS = 60.0
Damage = Callable[[bytes], bytes]


@pytest.fixture(scope="module")
def echo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A program with the firmware's link that echoes."""
    return compiled(tmp_path_factory.mktemp("link"), "uart_link_main.c", ["uart_link.c", "uart_framing.c"])


class Line:
    """Passes bytes on between two sockets, each read through ``damage``."""

    def __init__(self, one: socket.socket, other: socket.socket, damage: Damage) -> None:
        self._ends = {one: other, other: one}
        self._damage = damage
        self.thread = threading.Thread(target=self._pass, daemon=True)
        self.thread.start()

    def _pass(self) -> None:
        while True:
            for end in select.select(list(self._ends), [], [])[0]:
                data = end.recv(4096)
                if not data:
                    for one in self._ends:
                        one.close()
                    return
                self._ends[end].sendall(self._damage(data))


@contextmanager
def linked(program: Path, damage: Damage | None = None) -> Iterator[tuple[Link, socket.socket]]:
    """A link to the program, whose line is its standard input, which is also descriptor 3."""
    ours, theirs = socket.socketpair()
    if damage is not None:
        near, far = ours, theirs
        ours, line = socket.socketpair()
        Line(line, near, damage)
        theirs = far
    process = subprocess.Popen(["/bin/sh", "-c", 'exec "$0" 3<&0', str(program)], stdin=theirs)
    theirs.close()
    link, stream = connected(ours.detach())
    stream.settimeout(SECONDS)
    try:
        yield link, stream
    finally:
        link.close()
        stream.close()
        assert process.wait(SECONDS) == 0  # the sanitizers found nothing


def echoed(stream: socket.socket, data: bytes) -> bytes:
    """What the program answers to ``data``, without the length."""
    stream.sendall(struct.pack("<I", len(data)) + data)
    answer = received(stream, 4 + len(data))
    assert struct.unpack_from("<I", answer)[0] == len(data)
    return answer[4:]


def received(stream: socket.socket, size: int) -> bytes:
    """So many bytes of a stream, or those until it ends."""
    data = b""
    while len(data) < size and (more := stream.recv(size - len(data))):
        data += more
    return data


def test_any_size_is_echoed(echo: Path) -> None:
    with linked(echo) as (link, stream):
        for size in (1, 507, 508, 509, 512, 1024, 60_000):
            data = os.urandom(size)
            assert echoed(stream, data) == data
        assert link.refused == 0 and not link.ended


@pytest.mark.parametrize("kind", ["lost", "doubled", "changed", "garbage"])
def test_a_line_that_damages_bytes_loses_nothing(echo: Path, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """One byte in about 2,000 is damaged, in both directions, and each time the stream is as it was sent."""
    monkeypatch.setattr(uart_link, "FIRST_SECONDS", 0.05)
    seed = random.Random(5)

    def damage(data: bytes) -> bytes:
        found = bytearray()
        for byte in data:
            hit = seed.random() < 1 / 2000
            found += {
                "lost": b"", "doubled": bytes([byte, byte]), "changed": bytes([byte ^ 0x10]),
                "garbage": bytes([byte]) + seed.randbytes(50),
            }[kind] if hit else bytes([byte])  # fmt: skip
        return bytes(found)

    with linked(echo, damage) as (link, stream):
        for number in range(5):
            data = seed.randbytes(3000 + number)
            assert echoed(stream, data) == data
        assert link.refused > 0


def test_a_megabyte_of_garbage_before_the_session_is_skipped(echo: Path) -> None:
    ours, theirs = socket.socketpair()
    with linked_after_garbage(echo, ours, theirs) as (_, stream):
        assert echoed(stream, b"clean") == b"clean"


@contextmanager
def linked_after_garbage(
    program: Path, ours: socket.socket, theirs: socket.socket
) -> Iterator[tuple[Link, socket.socket]]:
    """A link that begins on a line on which a megabyte of garbage was sent to the program."""
    process = subprocess.Popen(["/bin/sh", "-c", 'exec "$0" 3<&0', str(program)], stdin=theirs)
    theirs.close()
    ours.sendall(random.Random(1).randbytes(1 << 20))
    link, stream = connected(ours.detach())
    stream.settimeout(SECONDS)
    try:
        yield link, stream
    finally:
        link.close()
        stream.close()
        assert process.wait(SECONDS) == 0


def test_a_new_session_begins_in_the_middle_of_a_request(echo: Path) -> None:
    """A host that was killed leaves the firmware within a request; the next one is answered from the beginning."""
    ours, theirs = socket.socketpair()
    second = ours.dup()
    process = subprocess.Popen(["/bin/sh", "-c", 'exec "$0" 3<&0', str(echo)], stdin=theirs)
    theirs.close()
    first, stream = connected(ours.detach())
    stream.sendall(struct.pack("<I", 5000) + bytes(2000))
    time.sleep(0.2)
    first.close()
    stream.close()
    link, stream = connected(second.detach())
    stream.settimeout(SECONDS)
    assert echoed(stream, b"again") == b"again"
    link.close()
    stream.close()
    assert process.wait(SECONDS) == 0


def test_a_fault_of_the_firmware_ends_the_stream_and_says_where(echo: Path) -> None:
    with linked(echo) as (link, stream):
        stream.sendall(struct.pack("<I", 0))
        assert stream.recv(1) == b""
        assert link.fault == "bus fault at PC 0x00000123, address 0x1ffffffc: access to no memory"


def test_a_stack_that_overflowed_is_said_so() -> None:
    report = struct.pack("<6I", 3, 1 << 12, 1 << 30, 0, 0, 0x1FFFFFE0)
    assert described(report) == "hard fault with the stack at 0x1fffffe0: the stack overflowed"


def test_a_line_that_ends_ends_the_stream() -> None:
    ours, theirs = socket.socketpair()
    link, stream = connected(ours.detach())
    stream.settimeout(SECONDS)
    theirs.close()
    assert stream.recv(1) == b""
    link.close()
    stream.close()
    assert link.ended


def test_a_silent_line_is_asked_ever_more_seldom(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(uart_link, "FIRST_SECONDS", 0.02)
    ours, theirs = socket.socketpair()
    link, stream = connected(ours.detach())
    time.sleep(1.0)
    link.close()
    stream.close()
    with theirs:
        asked = theirs.recv(1 << 16).count(b"\0") // 2
    assert 3 <= asked <= 8
