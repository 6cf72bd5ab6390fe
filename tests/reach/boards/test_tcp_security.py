"""Who may speak to an agent over TCP: both ends prove the token, and nobody between them can change a frame."""

from __future__ import annotations

import errno
import hashlib
import os
import re
import socket
import subprocess
import sys
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bench_plugin.agent import wire
from bench_plugin.agent.channel import Channel, Closed
from bench_plugin.agent.link import handshake
from bench_plugin.agent.link.session import CODE_BYTES, NotAuthentic, Session
from bench_plugin.agent.link.tokens import read_token
from bench_plugin.reach.network import start
from bench_plugin.reach.processes.leased_agent import AgentFailure
from tests.reach.boards.listening import LIMITS, Listening, make_token
from tests.reach.boards.relay import Relay

ENDED = (Closed, ConnectionResetError, BrokenPipeError)


def admitted(listening: Listening) -> Channel:
    """A channel of a host that has said hello, for requests that our own client never makes."""
    agent = listening.host()
    return agent.channel


def ask(channel: Channel, kind: int, meta: dict[str, Any], data: bytes | None = None) -> wire.Frame:
    """The answer to a bare request."""
    channel.send(kind, 1, meta, [] if data is None else [wire.Array("bytes", (len(data),), data)])
    return channel.receive(5)


def stranger(listening: Listening) -> socket.socket:
    return socket.create_connection((listening.endpoint.host, listening.endpoint.port), 5)


def test_a_wrong_token_is_refused_by_the_host_before_it_has_sent_more_than_a_number(
    listening: Listening, tmp_path: Path
) -> None:
    wrong = replace(listening.endpoint, token_file=make_token(tmp_path / "wrong"))
    with Relay(wrong) as relay:
        with pytest.raises(AgentFailure, match="it does not know the token; nothing was sent to it") as caught:
            listening.host(endpoint=relay.endpoint)
        assert caught.value.symptom == "harness"
        sent = relay.seen["host"]
    assert len(sent) < 400 and sent[5] == wire.CHALLENGE
    assert read_token(str(wrong.token_file)) not in sent
    listening.host().close()


def test_a_host_without_the_token_is_told_so_and_the_next_one_is_served(listening: Listening) -> None:
    token = read_token(str(make_token(listening.home / "other")))
    with stranger(listening) as connection:
        channel = Channel(connection)
        nonce = os.urandom(32)
        about = b"{}"
        blobs = [wire.Array("bytes", (len(one),), one) for one in (nonce, about)]
        channel.send(wire.CHALLENGE, 0, None, blobs)
        frame = channel.receive(5)
        own = bytes(frame.arrays[0].data)
        proof = handshake.Transcript(token, nonce, own, about).proof("host")
        answer = ask(channel, wire.AUTHENTICATE, {}, proof)
        assert (answer.kind, answer.meta["message"]) == (wire.ERROR, "the token is not the agent's")
        with pytest.raises(ENDED):
            channel.receive(5)
    listening.host().close()


def test_a_proof_cannot_be_sent_back_to_the_one_who_made_it(listening: Listening) -> None:
    with stranger(listening) as connection:
        channel = Channel(connection)
        blobs = [wire.Array("bytes", (32,), os.urandom(32)), wire.Array("bytes", (2,), b"{}")]
        channel.send(wire.CHALLENGE, 0, None, blobs)
        frame = channel.receive(5)
        answer = ask(channel, wire.AUTHENTICATE, {}, bytes(frame.arrays[1].data))
        assert answer.kind == wire.ERROR


def test_a_handshake_that_is_replayed_is_refused(listening: Listening) -> None:
    with Relay(listening.endpoint) as relay:
        agent = listening.host(endpoint=relay.endpoint)
        agent.call("fake", "go", {}, limits=LIMITS)
        agent.close()
        recorded = relay.seen["host"]
    with stranger(listening) as connection:
        connection.sendall(recorded)
        channel = Channel(connection)
        assert channel.receive(5).kind == wire.AUTHENTICATE
        try:
            answer = channel.receive(5)
        except ENDED:
            return
        assert (answer.kind, answer.meta["message"]) == (wire.ERROR, "the token is not the agent's")
    listening.host().close()


def frames_of(data: bytes) -> list[bytes]:
    """The authenticated frames in a stream, each with its code."""
    found = []
    while data:
        size = wire.HEADER.size + wire.decode_header(data[: wire.HEADER.size]).total + CODE_BYTES
        found.append(data[:size])
        data = data[size:]
    return found


def altered(data: bytes) -> bytes:
    return data[:-30] + bytes([data[-30] ^ 1]) + data[-29:]


def twice(data: bytes) -> bytes:
    return data + data


def swapped(data: bytes) -> bytes:
    first, *rest = frames_of(data)
    return b"".join([*rest, first]) if rest else data


def injected(data: bytes) -> bytes:
    return b"".join(wire.encode(wire.BYE, 0)) + bytes(CODE_BYTES) + data


@pytest.mark.parametrize("change", [altered, twice, injected], ids=["altered", "repeated", "injected"])
def test_a_relay_cannot_change_what_a_host_sends(listening: Listening, change: Callable[[bytes], bytes]) -> None:
    active = threading.Event()

    def meddle(side: str, data: bytes) -> bytes:
        return change(data) if active.is_set() and side == "host" else data

    with Relay(listening.endpoint, meddle) as relay:
        agent = listening.host(endpoint=relay.endpoint)
        agent.load("fake", LIMITS)
        active.set()
        failed = False
        for _ in range(2):  # the repeated frame is refused when it is read, after the answer to the first
            try:
                agent.call("fake", "go", {}, limits=LIMITS)
            except AgentFailure as error:
                failed = True
                assert error.symptom in ("harness", "crash")
                break
        assert failed and agent.lost
    listening.host().call("fake", "go", {}, limits=LIMITS)


@pytest.mark.parametrize("change", [altered, twice, swapped], ids=["altered", "repeated", "swapped"])
def test_a_relay_cannot_change_what_an_agent_answers(listening: Listening, change: Callable[[bytes], bytes]) -> None:
    active = threading.Event()
    held = b""

    def meddle(side: str, data: bytes) -> bytes:
        nonlocal held
        if not active.is_set() or side != "agent":
            return data
        if change is swapped:  # keep frames until there are two of them
            held += data
            if len(frames_of(held)) < 2:
                return b""
            data, held = held, b""
        return change(data)

    with Relay(listening.endpoint, meddle) as relay:
        agent = listening.host(endpoint=relay.endpoint)
        agent.load("fake", LIMITS)
        active.set()
        with pytest.raises(AgentFailure, match="wrong authentication code") as caught:
            for _ in range(2):
                agent.call("fake", "go", {}, limits=LIMITS)
        assert caught.value.symptom == "harness"
        assert agent.lost


def test_a_relay_that_passes_everything_on_can_speak_to_nobody(listening: Listening) -> None:
    """What a review did to a plain challenge: the host proves itself, and the relay then sends requests of its own."""
    with Relay(listening.endpoint) as relay:
        agent = listening.host(endpoint=relay.endpoint)
        far = relay._open[-1]
        evil = b"import os\nADAPTER = {}\nopen(%r, 'w')\n" % str(listening.home / "owned").encode()
        meta = {"adapter": "evil", "sha256": hashlib.sha256(evil).hexdigest()}
        far.sendall(b"".join(wire.encode(wire.LOAD, 1, meta, [wire.Array("bytes", (len(evil),), evil)])))
        with pytest.raises(AgentFailure):
            agent.call("fake", "go", {}, limits=LIMITS)
    assert not (listening.home / "owned").exists()


def test_a_session_refuses_any_other_order_of_frames() -> None:
    keys = os.urandom(32), os.urandom(32)
    sender, receiver = Session(*keys), Session(keys[1], keys[0])
    made = []
    for data in (b"first", b"second"):
        state = sender.sealing()
        state.update(data)
        made.append((data, sender.code(state)))
    state = receiver.opening()
    state.update(made[1][0])
    with pytest.raises(NotAuthentic):
        receiver.check(state, made[1][1])
    carried = Session.imported(sender.exported())
    assert carried.exported() == sender.exported()


def test_frames_without_codes_are_given_only_where_the_agent_was_started_for_a_tunnel(
    listening: Listening, listening_with: Callable[..., Listening]
) -> None:
    with pytest.raises(AgentFailure, match="this agent was not started with --tunnelled"):
        listening.host(endpoint=replace(listening.endpoint, tunnelled=True))
    other = listening_with("--tunnelled")
    plain = other.host(endpoint=replace(other.endpoint, tunnelled=True))
    plain.call("fake", "go", {}, limits=LIMITS)
    plain.close()
    other.host().call("fake", "go", {}, limits=LIMITS)


def hang_up(connection: socket.socket) -> None:
    """Says that no more follows. Raises ConnectionResetError where the board has closed the connection by now."""
    try:
        connection.shutdown(socket.SHUT_WR)
    except OSError as error:
        if error.errno != errno.ENOTCONN:
            raise
        raise ConnectionResetError(error.errno, "the board had already closed the connection") from error


@pytest.mark.parametrize("first", [b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n", bytes(40), b"BNCH\1\2"])
def test_strangers_learn_nothing(listening: Listening, first: bytes) -> None:
    with stranger(listening) as connection:
        channel = Channel(connection)
        try:
            connection.sendall(first)
            hang_up(connection)
            answer = channel.receive(5)
        except ENDED:
            return
        assert answer.kind == wire.ERROR and "frame" in answer.meta["message"]
    listening.host().close()


def test_requests_before_the_token_and_large_frames_are_refused(listening: Listening) -> None:
    for kind, size in ((wire.LOAD, 10), (wire.CHALLENGE, 5000)):
        with stranger(listening) as connection:
            channel = Channel(connection)
            with pytest.raises(ENDED):
                assert ask(channel, kind, {"adapter": "x"}, bytes(size)).kind == wire.ERROR
                channel.receive(5)


def test_a_peer_cannot_write_or_read_outside_of_the_folder(listening: Listening, tmp_path: Path) -> None:
    channel = admitted(listening)
    before = {path for path in tmp_path.rglob("*") if listening.folder not in path.parents}
    empty = hashlib.sha256(b"").hexdigest()
    for name in ("../../escaped", str(tmp_path / "escaped"), "A" * 64, empty + "\n", f"../{empty}", ""):
        answer = ask(channel, wire.PUT, {"sha256": name}, b"")
        assert (answer.kind, answer.meta["symptom"]) == (wire.ERROR, "harness")
        assert "is not a SHA-256" in answer.meta["message"]
    answer = ask(channel, wire.PUT, {"sha256": empty}, b"something else")
    assert "does not have the digest" in answer.meta["message"]
    for path in ("/etc/hostname", "../token", "store"):
        answer = ask(channel, wire.GET, {"path": path})
        assert re.search("outside of the agent's folder|not a file", answer.meta["message"])
    answer = ask(channel, wire.LOAD, {"adapter": "../../x", "sha256": hashlib.sha256(b"1").hexdigest()}, b"1")
    assert answer.kind == wire.ERROR
    assert {path for path in tmp_path.rglob("*") if listening.folder not in path.parents} == before


def test_a_link_in_the_store_is_neither_written_nor_read_through(listening: Listening, tmp_path: Path) -> None:
    agent = listening.host()
    agent.load("fake", LIMITS)
    outside, same = tmp_path / "outside", tmp_path / "same"
    outside.write_bytes(b"mine")
    data = b"content" * 20000
    same.write_bytes(data)
    digest = hashlib.sha256(data).hexdigest()
    store = listening.folder / "store"
    (store / digest).symlink_to(same)
    (store / f"{digest}.partial").symlink_to(outside)
    given = tmp_path / "given"
    given.write_bytes(data)
    answer = agent.call("fake", "go", {}, files={"x": given}, limits=LIMITS)
    assert answer.files["x"].read_bytes() == data
    assert outside.read_bytes() == b"mine"
    assert not (store / digest).is_symlink()


def test_a_call_over_a_network_names_no_file_of_the_board(listening: Listening, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("mine")
    agent = listening.host()
    agent.load("fake", LIMITS)
    for path in (str(secret), "../secret", str(listening.folder / "store")):
        request = {"adapter": "fake", "operation": "go", "meta": {}, "files": {"x": {"path": path}}}
        with pytest.raises(AgentFailure, match="a call over a network names the file") as caught:
            agent.ask(wire.CALL, request, LIMITS)
        assert caught.value.symptom == "harness"
    with pytest.raises(AgentFailure, match="was not put here"):
        request = {"adapter": "fake", "operation": "go", "meta": {}, "files": {"x": {"sha256": "0" * 64}}}
        agent.ask(wire.CALL, request, LIMITS)
    agent.call("fake", "go", {}, limits=LIMITS)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"short\n", "has 5 bytes; expected at least 32"),
        (b"a" * 40, "is not random: it has 1 different"),
        (None, "cannot be read"),
    ],
)
def test_a_bad_token_is_refused_with_the_command_that_makes_a_good_one(
    tmp_path: Path, content: bytes | None, message: str
) -> None:
    token = tmp_path / "token"
    if content is not None:
        token.write_bytes(content)
    argv = [sys.executable, "-m", "bench_plugin.agent", "--listen", ":0", "--folder", str(tmp_path)]
    ended = subprocess.run([*argv, "--token-file", str(token)], capture_output=True, text=True, timeout=20)
    said = " ".join(ended.stderr.split())
    assert (ended.returncode, message in said) == (2, True), said
    command = re.search(r"make one: (head .* 600 \S+)", said)
    assert command is not None
    subprocess.run(["sh", "-c", command[1]], check=True)
    assert len(read_token(str(token))) >= 32
    assert token.stat().st_mode & 0o77 == 0


def test_a_listener_without_a_token_file_says_what_is_missing(tmp_path: Path) -> None:
    argv = [sys.executable, "-m", "bench_plugin.agent", "--listen", ":0", "--folder", str(tmp_path)]
    ended = subprocess.run(argv, capture_output=True, text=True, timeout=20)
    assert (ended.returncode, "needs --token-file" in ended.stderr) == (2, True)


def test_a_host_refuses_a_short_token_before_it_connects(listening: Listening, tmp_path: Path) -> None:
    (tmp_path / "short").write_text("short")
    point = replace(listening.endpoint, token_file=tmp_path / "short")
    with pytest.raises(AgentFailure, match="expected at least 32 random ones; make one:"):
        start(point, tmp_path / "log", lambda name: [], tmp_path / "results")


def test_serve_says_what_a_token_grants(listening: Listening) -> None:
    assert listening.process.stdout is not None
    assert "can run any code as this user" in listening.process.stdout.readline()
