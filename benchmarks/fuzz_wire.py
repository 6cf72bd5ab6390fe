"""Fuzzes the reader of frames, the handshake of an agent, and the wire's own round trip, with atheris (libFuzzer).

    uv venv --python 3.11 fuzz && uv pip install --python fuzz atheris
    fuzz/bin/python benchmarks/fuzz_wire.py CORPUS -max_total_time=600 -rss_limit_mb=512 -malloc_limit_mb=64

The corpus folder may be empty; the vectors of tests/agent are added to it. Any exception but those of the protocol
ends it, and so does a single allocation beyond the limit: a header cannot make the reader take more than arrives.
"""

from __future__ import annotations

import hashlib
import json
import socket
import sys
from pathlib import Path

import atheris

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))
# Only the modules under test are instrumented.
with atheris.instrument_imports(include=["bench_plugin.agent"]):
    from bench_plugin.agent import wire
    from bench_plugin.agent.channel import Channel, Closed
    from bench_plugin.agent.link.handshake import Refused, Stranger
    from bench_plugin.agent.link.session import Session

TOKEN = bytes(range(32))
MOST = 1 << 16


def read(data: bytes) -> None:
    """Read frames from a connection that brings these bytes and ends; a frame that is read is written the same way."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        theirs.sendall(data)
        theirs.shutdown(socket.SHUT_WR)
        channel = Channel(ours)
        try:
            while True:
                frame = channel.receive(5, waiting=lambda seconds: None)
                again = wire.encode(frame.kind, frame.call, frame.meta, frame.arrays)
                wire.decode_header(bytes(again[0][: wire.HEADER.size]))
        except (wire.WireError, Closed):
            return


def read_authenticated(data: bytes) -> None:
    """The same behind authentication codes: nothing but a wrong code or a wrong frame can come of it."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        theirs.sendall(data)
        theirs.shutdown(socket.SHUT_WR)
        try:
            Channel(ours, Session(bytes(32), bytes(32))).receive(5)
        except (wire.WireError, Closed):
            return
        raise AssertionError("a frame without keys was taken")


def greet(data: bytes) -> None:
    """The bytes of a stranger, in pieces of their own choice."""
    stranger = Stranger(TOKEN, tunnelled=True)
    try:
        while data and stranger.proven is None:
            size = stranger.wanted
            assert 0 < size <= MOST
            stranger.feed(data[:size])
            data = data[size:]
    except (wire.WireError, Refused):
        return
    assert stranger.proven is None, "the token was guessed"


def one(data: bytes) -> None:
    """One input: its first byte says which reader gets the rest."""
    data = data[:MOST]
    if not data:
        return
    (read, read_authenticated, greet)[data[0] % 3](data[1:])


def seeds(folder: Path) -> None:
    """Put the vectors into the corpus, for each of the readers."""
    folder.mkdir(parents=True, exist_ok=True)
    vectors = json.loads((ROOT / "tests" / "agent" / "vectors.json").read_text())
    for row in [*vectors["frames"], *vectors["refused"]]:
        frame = bytes.fromhex(row["frame"])
        for reader in range(3):
            data = bytes([reader]) + frame
            (folder / hashlib.sha256(data).hexdigest()).write_bytes(data)


def main() -> None:
    """Run until the time is over, or something is found."""
    seeds(Path(sys.argv[1]))
    atheris.Setup(sys.argv, one)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
