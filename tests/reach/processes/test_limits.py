"""What a call may take has a bound: time in all, bytes of answers and of logs, the start of an agent, its reset."""

from __future__ import annotations

import contextlib
import re
import socket
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from bench_plugin.agent import wire
from bench_plugin.agent.channel import Channel, TooLong
from bench_plugin.reach.processes.agent_log import CAP_BYTES, bound_log
from bench_plugin.reach.processes.client import Agent
from bench_plugin.reach.processes.deadline import Deadline
from bench_plugin.reach.processes.leased_agent import AgentFailure, Limits, Source
from bench_plugin.reach.processes.supervisor import AgentPool
from tests.reach.processes.conftest import FAKE, LIMITS
from tests.reach.processes.test_agent import Board

MIB = 1 << 20


@pytest.mark.parametrize(("fault", "stage"), [("again", ""), ("flood", "build"), ("nameless", "stage ")])
def test_to_announce_stages_again_does_not_start_the_clock_again(shared: AgentPool, fault: str, stage: str) -> None:
    with shared.lease("fake", fresh=True) as agent, pytest.raises(AgentFailure, match="took longer than 1 s") as caught:
        agent.call("fake", "go", {"fault": fault}, limits=Limits(1.0, 0))
    assert caught.value.symptom == "timeout" and (caught.value.stage or "").startswith(stage)


def test_each_new_stage_has_its_own_time(shared: AgentPool) -> None:
    stages = {"build": 0.5, "reference": 0.5, "export": 0.5}
    with shared.lease("fake", fresh=True) as agent:
        answer = agent.call("fake", "go", {"stages": stages}, limits=Limits(1.2, 0))
    assert answer.seconds["call"] > 1.4


@pytest.mark.parametrize("fault", ["spin", "spin_below"])
def test_what_computes_ends_by_its_processor_time(shared: AgentPool, fault: str) -> None:
    with shared.lease("fake", fresh=True) as agent, pytest.raises(AgentFailure) as caught:
        agent.call("fake", "go", {"fault": fault}, limits=Limits(0.5, 0, wall_seconds=100.0))
    said = r"stage work took longer than 0\.5 s of processor time: \d+\.\d s, and \d+\.\d s on the clock"
    assert caught.value.symptom == "timeout" and re.fullmatch(said, caught.value.message), caught.value.message


def test_what_waits_ends_by_the_clock(shared: AgentPool) -> None:
    with shared.lease("fake", fresh=True) as agent, pytest.raises(AgentFailure) as caught:
        agent.call("fake", "go", {"fault": "sleep"}, limits=Limits(60.0, 0, wall_seconds=1.0))
    said = r"took longer than 1 s on the clock: \d+\.\d s, and 0\.\d s of processor time, of which it may use 60 s"
    assert caught.value.symptom == "timeout" and re.search(said, caught.value.message), caught.value.message


def test_time_on_the_clock_is_no_processor_time(shared: AgentPool) -> None:
    with shared.lease("fake", fresh=True) as agent:
        answer = agent.call("fake", "go", {"stages": {"build": 1.0}}, limits=Limits(0.5, 0, wall_seconds=100.0))
    assert answer.seconds["build"] >= 1.0


def test_each_stage_has_its_own_processor_time() -> None:
    spent = iter([5.0, 5.4, 5.8, 6.2, 6.6])
    deadline = Deadline(0.5, wall=100.0, spent=lambda: next(spent))
    for stage in ("build", "export"):
        deadline.begin(stage)
        deadline.look()
        deadline.look()
        assert 0 < deadline.left() < 0.2, stage
    deadline.look()
    assert deadline.left() < 0


def test_where_nothing_can_be_asked_the_clock_counts() -> None:
    deadline = Deadline(30.0, wall=300.0)
    assert 30 >= deadline.left() > 0
    deadline.look()
    assert 30 >= deadline.left() > 29 and deadline.text == "took longer than 30 s"


def test_an_answer_beyond_the_memory_limit_is_refused_before_it_is_read(shared: AgentPool) -> None:
    given = {"in:x": np.zeros(40 * MIB, dtype=np.uint8)}
    with shared.lease("fake", fresh=True) as agent:
        assert agent.call("fake", "go", {}, arrays=given, limits=Limits(20, 0)).arrays["in:x"].nbytes == 40 * MIB
        with pytest.raises(AgentFailure, match="the agent's answer has 40 MiB, the limit is 30 MiB") as caught:
            agent.call("fake", "go", {}, arrays=given, limits=Limits(20, 30 * MIB))
    assert caught.value.symptom == "out-of-memory"


def test_files_beyond_the_memory_limit_are_refused(shared: AgentPool, tmp_path: Path) -> None:
    given = tmp_path / "large"
    with given.open("wb") as file:
        file.truncate(2 * MIB)
    with shared.lease("fake", fresh=True) as agent:
        with pytest.raises(AgentFailure, match=r"the answer's files have 2 MiB, the limit is 1 MiB") as caught:
            agent.call("fake", "go", {}, files={"large": given}, limits=Limits(20, MIB))
        assert caught.value.symptom == "out-of-memory"
        assert not agent.lost


def test_a_reader_says_how_much_it_takes_of_each_kind() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        blob = wire.Array("bytes", (2000,), bytes(2000))
        for kind, most in ((wire.RESULT, 2100), (wire.STAGE, 100)):
            Channel(theirs).send(kind, 1, None, [blob])
            if most > 2000:
                assert Channel(ours).receive(5, lambda kind: 2100).kind == kind
            else:
                with pytest.raises(TooLong, match="a frame of 2048 bytes, at most 100 are taken here") as caught:
                    Channel(ours).receive(5, lambda kind: 2100 if kind == wire.RESULT else 100)
                assert (caught.value.kind, caught.value.bytes, caught.value.most) == (wire.STAGE, 2048, 100)


def test_a_reader_that_takes_little_at_a_time_has_one_deadline(tmp_path: Path) -> None:
    ours, theirs = socket.socketpair()
    done = threading.Event()

    def slowly() -> None:
        Channel(theirs).send(wire.HELLO, 0, {})
        while not done.is_set():
            with contextlib.suppress(BlockingIOError):
                theirs.recv(64 << 10)
            time.sleep(0.05)

    reader = threading.Thread(target=slowly)
    reader.start()
    try:
        source = [Source("fake", FAKE.read_bytes() + b"#" * 32 * MIB)]
        agent = Agent(Channel(ours), Board(), tmp_path / "log", lambda name: source, tmp_path / "results")
        agent.greet()
        began = time.monotonic()
        with pytest.raises(AgentFailure, match=r"did not take the data of a request within 0\.5 s") as caught:
            agent.call("fake", "go", {}, limits=Limits(0.5, 0))
        assert caught.value.symptom == "timeout"
        assert time.monotonic() - began < 10
    finally:
        done.set()
        ours.close()
        reader.join()
        theirs.close()


def test_a_host_that_is_slow_gets_the_whole_answer(shared: AgentPool) -> None:
    given = {"in:x": np.arange(8 * MIB, dtype=np.uint8)}
    with shared.lease("fake", fresh=True) as agent:
        agent.load("fake", LIMITS)
        request = {"adapter": "fake", "operation": "go", "meta": {}, "arrays": ["x"], "files": {}}
        blob = wire.Array("uint8", (8 * MIB,), given["in:x"].data)
        agent.channel.send(wire.CALL, agent._next + 1, request, [blob])
        time.sleep(1.0)  # the agent waits for its reader meanwhile
        frame = agent.channel.receive(5)
        while frame.kind == wire.STAGE:
            frame = agent.channel.receive(5)
        assert bytes(frame.arrays[0].data) == given["in:x"].tobytes()
        agent.close()


def test_a_log_keeps_its_beginning_and_its_end(shared: AgentPool) -> None:
    with shared.lease("fake", fresh=True) as agent:
        with pytest.raises(AgentFailure) as caught:
            agent.call("fake", "go", {"fault": ["verbose", "exit"]}, limits=LIMITS)
        log = Path(caught.value.log)
    text = log.read_bytes()
    assert len(text) <= CAP_BYTES
    assert text.startswith(b"first words\n") and text.endswith(b"last words\n")
    assert b" bytes left out: a log has at most 67108864 bytes ..." in text
    assert caught.value.symptom == "crash" and "last words" in caught.value.detail


def test_a_log_of_a_usual_size_is_left_alone(tmp_path: Path) -> None:
    log = tmp_path / "log"
    bound_log(log)  # one that is not there yet
    log.write_bytes(b"all of it\n" * 1000)
    bound_log(log)
    assert log.read_bytes() == b"all of it\n" * 1000


@pytest.fixture
def starting(tmp_path: Path) -> Callable[[str], AgentPool]:
    """Makes a pool whose interpreter is a shell script."""
    script = tmp_path / "python"
    script.touch(mode=0o755)

    def make(text: str) -> AgentPool:
        script.write_text(f"#!/bin/sh\n{text}\n")
        return AgentPool(
            lambda name: script, tmp_path / "logs", lambda name: [], tmp_path / "scratch", start_seconds=0.5
        )

    return make


def test_an_interpreter_that_hangs_is_waited_for_once(starting: Callable[[str], AgentPool]) -> None:
    pool = starting("exec sleep 600")
    try:
        with pytest.raises(AgentFailure, match=r"toolchain fake: .*/python: the agent did not start") as caught:
            pool.lease("fake").__enter__()
        assert caught.value.symptom == "harness"
        for role in ("", "run"):
            began = time.monotonic()
            with pytest.raises(AgentFailure, match=r"the agent did not start: .* \(not tried again\)"):
                pool.lease("fake", role=role).__enter__()
            assert time.monotonic() - began < 0.4
    finally:
        pool.close()


def test_an_interpreter_that_ends_at_once_is_noticed_at_once(starting: Callable[[str], AgentPool]) -> None:
    pool = starting("echo no such thing >&2; exit 7")
    try:
        with pytest.raises(AgentFailure, match="the agent ended with exit code 7") as caught:
            pool.lease("fake").__enter__()
        assert caught.value.symptom == "harness" and "no such thing" in caught.value.detail
    finally:
        pool.close()


def test_a_reset_that_hangs_costs_five_seconds_and_is_said(tmp_path: Path) -> None:
    notes: list[str] = []
    pool = AgentPool(
        lambda name: Path(sys.executable), tmp_path / "logs", lambda name: [Source(name, FAKE.read_bytes())],
        tmp_path / "scratch", note=notes.append,
    )  # fmt: skip
    try:
        with pool.lease("fake", affinity="mlp:fake") as agent:
            first = agent.call("fake", "go", {"fault": "reset_hangs"}, limits=LIMITS).meta["pid"]
        began = time.monotonic()
        with pool.lease("fake", affinity="other") as agent:
            assert 5.0 <= time.monotonic() - began < 20.0
            assert agent.call("fake", "go", {}, limits=LIMITS).meta["pid"] != first
    finally:
        pool.close()
    said = "an agent of toolchain fake was replaced: its reset() after mlp:fake failed: the call took longer than 5 s"
    assert notes == [said]
