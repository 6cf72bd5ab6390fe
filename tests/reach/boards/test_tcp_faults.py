"""Faults of a board behind a listener: each ends with a message in time, the next host is served, nothing is left."""

from __future__ import annotations

import contextlib
import os
import resource
import shutil
import signal
import socket
import struct
import subprocess
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from bench_plugin.agent import wire
from bench_plugin.agent.channel import Channel, Closed
from bench_plugin.reach.processes.client import Agent
from bench_plugin.reach.processes.leased_agent import BUSY_TYPE, AgentFailure, Limits
from tests.reach.boards.listening import LIMITS, Listening
from tests.reach.boards.relay import Relay
from tests.reach.processes.conftest import alive, until

MIB = 1 << 20
SILENT = 1000


def call_in_thread(agent: Agent, **meta: object) -> tuple[threading.Thread, list[AgentFailure]]:
    """A call that is at work, and where its failure will be."""
    agent.load("fake", LIMITS)
    failures: list[AgentFailure] = []

    def call() -> None:
        try:
            agent.call("fake", "go", meta, limits=LIMITS)
        except AgentFailure as error:
            failures.append(error)

    thread = threading.Thread(target=call)
    thread.start()
    assert until(lambda: agent.stage is not None)
    return thread, failures


def children_of(pid: int) -> list[int]:
    """The processes that a listener started."""
    return [int(one) for one in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def served(listening: Listening) -> None:
    """Whoever comes next is served as if nothing had been."""
    agent = listening.host()
    assert agent.call("fake", "go", {}, limits=LIMITS).meta["remembered"] == 1
    agent.close()
    assert until(lambda: not children_of(listening.process.pid))


@pytest.mark.parametrize("stage", ["build", "compile", "run"])
def test_an_agent_killed_at_a_stage_is_a_crash_there(listening: Listening, stage: str) -> None:
    agent = listening.host()
    thread, failures = call_in_thread(agent, stages={stage: 30})
    os.kill(agent.hello["pid"], signal.SIGKILL)
    thread.join(5)
    assert [(one.symptom, one.stage, one.signal) for one in failures] == [("crash", stage, signal.SIGKILL)]
    served(listening)


@pytest.mark.parametrize("when", ["idle", "deploying", "working", "answering"])
def test_a_board_whose_power_goes_is_lost(listening_with: Callable[..., Listening], when: str) -> None:
    """The listener and its agent end at once, as with the machine."""
    listening = listening_with()
    agent = listening.host()
    victims = [listening.process.pid, agent.hello["pid"]]

    def cut() -> None:
        for victim in victims:
            os.kill(victim, signal.SIGKILL)
        listening.process.wait()

    began = time.monotonic()
    if when == "working":
        thread, failures = call_in_thread(agent, stages={"run": 30})
        cut()
        thread.join(10)
        failure = failures[0]
    else:
        if when == "idle":
            cut()
        with pytest.raises(AgentFailure) as caught:
            if when == "deploying":
                agent.load("fake", LIMITS)
                threading.Timer(0.05, cut).start()
                for number in range(200):
                    blob = bytes([number % 256]) * MIB
                    agent.ask(wire.PUT, {"sha256": "0" * 64}, LIMITS, [wire.Array("bytes", (MIB,), blob)])
            if when == "answering":
                agent.load("fake", LIMITS)
                threading.Timer(0.2, cut).start()
            agent.call("fake", "go", {"fault": "stalled"} if when == "answering" else {}, limits=LIMITS)
        failure = caught.value
        if when == "deploying" and failure.symptom == "harness":  # the digest was refused before the power went
            with pytest.raises(AgentFailure) as caught:
                time.sleep(0.5)
                agent.call("fake", "go", {}, limits=LIMITS)
            failure = caught.value
    assert failure.symptom == "board-lost", failure
    assert f"the link to {listening.endpoint} was lost" in str(failure)
    assert agent.lost
    assert time.monotonic() - began < 15


def test_an_agent_that_stands_still_is_ended_by_its_deadline(listening: Listening) -> None:
    agent = listening.host()
    pid = agent.hello["pid"]
    os.kill(pid, signal.SIGSTOP)
    began = time.monotonic()
    with pytest.raises(AgentFailure, match="took longer than 0.5 s") as caught:
        agent.call("fake", "go", {}, limits=Limits(0.5, 0))
    assert caught.value.symptom == "timeout"
    assert time.monotonic() - began < 5
    assert until(lambda: not alive(pid)), "its listener has to end it"
    served(listening)


def test_a_board_that_stands_still_is_lost_when_it_is_reached_again(listening: Listening) -> None:
    agent = listening.host()
    for pid in (agent.hello["pid"], listening.process.pid):
        os.kill(pid, signal.SIGSTOP)
    try:
        with pytest.raises(AgentFailure) as caught:
            agent.call("fake", "go", {}, limits=Limits(0.5, 0))
        assert caught.value.symptom == "timeout"
        began = time.monotonic()
        with pytest.raises(AgentFailure) as caught:
            listening.host()
        assert caught.value.symptom == "board-lost"
        assert time.monotonic() - began < 8
    finally:
        os.kill(listening.process.pid, signal.SIGCONT)
    served(listening)


def test_a_reset_in_mid_inference_is_a_lost_link(listening: Listening) -> None:
    with Relay(listening.endpoint) as relay:
        agent = listening.host(endpoint=relay.endpoint)
        thread, failures = call_in_thread(agent, stages={"run": 30})
        for one in relay._open:
            one.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))  # close sends a reset
        relay.reset()
        thread.join(10)
    assert failures[0].symptom == "board-lost"
    assert failures[0].stage == "run"
    served(listening)


@pytest.mark.parametrize("part", [10, 32, 100, 2000])
def test_half_a_frame_is_waited_for_no_longer_than_the_bounds_say(
    listening_with: Callable[..., Listening], part: int
) -> None:
    listening = listening_with("--max-pause", "0.5")
    agent = listening.host()
    blob = wire.Array("bytes", (3000,), bytes(3000))
    data = b"".join(wire.encode(wire.PUT, 1, {"sha256": "0" * 64}, [blob]))
    agent.channel.connection.sendall(data[:part])
    began = time.monotonic()
    with pytest.raises(Closed):
        answer = agent.channel.receive(5)
        assert "was not sent at the least rate" in answer.meta["message"]
        agent.channel.receive(5)
    assert time.monotonic() - began < 4
    served(listening)


def test_a_host_that_does_not_take_its_answer_is_left(listening_with: Callable[..., Listening]) -> None:
    listening = listening_with("--max-pause", "0.5", "--min-rate", "100000")
    agent = listening.host()
    agent.load("fake", LIMITS)
    values = np.zeros(64 * MIB, np.uint8)
    request = {"adapter": "fake", "operation": "go", "meta": {}, "arrays": ["x"], "files": {}}
    agent.channel.send(wire.CALL, 99, request, [wire.Array("uint8", (64 * MIB,), values.data)])
    assert until(lambda: not children_of(listening.process.pid), 10)
    served(listening)


def test_a_megabyte_of_garbage_and_then_a_clean_host(listening: Listening) -> None:
    garbage = os.urandom(MIB)
    address = (listening.endpoint.host, listening.endpoint.port)
    with socket.create_connection(address, 5) as stranger, contextlib.suppress(OSError):  # refused while it is sent
        stranger.sendall(garbage)
        while stranger.recv(4096):
            pass
    served(listening)
    agent = listening.host()
    with contextlib.suppress(OSError):
        agent.channel.connection.sendall(garbage)
    with pytest.raises(AgentFailure):
        agent.call("fake", "go", {}, limits=LIMITS)
    served(listening)


def test_an_oversized_header_takes_no_memory(listening_with: Callable[..., Listening]) -> None:
    listening = listening_with("--max-frame", "1")
    agent = listening.host()
    size = 1 << 34
    header = wire.HEADER.pack(wire.MAGIC, wire.VERSION, wire.PUT, 0, 1, 0, 1, 0, 0, wire.DESCRIPTOR.size + size)
    agent.channel.connection.sendall(header)
    answer = agent.channel.receive(5)
    assert "a frame of 17179869232 bytes, at most 1048576 are taken here" in answer.meta["message"]
    agent.close()
    with socket.create_connection((listening.endpoint.host, listening.endpoint.port), 5) as stranger:
        stranger.sendall(header)
        answer = Channel(stranger).receive(5)
        assert "at most 4096 are taken here" in answer.meta["message"]
    served(listening)


def test_a_thousand_connections_that_say_nothing_do_not_hurt(listening: Listening) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = SILENT + 200
    if hard != resource.RLIM_INFINITY and hard < wanted:
        pytest.skip(f"this machine allows {hard} open files, {wanted} are needed")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, wanted), hard))
    try:
        opened = [
            socket.create_connection((listening.endpoint.host, listening.endpoint.port), 5) for _ in range(SILENT)
        ]
        began = time.monotonic()
        served(listening)
        assert time.monotonic() - began < 10
        assert len(os.listdir(f"/proc/{listening.process.pid}/fd")) < 300
        assert resident(listening.process.pid) < 100 * MIB
    finally:
        for one in opened:
            one.close()
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def resident(pid: int) -> int:
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * resource.getpagesize()


def test_the_second_host_is_told_who_holds_the_board_and_may_wait(listening: Listening) -> None:
    first = listening.host()
    began = time.monotonic()
    with pytest.raises(
        AgentFailure, match=rf"the board is held by .*\(process {os.getpid()}\).*waited for it: 1 s"
    ) as caught:
        listening.host(endpoint=replace(listening.endpoint, wait=1))
    assert caught.value.types == BUSY_TYPE
    assert 0.9 < time.monotonic() - began < 5
    got: list[Agent] = []
    second = threading.Thread(target=lambda: got.append(listening.host()))
    second.start()
    time.sleep(0.3)
    assert first.call("fake", "go", {}, limits=LIMITS).meta["remembered"] == 1
    assert not got
    first.close()
    second.join(10)
    assert got[0].call("fake", "go", {}, limits=LIMITS).meta["remembered"] == 1
    got[0].close()


def test_a_host_that_asks_nothing_loses_the_board(listening_with: Callable[..., Listening]) -> None:
    listening = listening_with("--max-idle", "1")
    idle = listening.host()
    began = time.monotonic()
    other = listening.host()
    assert time.monotonic() - began < 8
    other.close()
    assert until(idle.ended_idle)
    with pytest.raises(AgentFailure, match=r"there was no request for 1 s|board-lost|was lost"):
        idle.call("fake", "go", {}, limits=LIMITS)


def test_a_call_and_its_processes_end_with_the_board_s_own_limit(
    listening_with: Callable[..., Listening], tmp_path: Path
) -> None:
    listening = listening_with("--max-call", "1")
    agent = listening.host()
    pid_file = tmp_path / "pid"
    with pytest.raises(AgentFailure, match="killed by SIGALRM") as caught:
        agent.call("fake", "go", {"fault": ["grandchild", "sleep"], "pid_file": str(pid_file)}, limits=LIMITS)
    assert caught.value.symptom == "crash"
    assert until(lambda: not alive(int(pid_file.read_text())))
    served(listening)


def test_processor_time_is_bounded(listening_with: Callable[..., Listening]) -> None:
    listening = listening_with("--max-cpu", "1")
    agent = listening.host()
    with pytest.raises(AgentFailure, match="killed by SIGXCPU"):
        agent.call("fake", "go", {"fault": "spin"}, limits=LIMITS)
    served(listening)


def test_memory_is_bounded(listening_with: Callable[..., Listening]) -> None:
    listening = listening_with("--max-memory", "200")
    agent = listening.host()
    with pytest.raises(AgentFailure) as caught:
        agent.call("fake", "go", {"fault": "allocate"}, limits=LIMITS)
    assert caught.value.symptom == "out-of-memory"
    agent.call("fake", "go", {}, limits=LIMITS)


def test_what_is_stored_is_bounded_and_the_oldest_goes_first(
    listening_with: Callable[..., Listening], tmp_path: Path
) -> None:
    listening = listening_with("--max-store", "2")
    given = []
    for number in range(3):
        given.append(tmp_path / str(number))
        given[-1].write_bytes(bytes([number]) * (900 << 10))
        agent = listening.host()
        agent.call("fake", "go", {}, files={"x": given[-1]}, limits=LIMITS)
        agent.close()
    stored = sum(one.stat().st_size for one in (listening.folder / "store").iterdir())
    assert stored <= 2 * MIB
    large = tmp_path / "large"
    large.write_bytes(bytes(3 * MIB))
    agent = listening.host()
    with pytest.raises(AgentFailure, match=r"3\.0 MiB cannot be stored: hosts may store 2\.0 MiB here \(--max-store\)"):
        agent.call("fake", "go", {}, files={"x": large}, limits=LIMITS)
    agent.call("fake", "go", {}, files={"x": given[0]}, limits=LIMITS)


def test_a_full_disk_is_said_and_the_board_stays_usable(
    listening_with: Callable[..., Listening], tmp_path: Path
) -> None:
    """A limit of the size of a file stands for the full disk: the same error comes out of the same call."""
    prlimit = shutil.which("prlimit")
    if prlimit is None:
        pytest.skip("needs the program prlimit (Debian: util-linux)")
    listening = listening_with(prefix=[prlimit, f"--fsize={MIB}"])
    large = tmp_path / "large"
    large.write_bytes(bytes(2 * MIB))
    agent = listening.host()
    with pytest.raises(AgentFailure, match=r"2\.0 MiB cannot be stored in .*: File too large") as caught:
        agent.call("fake", "go", {}, files={"x": large}, limits=LIMITS)
    assert caught.value.symptom == "harness"
    assert not list((listening.folder / "store").glob("*.partial"))
    agent.call("fake", "go", {}, limits=LIMITS)


def test_a_full_file_system_is_said(listening_with: Callable[..., Listening], tmp_path: Path) -> None:
    folder = tmp_path / "board"
    folder.mkdir()
    mounted = os.geteuid() == 0 and subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(folder)], capture_output=True
    )
    if not mounted or mounted.returncode:
        pytest.skip("a small tmpfs cannot be mounted here (needs root)")
    try:
        listening = listening_with()
        large = tmp_path / "large"
        large.write_bytes(os.urandom(2 * MIB))
        agent = listening.host()
        with pytest.raises(AgentFailure, match=r"2\.0 MiB cannot be stored in .*: No space left on device"):
            agent.call("fake", "go", {}, files={"x": large}, limits=LIMITS)
        agent.call("fake", "go", {}, limits=LIMITS)
        agent.close()
        listening.stop()
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)


def test_a_listener_that_is_told_to_end_ends_its_agent(
    listening_with: Callable[..., Listening], tmp_path: Path
) -> None:
    listening = listening_with()
    agent = listening.host()
    pid_file = tmp_path / "pid"
    thread, failures = call_in_thread(agent, fault=["grandchild", "sleep"], pid_file=str(pid_file))
    assert until(pid_file.exists)
    listening.process.terminate()
    thread.join(10)
    assert failures[0].symptom == "board-lost"
    assert listening.process.wait(10) == 0
    for pid in (agent.hello["pid"], int(pid_file.read_text())):
        assert until(lambda pid=pid: not alive(pid))  # type: ignore[misc]


def test_a_host_that_goes_away_in_mid_call_frees_the_board(listening: Listening) -> None:
    agent = listening.host()
    thread, _ = call_in_thread(agent, fault="spin")
    agent.channel.connection.shutdown(socket.SHUT_RDWR)
    thread.join(10)
    served(listening)
