"""Boards of kind tcp: what an agent behind a listener does for its host, and how they are described."""

from __future__ import annotations

import hashlib
import os
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bench_plugin.agent.link.handshake import signature
from bench_plugin.agent.link.identity import machine_id
from bench_plugin.domain.errors import UsageError
from bench_plugin.reach.boards.board import Board
from bench_plugin.reach.boards.registry import reach_of
from bench_plugin.reach.boards.tcp import TcpReach
from bench_plugin.reach.deployment import Deployment, deploy
from bench_plugin.reach.processes.leased_agent import AgentFailure, Source
from bench_plugin.reach.processes.supervisor import AgentPool
from tests.reach.boards.listening import FAKE, LIMITS, Listening
from tests.reach.processes.conftest import until

IDENTITY = b"""
from bench_plugin.agent.toolkit import samples
ADAPTER = {"name": "model", "kind": "compiler", "toolchain": "fake", "operations": ["run"]}
class Adapter:
    def reset(self):
        pass
    def run(self, call):
        def run(xs):
            if xs[0].size == 13:
                raise ValueError("thirteen")
            return [xs[0] + 1, xs[-1]]
        if call.batched:
            return samples.answered(call, run, list(call.inputs.values())[::-1])
        return samples.reply(call, samples.results(call, run, list(call.inputs.values())))
"""


def settings(**more: Any) -> dict[str, Any]:
    return {"host": "127.0.0.1", "port": 7878, "token_file": "/nowhere/token", **more}


def deployed(listening: Listening, **meta: object) -> Deployment:
    file = listening.home / "model.py"
    file.write_bytes(IDENTITY)
    agent = listening.host(file)
    inputs = {"a": np.zeros((1, 3), np.float32), "b": np.zeros((1, 2), np.int64)}
    return deploy(agent, "model", {"batched": True, **meta}, inputs=inputs, files={}, limits=LIMITS)


def test_content_travels_both_ways_and_the_second_time_only_its_digest(listening: Listening, tmp_path: Path) -> None:
    given = tmp_path / "model.onnx"
    given.write_bytes(os.urandom(2 << 20))
    digest = hashlib.sha256(given.read_bytes()).hexdigest()
    agent = listening.host()
    answer = agent.call("fake", "go", {"seed": 1}, files={"model.onnx": given}, limits=LIMITS)
    assert answer.meta["given"] == {"seed": 1}
    assert answer.files["model.onnx"].read_bytes() == given.read_bytes()
    agent.close()
    stored = listening.folder / "store" / digest
    first = stored.stat().st_ino
    again = listening.host()
    again.call("fake", "go", {}, files={"model.onnx": given}, limits=LIMITS)
    assert stored.stat().st_ino == first, "it was sent and written again"
    stored.write_bytes(b"damaged" * 10000)
    again.close()
    last = listening.host()
    answer = last.call("fake", "go", {}, files={"model.onnx": given}, limits=LIMITS)
    assert answer.files["model.onnx"].read_bytes() == given.read_bytes()
    last.close()


def test_each_connection_has_a_fresh_process_whose_hello_is_signed_for_it(listening: Listening) -> None:
    agents = []
    for _ in range(2):
        agent = listening.host()
        agents.append(dict(agent.hello))
        assert agent.call("fake", "go", {}, limits=LIMITS).meta["remembered"] == 1
        agent.close()
    first, second = agents
    assert first["pid"] != second["pid"]
    assert first["nonce"] != second["nonce"] and len(bytes.fromhex(first["nonce"])) == 32
    assert first["signature"] != second["signature"]
    assert first["machine_id"] == machine_id() and len(first["agent"]) == 64
    assert signature(b"another key", first) != first["signature"]


def test_a_model_that_kills_its_agent_is_a_crash_and_not_a_lost_board(listening: Listening) -> None:
    for fault, message in (("segfault", "SIGSEGV in stage work"), ("kill", "SIGKILL"), ("exit", "exit code 3")):
        agent = listening.host()
        with pytest.raises(AgentFailure, match=message) as caught:
            agent.call("fake", "go", {"fault": fault}, limits=LIMITS)
        assert caught.value.symptom == "crash"
        assert agent.lost
    listening.host().close()


def test_a_deployed_model_answers_in_one_round_trip_and_by_the_published_steps(listening: Listening) -> None:
    model = deployed(listening)
    assert model.order == ("b", "a"), "the order in which the model takes its inputs, not the one they were sent in"
    b, a = np.array([1, 2]), np.array([0.5, 1, 1.5], np.float32)
    for turn in range(5):
        first, second = model.infer([b + turn, a])
        assert (first == b + turn + 1).all() and first.dtype == np.int64
        assert (second == a).all() and second.dtype == np.float32
    with pytest.raises(AgentFailure, match="thirteen") as caught:
        model.infer([np.zeros(13, np.int64), a])
    assert caught.value.symptom == "exception"
    outputs, seconds = model.handshake([b, a])
    assert (outputs[0] == b + 1).all() and 0 < seconds < 5
    found = model.statistics()
    assert found.inferences == len(found.nanoseconds) == 6 and (found.nanoseconds > 0).all()
    assert found.peak_bytes > 1 << 20
    assert len(model.statistics().nanoseconds) == 0
    large = np.arange(1 << 19)
    for _ in range(2):
        assert (model.infer([large, a.reshape(3, 1)])[0] == large + 1).all()
    model._agent.close()


def test_steps_out_of_order_say_what_is_missing(listening: Listening) -> None:
    from bench_plugin.agent import wire

    model = deployed(listening)
    agent = model._agent
    for kind, message in ((wire.PROCESS, "send data first"), (wire.OUTPUT, "send data and process first")):
        with pytest.raises(AgentFailure, match=message):
            agent.ask(kind, {}, LIMITS)
    agent.ask(wire.DATA, {}, LIMITS)
    assert agent.ask(wire.CANCEL, {}, LIMITS).meta == {"cancelled": True}
    assert agent.ask(wire.CANCEL, {}, LIMITS).meta == {"cancelled": False}
    with pytest.raises(AgentFailure, match="send data first"):
        agent.ask(wire.PROCESS, {}, LIMITS)
    agent.reset(LIMITS)
    with pytest.raises(AgentFailure, match="no model was deployed on this connection"):
        agent.ask(wire.DATA, {}, LIMITS)
    agent.close()


def test_an_adapter_that_looks_at_its_outputs_cannot_be_deployed(listening: Listening) -> None:
    with pytest.raises(AgentFailure, match="looks at outputs itself") as caught:
        deployed(listening, batched=False)
    assert caught.value.symptom == "unsupported"


def test_a_board_is_reached_as_its_file_says(listening: Listening) -> None:
    point = listening.endpoint
    given = settings(port=point.port, token_file=str(point.token_file), wait=3.5)
    reach = reach_of(Board("near", "local", "tcp", given))
    assert isinstance(reach, TcpReach) and not reach.programs
    assert (reach.endpoint.port, reach.endpoint.wait) == (point.port, 3.5)
    assert reach.missing() == ""


def test_a_board_without_a_token_says_how_to_make_one(tmp_path: Path) -> None:
    short = tmp_path / "token"
    short.write_bytes(b"x" * 31)
    for path, message in ((tmp_path / "absent", "cannot be read"), (short, "31 bytes; expected at least 32")):
        missing = reach_of(Board("pi4", "aarch64", "tcp", settings(token_file=str(path)))).missing()
        assert "board pi4" in missing and message in missing
        assert "head -c 32 /dev/urandom" in missing


@pytest.mark.parametrize("same_machine", [False, True])
def test_whether_it_is_this_machine_is_said_by_the_boards_file_alone(
    listening: Listening, tmp_path: Path, same_machine: bool
) -> None:
    given = settings(port=listening.endpoint.port, token_file=str(listening.endpoint.token_file))
    reach = reach_of(Board("pi4", "aarch64", "tcp", given, same_machine=same_machine))
    assert not hasattr(reach, "same_machine"), "the board says it, and nothing else does"
    pool = AgentPool(
        lambda name: Path(sys.executable), tmp_path / "logs", lambda name: [Source(name, FAKE.read_bytes())],
        tmp_path / "scratch", boards={"pi4": reach},
    )  # fmt: skip
    try:
        if same_machine:
            with pool.lease("fake", board="pi4") as agent:
                agent.call("fake", "go", {}, limits=LIMITS)
        else:
            with pytest.raises(AgentFailure, match="the agent of board pi4 runs on this machine"):
                pool.lease("fake", board="pi4").__enter__()
    finally:
        pool.close()


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"host": ""}, r"reach: .* at `\$\.host`"),
        ({"port": 0}, r"reach: Expected `int` >= 1 - at `\$\.port`"),
        ({"port": "80"}, r"reach: Expected `int`, got `str` - at `\$\.port`"),
        ({"port": True}, r"reach: .* at `\$\.port`"),
        ({"wait": -1}, r"reach: .* at `\$\.wait`"),
        ({"tokenfile": "x"}, "reach: .*unknown field `tokenfile`"),
        ({"tunnelled": "yes"}, r"reach: Expected `bool`, got `str` - at `\$\.tunnelled`"),
        ({"tunnelled": True, "host": "10.0.0.7"}, "reach.tunnelled: a tunnel ends on this machine"),
    ],
)
def test_settings_that_are_wrong_are_named(more: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=f"board pi4: {message}"):
        reach_of(Board("pi4", "aarch64", "tcp", settings(**more)))


def test_a_missing_key_is_named() -> None:
    with pytest.raises(UsageError, match="missing required field `host`"):
        reach_of(Board("pi4", "aarch64", "tcp", {}))


def test_an_agent_that_ended_idle_is_noticed_before_the_next_call(listening: Listening) -> None:
    agent = listening.host()
    assert not agent.ended_idle()
    os.kill(agent.hello["pid"], 9)
    assert until(agent.ended_idle)
    agent.close()
