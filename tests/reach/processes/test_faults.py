"""Every fault of an agent: its symptom, stage and signal, a message that helps, and a pool that goes on."""

from __future__ import annotations

import re
import signal
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bench_plugin.reach.processes.leased_agent import AgentFailure, Limits
from bench_plugin.reach.processes.supervisor import AgentPool
from tests.mounts import MOUNTS, disk
from tests.reach.processes.conftest import LIMITS, alive, make_pool, until

MIB = 1 << 20

# fault -> symptom, what the message says
REPORTED = {
    "exception": ("exception", "the shape of node 17 is wrong"),
    "unsupported": ("unsupported", "operator Einsum is not implemented"),
    "declared": ("unsupported", "no kernel for Einsum"),
    "invalid": ("invalid-model", "input x has no type"),
    "skew": ("version-skew", "opset 99, at most 21 is known"),
    "no_disk": ("exception", "C++ compile error (No space left on device)"),
    "no_memory": ("out-of-memory", "cannot allocate 1 TiB"),
    "not_json": ("exception", "Object of type object is not JSON serializable"),
}
LOST = {
    "segfault": ("crash", "the agent was killed by SIGSEGV in stage work", signal.SIGSEGV),
    "abort": ("crash", "the agent was killed by SIGABRT in stage work: map::at", signal.SIGABRT),
    "kill": ("crash", "the agent was killed by SIGKILL in stage work", signal.SIGKILL),
    "exit": ("crash", "the agent ended with exit code 3 in stage work", None),
    "garbage": ("harness", "the agent sent garbage: not a frame: it begins with b'WARN'", None),
    "truncated": ("harness", "the agent ended within a frame in stage work", None),
    "wrong_call": ("harness", "the agent answered call 999, asked was call 2", None),
    "wrong_kind": ("harness", "the agent answered with run", None),
    "wrong_answer": (
        "harness",
        "the reply of adapter fake to go: field 'meta' is missing; expected object of anything",
        None,
    ),
}


def failure(pool: AgentPool, fault: str | list[str], limits: Limits = LIMITS, **meta: Any) -> AgentFailure:
    """How a fresh agent fails."""
    with pool.lease("fake", fresh=True) as agent, pytest.raises(AgentFailure) as caught:
        agent.call("fake", "go", {"fault": fault, **meta}, limits=limits)
    return caught.value


def pid(pool: AgentPool, toolchain: str = "fake") -> int:
    """The process of the agent that answers now."""
    with pool.lease(toolchain) as agent:
        return int(agent.call("fake", "go", {}, limits=LIMITS).meta["pid"])


def test_without_a_fault_comes_back_what_was_given(shared: AgentPool) -> None:
    x = np.arange(6.0).reshape(2, 3)
    with shared.lease("fake") as agent:
        answer = agent.call("fake", "go", {"seed": 7}, arrays={"x": x, "y": x[:0]}, limits=LIMITS)
    assert answer.meta["given"] == {"seed": 7}
    assert list(answer.arrays) == ["x", "y"]
    assert (answer.arrays["x"] == x).all()
    assert answer.arrays["y"].shape == (0, 3)


@pytest.mark.parametrize("fault", REPORTED)
def test_what_the_adapter_reports_leaves_the_agent_usable(shared: AgentPool, fault: str) -> None:
    symptom, message = REPORTED[fault]
    error = failure(shared, fault)
    assert (error.symptom, error.stage, error.signal) == (symptom, "work", None)
    assert error.message == message
    assert error.detail.startswith("Traceback")
    assert "-fake.py" in error.detail or fault == "not_json"
    assert error.types[-2:] == ("builtins.Exception", "builtins.BaseException")
    with shared.lease("fake") as agent:
        assert agent.calls == 1
        agent.call("fake", "go", {}, limits=LIMITS)


@pytest.mark.parametrize("fault", LOST)
def test_an_agent_that_is_lost_says_how_and_is_replaced(shared: AgentPool, fault: str) -> None:
    symptom, message, number = LOST[fault]
    before, other = pid(shared), pid(shared, "other")
    began = time.monotonic()
    error = failure(shared, fault)
    assert time.monotonic() - began < 5
    assert (error.symptom, error.stage, error.signal) == (symptom, "work", number)
    assert error.message == message
    assert Path(error.log).is_file()
    after = pid(shared)
    assert after != before
    assert not alive(before)
    assert pid(shared, "other") == other


@MOUNTS
def test_a_tool_that_does_not_say_that_the_disk_is_full_did_not_fail(tmp_path: Path) -> None:
    with disk(tmp_path / "disk", "size=8m"):
        pool = make_pool(tmp_path / "disk")
        try:
            error = failure(pool, "fill")
        finally:
            pool.close()
    assert error.message == "basic_ios::clear: iostream error (the disk of the agent's folder is full)"
    assert (error.symptom, error.cause) == ("exception", "environment"), "or the cache would keep it"


@MOUNTS
@pytest.mark.parametrize(("taken", "cause"), [(16, "environment"), (0, "")])
def test_a_failure_beside_a_disk_without_room_for_such_a_file_is_not_kept(
    tmp_path: Path, taken: int, cause: str
) -> None:
    given = tmp_path / "model.onnx"
    given.write_bytes(b"x" * 8 * MIB)
    with disk(tmp_path / "disk", "size=32m"):
        pool = make_pool(tmp_path / "disk")
        try:
            (tmp_path / "disk" / "of another run").write_bytes(b"x" * taken * MIB)
            with pool.lease("fake", fresh=True) as agent, pytest.raises(AgentFailure) as caught:
                agent.call("fake", "go", {"fault": "exception"}, files={"model.onnx": given}, limits=LIMITS)
        finally:
            pool.close()
    clause = r" \(the disk of the agent's folder has [3-7] MB left, and the files of the call have 8 MB\)"
    assert re.fullmatch("the shape of node 17 is wrong" + (clause if taken else ""), caught.value.message)
    assert caught.value.cause == cause, "or the cache would keep what a full disk caused"


def test_a_crash_s_detail_holds_the_end_of_the_log(shared: AgentPool) -> None:
    error = failure(shared, "segfault")
    assert error.detail.startswith(error.message)
    assert "Fatal Python error: Segmentation fault" in error.detail
    assert "in string_at" in error.detail


def test_a_long_message_is_cut_in_the_line_and_in_the_detail(shared: AgentPool) -> None:
    error = failure(shared, "exception")
    assert len(error.detail) < 100_000
    assert "characters left out" in error.detail
    assert error.detail.rstrip().endswith("\N{ROCKET}")


@pytest.mark.parametrize(("fault", "message"), [("sleep", "stage work took longer"), ("stalled", "within a frame")])
def test_a_hang_ends_with_the_deadline(shared: AgentPool, fault: str, message: str) -> None:
    began = time.monotonic()
    error = failure(shared, fault, Limits(0.5, 0))
    assert 0.5 <= time.monotonic() - began < 3
    assert (error.symptom, error.stage) == ("timeout", "work")
    assert message in error.message
    assert pid(shared)


def test_the_deadline_counts_from_the_start_of_a_stage(shared: AgentPool) -> None:
    with shared.lease("fake") as agent:
        stages = dict.fromkeys(("build", "export", "check"), 0.6)
        answer = agent.call("fake", "go", {"stages": stages}, limits=Limits(1.5, 0))
    assert answer.seconds["call"] > 1.8
    error = failure(shared, "none", Limits(0.4, 0), stages={"build": 0.1, "export": 5.0})
    assert (error.symptom, error.stage) == ("timeout", "export")
    assert error.message == "stage export took longer than 0.4 s"


def test_memory_beyond_the_limit_ends_the_agent(shared: AgentPool) -> None:
    error = failure(shared, "allocate", Limits(20.0, 300 * MIB))
    assert (error.symptom, error.stage) == ("out-of-memory", "work")
    assert error.message.startswith("the agent used ") and error.message.endswith(" MiB, the limit is 300 MiB")
    assert pid(shared)


def test_noise_goes_to_the_log_and_not_into_the_answer(shared: AgentPool, capfd: pytest.CaptureFixture[str]) -> None:
    with shared.lease("fake") as agent:
        answer = agent.call("fake", "go", {"fault": "noise", "mark": 5}, limits=LIMITS)
    assert answer.meta["given"]["mark"] == 5
    log = Path(answer.log).read_text()
    for voice in ("python", "a descriptor"):
        assert (log.count(f"{voice} says"), log.count(f"{voice} complains")) == (2000, 2000), voice
    assert log.count("the C library says") == 2000
    assert capfd.readouterr() == ("", "")


def test_what_was_printed_before_a_crash_is_in_the_log(shared: AgentPool) -> None:
    error = failure(shared, ["noise", "kill"])
    assert "last words" in error.detail


def test_a_fault_that_only_used_agents_have_goes_away_in_a_fresh_one(shared: AgentPool) -> None:
    with shared.lease("fake", fresh=True) as agent:
        agent.call("fake", "go", {"fault": "used_only"}, limits=LIMITS)
        with pytest.raises(AgentFailure, match="something is left of used_only"):
            agent.call("fake", "go", {"fault": "used_only"}, limits=LIMITS)
        assert agent.calls == 2
    with shared.lease("fake", fresh=True) as agent:
        agent.call("fake", "go", {"fault": "used_only"}, limits=LIMITS)


def test_orphans_of_a_lost_agent_end_with_it(shared: AgentPool, tmp_path: Path) -> None:
    other = pid(shared, "other")
    for number, fault in enumerate(("exit", "sleep")):
        file = tmp_path / str(number)
        failure(shared, ["grandchild", fault], Limits(1.0, 0), pid_file=str(file))
        assert until(lambda file=file: not alive(int(file.read_text()))), fault  # type: ignore[misc]
    assert pid(shared, "other") == other


def test_an_agent_that_has_grown_is_replaced(shared: AgentPool) -> None:
    first = pid(shared)
    with shared.lease("fake") as agent:
        agent.call("fake", "go", {}, limits=Limits(20.0, 32 * MIB))  # an interpreter alone is more than a third of it
    assert pid(shared) != first


def test_an_agent_that_cannot_start_says_why(tmp_path: Path) -> None:
    pool = make_pool(tmp_path)
    pool._environments = lambda name: Path(f"/nowhere/{name}")
    try:
        with pytest.raises(AgentFailure, match="cannot be started: /nowhere/fake: .*No such file"), pool.lease("fake"):
            pass
        pool._environments = lambda name: Path("/bin/false")
        with pytest.raises(AgentFailure, match="the agent ended with exit code 1") as caught, pool.lease("fake"):
            pass
        assert caught.value.symptom == "harness", "no model was at work"
    finally:
        pool.close()


def test_a_pool_that_closes_ends_a_call_in_another_thread(tmp_path: Path) -> None:
    pool = make_pool(tmp_path)
    errors: list[AgentFailure] = []
    called = tmp_path / "pid"
    fault = ["grandchild", "sleep"]  # the first tells us, by its file, that the call is at work
    thread = threading.Thread(target=lambda: errors.append(failure(pool, fault, pid_file=str(called))))
    thread.start()
    assert until(called.exists)
    began = time.monotonic()
    pool.close()
    assert time.monotonic() - began < 1.0
    thread.join(5)
    assert [error.symptom for error in errors] == ["crash"]
    assert not list((tmp_path / "scratch").iterdir())
    with pytest.raises(AgentFailure, match="the run is ending"), pool.lease("fake"):
        pass


def test_closing_is_quick_after_many_calls(tmp_path: Path) -> None:
    pool = make_pool(tmp_path)
    with pool.lease("fake") as agent:
        for _ in range(300):
            agent.call("fake", "go", {}, limits=LIMITS)
    assert sum(1 for _ in (tmp_path / "scratch").rglob("*")) < 20
    began = time.monotonic()
    pool.close()
    assert time.monotonic() - began < 1.0
