"""What an agent does for its host: adapters by content, files, stages, versions, and who may speak to it over TCP."""

from __future__ import annotations

import hashlib
import os
import re
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from bench_plugin.agent import wire
from bench_plugin.agent.channel import Channel, Closed
from bench_plugin.agent.store import Refused, Store
from bench_plugin.reach.processes.client import Agent, AgentFailure, Limits, Source, connect_tcp
from bench_plugin.reach.processes.supervisor import AgentPool
from bench_plugin.reach.processes.zipapp import build_agent
from tests.reach.processes.conftest import FAKE, LIMITS

TOKEN = b"correct horse battery"
EMPTY = hashlib.sha256(b"").hexdigest()
MIB = 1 << 20


class Board:
    """A far end without files or processes to ask."""

    shares_files = False
    gone = False

    def resident(self) -> int:
        """Nothing can be asked."""
        return 0

    def spent(self) -> float | None:
        """Nothing can be asked."""
        return None

    def kill(self) -> int | None:
        """Nothing can be killed."""
        return None

    def ended(self) -> int | None:
        """Nothing is known."""
        return None


@pytest.fixture
def listener(tmp_path: Path) -> Iterator[tuple[int, Path]]:
    """The port and the folder of an agent that listens where it does when only a port is given."""
    (tmp_path / "token").write_bytes(TOKEN + b"\n")
    folder = tmp_path / "agent"
    argv = ["--listen", ":0", "--token-file", str(tmp_path / "token"), "--folder", str(folder)]
    process = subprocess.Popen(
        [sys.executable, "-I", str(build_agent(tmp_path)), *argv], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    line = process.stdout.readline()
    assert line.startswith("listening on 127.0.0.1:")
    yield int(line.rpartition(":")[2]), folder
    still = process.poll() is None
    process.kill()
    process.communicate()
    assert still, "the listening agent ended by itself"


def over(channel: Channel, tmp_path: Path, adapter: Path = FAKE) -> Agent:
    """A greeted agent on a channel."""
    agent = Agent(
        channel, Board(), tmp_path / "log", lambda name: [Source(name, adapter.read_bytes())], tmp_path / "results"
    )
    agent.greet()
    return agent


def ask(channel: Channel, kind: int, meta: dict[str, Any], data: bytes | None = None) -> wire.Frame:
    """The answer to a bare request."""
    channel.send(kind, 1, meta, [] if data is None else [wire.Array("bytes", (len(data),), data)])
    return channel.receive(5)


def test_an_adapter_that_changed_is_sent_again(pool: AgentPool, tmp_path: Path) -> None:
    copy = tmp_path / "adapter.py"
    copy.write_bytes(FAKE.read_bytes())
    pool._adapters = lambda name: [Source(name, copy.read_bytes())]
    with pool.lease("fake") as agent:
        first = agent.call("fake", "go", {}, limits=LIMITS)
        second = agent.call("fake", "go", {}, limits=LIMITS)
        copy.write_text(FAKE.read_text().replace('"remembered": self.remembered', '"remembered": -1'))
        third = agent.call("fake", "go", {}, limits=LIMITS)
        copy.write_text("import module_that_is_not_there\nADAPTER = {}\n")
        with pytest.raises(AgentFailure, match="No module named 'module_that_is_not_there'"):
            agent.call("fake", "go", {}, limits=LIMITS)
    assert [answer.meta["remembered"] for answer in (first, second, third)] == [1, 2, -1]
    assert first.meta["pid"] == third.meta["pid"]


def test_a_lease_resets_unless_it_is_sticky(pool: AgentPool) -> None:
    seen = []
    for sticky in ("", "", "model", "model", "other", ""):
        with pool.lease("fake", affinity=sticky) as agent:
            seen.append(agent.call("fake", "go", {}, limits=LIMITS).meta["remembered"])
    assert seen == [1, 1, 1, 2, 1, 1]


def test_versions_and_operations(pool: AgentPool) -> None:
    with pool.lease("fake") as agent:
        assert agent.versions("fake", LIMITS) == {"fake": "1.0"}
        with pytest.raises(AgentFailure, match="adapter fake has no operation 'versions'") as caught:
            agent.call("fake", "versions", {}, limits=LIMITS)
        assert caught.value.symptom == "harness"


def test_files_go_by_reference_and_results_outlive_the_agent(pool: AgentPool, tmp_path: Path) -> None:
    given = tmp_path / "model.onnx"
    given.write_bytes(os.urandom(3 * MIB))
    with pool.lease("fake") as agent:
        answer = agent.call("fake", "go", {}, files={"copy.onnx": given}, limits=LIMITS)
        assert not list(Path(answer.meta["folder"]).iterdir()), "results are moved, not copied"
    with pool.lease("fake", fresh=True):
        pass
    assert answer.files["copy.onnx"].read_bytes() == given.read_bytes()
    assert answer.files["copy.onnx"].name.endswith("-copy.onnx")


def test_a_result_outside_of_the_folder_is_refused(pool: AgentPool, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.write_text("mine")
    with pool.lease("fake") as agent, pytest.raises(AgentFailure, match="outside of the agent's folder") as caught:
        agent.call("fake", "go", {"fault": "escape", "outside": str(outside)}, limits=LIMITS)
    assert caught.value.symptom == "harness"
    assert outside.read_text() == "mine"


def test_stages_have_seconds_and_the_call_has_a_peak(pool: AgentPool) -> None:
    with pool.lease("fake") as agent:
        meta = {"stages": {"build": 0.1, "export": 0.2}, "fault": "peak", "bytes": 100 * MIB}
        large = agent.call("fake", "go", meta, limits=LIMITS)
        small = agent.call("fake", "go", {}, limits=LIMITS)
    assert list(large.seconds) == ["build", "export", "work", "call"]
    assert 0.1 <= large.seconds["build"] < large.seconds["export"] < large.seconds["call"]
    assert sum(large.seconds[name] for name in ("build", "export", "work")) <= large.seconds["call"]
    assert large.peak_bytes > 100 * MIB > small.peak_bytes > 0


def test_over_tcp_content_travels_both_ways(listener: tuple[int, Path], tmp_path: Path) -> None:
    port, folder = listener
    given = tmp_path / "model.onnx"
    given.write_bytes(os.urandom(2 * MIB))
    agent = over(connect_tcp("127.0.0.1", port, TOKEN), tmp_path)
    answer = agent.call("fake", "go", {"seed": 1}, files={"model.onnx": given}, limits=LIMITS)
    assert answer.meta["given"] == {"seed": 1}
    assert answer.files["model.onnx"].read_bytes() == given.read_bytes()
    assert hashlib.sha256(given.read_bytes()).hexdigest() in os.listdir(folder / "store")
    agent.close()


def test_a_wrong_token_is_refused_and_the_next_host_is_served(listener: tuple[int, Path], tmp_path: Path) -> None:
    with pytest.raises(AgentFailure, match="the token is not the agent's"):
        over(connect_tcp("127.0.0.1", listener[0], b"x" * 20), tmp_path)
    over(connect_tcp("127.0.0.1", listener[0], TOKEN), tmp_path).close()


@pytest.mark.parametrize("first", [b"", b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n", bytes(40), b"BNCH\1\2"])
def test_strangers_get_a_challenge_and_nothing_else(listener: tuple[int, Path], tmp_path: Path, first: bytes) -> None:
    with socket.create_connection(("127.0.0.1", listener[0]), 5) as stranger:
        channel = Channel(stranger)
        assert channel.receive(5).kind == wire.CHALLENGE
        with pytest.raises((Closed, OSError), match="ended|reset|not connected"):
            stranger.sendall(first)
            stranger.shutdown(socket.SHUT_WR)
            channel.receive(5)
    over(connect_tcp("127.0.0.1", listener[0], TOKEN), tmp_path).close()


def test_requests_before_the_token_and_large_frames_are_refused(listener: tuple[int, Path]) -> None:
    for kind, size in ((wire.LOAD, 10), (wire.AUTHENTICATE, 5000)):
        with socket.create_connection(("127.0.0.1", listener[0]), 5) as stranger:
            channel = Channel(stranger)
            channel.receive(5)
            with pytest.raises((Closed, ConnectionResetError)):
                assert ask(channel, kind, {"adapter": "x"}, bytes(size)).kind == wire.ERROR
                channel.receive(5)


def test_garbage_from_a_host_ends_its_connection_only(listener: tuple[int, Path], tmp_path: Path) -> None:
    channel = connect_tcp("127.0.0.1", listener[0], TOKEN)
    assert channel.receive(5).kind == wire.HELLO
    channel._connection.sendall(b"garbage!" * 4)
    error = channel.receive(5)
    assert (error.kind, error.meta["message"]) == (wire.ERROR, "not a frame: it begins with b'garb'")
    with pytest.raises((Closed, ConnectionResetError)):
        channel.receive(5)
    channel.close()
    over(connect_tcp("127.0.0.1", listener[0], TOKEN), tmp_path).close()


def test_a_peer_cannot_write_outside_of_the_folder(listener: tuple[int, Path], tmp_path: Path) -> None:
    channel = connect_tcp("127.0.0.1", listener[0], TOKEN)
    channel.receive(5)
    before = {path for path in tmp_path.rglob("*") if listener[1] not in path.parents}
    for name in ("../../escaped", str(tmp_path / "escaped"), "A" * 64, EMPTY + "\n", f"../{EMPTY}", ""):
        answer = ask(channel, wire.PUT, {"sha256": name}, b"")
        assert (answer.kind, answer.meta["symptom"]) == (wire.ERROR, "harness")
        assert "is not a SHA-256" in answer.meta["message"]
    answer = ask(channel, wire.PUT, {"sha256": EMPTY}, b"something else")
    assert "does not have the digest" in answer.meta["message"]
    for path in ("/etc/hostname", "../token", "store"):
        answer = ask(channel, wire.GET, {"path": path})
        assert re.search("outside of the agent's folder|not a file", answer.meta["message"])
    answer = ask(channel, wire.CALL, {"adapter": "absent", "operation": "go"})
    assert (answer.meta["symptom"], answer.meta["message"]) == ("harness", "no adapter 'absent' was sent")
    answer = ask(channel, wire.LOAD, {"adapter": "../../x", "sha256": hashlib.sha256(b"1").hexdigest()}, b"1")
    assert answer.kind == wire.ERROR
    channel.close()
    assert {path for path in tmp_path.rglob("*") if listener[1] not in path.parents} == before


def test_a_link_in_the_folder_does_not_lead_out_of_it(store: Store) -> None:
    link = Path(store.scratch()) / "link"
    link.symlink_to("/etc/hostname")
    with pytest.raises(Refused, match="outside"):
        store.below(str(link))
    assert not list(Path(store.scratch()).iterdir())


def test_a_short_token_and_a_missing_one_are_refused(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("short\n")
    argv = [sys.executable, "-m", "bench_plugin.agent", "--listen", "0", "--folder", str(tmp_path)]
    for more, message in (["--token-file", str(tmp_path / "token")], "shorter than 16"), ([], "needs --token-file"):
        ended = subprocess.run([*argv, *more], capture_output=True, text=True, timeout=20)
        assert (ended.returncode, message in ended.stderr) == (2, True)


def test_a_call_that_cannot_be_sent_leaves_the_agent_usable(pool: AgentPool) -> None:
    with pool.lease("fake") as agent:
        with pytest.raises(AgentFailure, match="the request cannot be sent: metadata of"):
            agent.call("fake", "go", {"long": "x" * wire.MAX_META}, limits=Limits(5, 0))
        agent.call("fake", "go", {}, limits=LIMITS)
