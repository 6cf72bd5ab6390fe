"""The C agent: its decoder follows the vectors, its server the protocol, and what is no frame cannot harm it."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bench_plugin.agent import wire
from bench_plugin.agent.arrays import from_numpy, to_numpy
from bench_plugin.agent.channel import Channel, Closed
from tests.agent.c.compiled import AGENT, DIGEST, HERE, SANITIZERS, VECTORS, compiled, fuzzed, program

SECONDS = 20.0
# What the checks of the header and descriptors say, by the codes of core.h; metadata is no business of a C agent.
FAULTS = {
    "not a frame": 1, "protocol version": 2, "unknown message kind": 3, "metadata of": 4, "blobs": 5, "cannot hold": 6,
    "type code": 7, "rank": 8, "says": 9, "differ by": 10,
}  # fmt: skip
OF_METADATA = ("not JSON", "not an object")
X = np.arange(6, dtype=np.float32).reshape(2, 3)
N = np.array([7], dtype=np.int32)


@pytest.fixture(scope="module")
def decoder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("decoder")
    return compiled([HERE / "decode.c", AGENT / "core.c"], folder / "decode", *SANITIZERS)


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return program(tmp_path_factory.mktemp("program"), *SANITIZERS)[0]


def decoded(decoder: Path, frame: bytes) -> bytes:
    return subprocess.run([str(decoder)], input=frame, stdout=subprocess.PIPE, check=True, timeout=SECONDS).stdout


@pytest.mark.parametrize("vector", VECTORS["frames"], ids=lambda vector: vector["name"])
def test_a_frame_is_read_and_written_as_the_vector_says(decoder: Path, vector: dict[str, Any]) -> None:
    assert decoded(decoder, bytes.fromhex(vector["frame"])).hex() == vector["frame"]


@pytest.mark.parametrize("vector", VECTORS["refused"], ids=lambda vector: vector["name"])
def test_a_frame_that_is_none_is_refused_for_the_same_reason(decoder: Path, vector: dict[str, Any]) -> None:
    said = decoded(decoder, bytes.fromhex(vector["frame"]))
    if any(text in vector["reason"] for text in OF_METADATA):
        assert said.hex() == vector["frame"]
    else:
        assert said == b"fault %d\n" % next(code for text, code in FAULTS.items() if text in vector["reason"])


def test_the_core_has_the_numbers_of_the_wire() -> None:
    text = (AGENT / "core.h").read_text()
    defined = dict(
        line.split(None, 2)[1:]
        for line in text.splitlines()
        if line.startswith("#define BENCH_") and line.count(" ") > 1
    )
    assert int(defined["BENCH_LAST_KIND"].split("u")[0]) == max(wire.KINDS)
    assert int(defined["BENCH_HEADER"].split("u")[0]) == wire.HEADER.size
    assert int(defined["BENCH_DESCRIPTOR"].split("u")[0]) == wire.DESCRIPTOR.size
    bits = (AGENT / "core.c").read_text().partition("BITS[")[2].partition("{")[2].partition("}")[0]
    known = dict(wire.DTYPES.values())
    assert [int(one) for one in bits.split(",")] == [known.get(code, 0) for code in range(max(known) + 1)]


class Running:
    """A program that serves a socket pair."""

    def __init__(self, path: Path) -> None:
        ours, theirs = socket.socketpair()
        with theirs:
            self.process = subprocess.Popen(
                [str(path), "--fd", str(theirs.fileno())], pass_fds=[theirs.fileno()], stderr=subprocess.PIPE
            )
        self.socket = ours
        self.channel = Channel(ours)
        self.hello = self.channel.receive(SECONDS)

    def ask(self, kind: int, *arrays: wire.Array, call: int = 1) -> wire.Frame:
        self.channel.send(kind, call, None, arrays, seconds=SECONDS)
        return self.channel.receive(SECONDS)

    def end(self) -> tuple[int, str]:
        self.channel.close()
        _, said = self.process.communicate(timeout=SECONDS)
        return self.process.returncode, said.decode()


@pytest.fixture
def running(built: Path) -> Iterator[Running]:
    found = Running(built)
    yield found
    found.process.kill()
    found.end()


def test_it_says_hello_and_what_it_is(running: Running) -> None:
    assert (running.hello.kind, running.hello.call) == (wire.HELLO, 0)
    assert running.hello.meta["model"] == DIGEST
    assert running.hello.meta["machine"]
    again = running.ask(wire.HELLO, call=9)
    assert (again.kind, again.call, again.meta) == (wire.HELLO, 9, running.hello.meta)


def test_a_run_gives_outputs_and_counters(running: Running) -> None:
    frame = running.ask(wire.RUN, from_numpy(X), from_numpy(N), call=5)
    assert (frame.kind, frame.call, frame.meta) == (wire.RESULT, 5, {})
    doubled, sums, counters = (to_numpy(array) for array in frame.arrays)
    assert doubled.tolist() == (2 * X).tolist()
    assert sums.dtype == np.int64 and sums.tolist() == [7]
    assert counters.dtype == np.uint64 and counters.shape == (8,) and counters[0] == 1
    assert 0 < counters[1] < 10**9  # nanoseconds


def test_a_model_is_loaded_by_its_digest_only(running: Running) -> None:
    right, wrong = bytes.fromhex(DIGEST), bytes(32)
    assert running.ask(wire.LOAD, wire.Array("bytes", (32,), right)).kind == wire.RESULT
    for blob in (wire.Array("bytes", (32,), wrong), wire.Array("bytes", (4,), b"code"), from_numpy(N)):
        frame = running.ask(wire.LOAD, blob)
        assert frame.kind == wire.ERROR and "another digest" in frame.meta["message"]
    assert running.ask(wire.RUN, from_numpy(X), from_numpy(N)).kind == wire.RESULT


@pytest.mark.parametrize(
    "arrays",
    [[], [X], [N, X], [X, N, N], [X.astype(np.float64), N], [X.T.copy(), N], [X, np.array([1, 2], np.int32)]],
    ids=["none", "too few", "other order", "too many", "other type", "other shape", "too large"],
)
def test_other_inputs_are_refused_and_the_next_request_is_answered(running: Running, arrays: list[Any]) -> None:
    frame = running.ask(wire.RUN, *[from_numpy(x) for x in arrays], call=3)
    assert (frame.kind, frame.call) == (wire.ERROR, 3)
    assert "not the inputs" in frame.meta["message"]
    assert running.ask(wire.RUN, from_numpy(X), from_numpy(N), call=4).kind == wire.RESULT


@pytest.mark.parametrize("kind", sorted(set(wire.KINDS) - {wire.HELLO, wire.LOAD, wire.RUN, wire.RESET, wire.BYE}))
def test_every_other_kind_is_refused(running: Running, kind: int) -> None:
    running.channel.send(kind, 2, {"adapter": "x"}, [from_numpy(X)])
    frame = running.channel.receive(SECONDS)
    assert (frame.kind, frame.call) == (wire.ERROR, 2)
    assert "hello, load, run, reset and bye" in frame.meta["message"]
    assert running.ask(wire.RESET).kind == wire.RESULT


def test_a_frame_with_too_much_data_is_refused_by_its_header(running: Running) -> None:
    running.socket.sendall(wire.HEADER.pack(wire.MAGIC, 1, wire.RUN, 0, 6, 0, 1, 0, 0, 1 << 34))
    frame = running.channel.receive(SECONDS)
    assert (frame.kind, frame.call) == (wire.ERROR, 6)
    assert "larger" in frame.meta["message"]
    with pytest.raises(Closed):
        running.channel.receive(SECONDS)
    assert running.end()[0] == 1


def test_garbage_is_answered_and_ends_the_program(running: Running) -> None:
    running.socket.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
    frame = running.channel.receive(SECONDS)
    assert (frame.kind, frame.call) == (wire.ERROR, 0)
    assert "not a frame" in frame.meta["message"]
    assert running.end()[0] == 1


def test_half_a_frame_and_an_end_are_an_end(running: Running) -> None:
    running.socket.sendall(b"".join(bytes(part) for part in wire.encode(wire.RUN, 1, None, [from_numpy(X)]))[:50])
    running.socket.shutdown(socket.SHUT_WR)
    assert running.end() == (0, "")


def test_bye_ends_it(running: Running) -> None:
    running.channel.send(wire.BYE, 1)
    assert running.process.wait(SECONDS) == 0


def test_metadata_is_skipped_and_never_read(running: Running) -> None:
    running.channel.send(wire.RUN, 1, {"a": "b" * 100_000}, [from_numpy(X), from_numpy(N)])
    assert running.channel.receive(SECONDS).kind == wire.RESULT


def test_without_a_descriptor_it_says_how_it_is_started(built: Path) -> None:
    for argv in ([], ["--fd"], ["--fd", "x"], ["--fd", "99999999999999999999"], ["3"]):
        done = subprocess.run([str(built), *argv], capture_output=True, text=True, timeout=SECONDS, check=False)
        assert (done.returncode, done.stderr) == (2, "usage: program.elf --fd N (a connected stream socket)\n")


def test_a_model_that_crashes_ends_by_its_signal(tmp_path: Path) -> None:
    found = Running(program(tmp_path)[0])
    found.channel.send(wire.RUN, 1, None, [from_numpy(np.full_like(X, 101)), from_numpy(N)])
    with pytest.raises(Closed):
        found.channel.receive(SECONDS)
    assert found.end()[0] == -signal.SIGABRT


def test_fuzzing_finds_nothing(tmp_path: Path) -> None:
    said = fuzzed(tmp_path, 2)
    assert said["executions"] >= 1000
    assert said["runs_of_model"] > 0, json.dumps(said)
