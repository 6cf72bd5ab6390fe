"""A board that runs programs: real programs in real processes, and everything that can go wrong with one."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bench_plugin.reach.boards.board import Board
from bench_plugin.reach.boards.qemu_user import QemuUser
from bench_plugin.reach.processes.leased_agent import AgentFailure, Answer, LeasedAgent, Limits
from bench_plugin.reach.processes.supervisor import AgentPool
from tests.agent.c.compiled import program

LIMITS = Limits(20.0, 1 << 30)
X = np.arange(12, dtype=np.float32).reshape(2, 2, 3)  # two samples of [2, 3]
N = np.array([[7], [8]], dtype=np.int32)
META = {
    "batched": False, "precision": "fp32",
    "inputs": [{"name": "x", "dtype": "float32", "shape": [2, 3]}, {"name": "n", "dtype": "int32", "shape": [1]}],
    "outputs": [
        {"name": "doubled", "dtype": "float32", "shape": [2, 3]}, {"name": "sums", "dtype": "int64", "shape": []},
    ],
}  # fmt: skip


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    made, described = program(tmp_path_factory.mktemp("program"))
    return {"program.elf": made, "model.json": described}


@pytest.fixture
def pool(tmp_path: Path) -> Iterator[AgentPool]:
    """A pool with a board that runs programs as they are: env takes the place of an emulator."""
    board = QemuUser(Board("native", "here", "qemu-user", {"program": "env"}), "env")
    found = AgentPool(
        lambda name: Path("/nowhere"), tmp_path / "logs", lambda name: [], tmp_path / "scratch", start_seconds=20.0,
        boards={"native": board},
    )  # fmt: skip
    yield found
    found.close()


@pytest.fixture
def agent(pool: AgentPool) -> Iterator[LeasedAgent]:
    with pool.lease("emx", role="run", board="native") as leased:
        yield leased


def ran(
    agent: LeasedAgent, files: dict[str, Path], x: Any = X, n: Any = N, limits: Limits = LIMITS, **meta: Any
) -> Answer:
    arrays = {"in:x": np.asarray(x, np.float32), "in:n": np.asarray(n, np.int32)}
    return agent.call("emx", "run", {**META, **meta}, arrays=arrays, files=files, limits=limits)


def test_samples_are_run_one_by_one_and_their_outputs_are_stacked(agent: LeasedAgent, files: dict[str, Path]) -> None:
    answer = ran(agent, files)
    assert answer.arrays["out0"].tolist() == (2 * X).tolist()
    assert answer.arrays["out1"].tolist() == [7, 14]  # scalars of the model, which C has as [1]
    assert answer.arrays["out1"].dtype == np.int64
    assert answer.seconds["call"] >= answer.seconds["run"] > 0


def test_samples_of_a_batched_model_are_joined(agent: LeasedAgent, files: dict[str, Path]) -> None:
    x = np.arange(12, dtype=np.float32).reshape(4, 3)
    with pytest.raises(AgentFailure, match=r"input x is float32\[1, 3\], the program takes float32\[2, 3\]"):
        ran(agent, files, x, np.zeros((4, 1)), batched=True)


def test_a_single_run_takes_its_inputs_as_they_are(agent: LeasedAgent, files: dict[str, Path]) -> None:
    answer = ran(agent, files, X[0], N[0], whole=True)
    assert answer.arrays["out0"].tolist() == (2 * X[0]).tolist()


def test_counters_are_told_without_the_times_of_an_emulator(agent: LeasedAgent, files: dict[str, Path]) -> None:
    said = ran(agent, files).meta
    assert said["placement"]["timing"] == "emulated"
    assert "device_ns" not in said["counters"]
    assert "instructions" not in said["counters"]  # QEMU counts none for processes: absent, not zero


def test_the_program_stays_for_the_next_call_and_another_one_takes_its_place(
    agent: LeasedAgent, files: dict[str, Path], tmp_path: Path
) -> None:
    ran(agent, files)
    first = agent.hello["agent"]
    ran(agent, files)
    agent.reset(LIMITS)
    assert agent.hello["agent"] == first and agent.calls == 2
    other, described = program(tmp_path, "-O2")
    ran(agent, {"program.elf": other, "model.json": described})
    assert agent.hello["agent"] != first
    assert agent.hello["machine"]


@pytest.mark.parametrize(
    ("value", "symptom", "text", "number"),
    [
        (101, "crash", "SIGABRT", 6),
        (104, "crash", "SIGSEGV", 11),
        (105, "crash", "exit code 7", None),
        (103, "harness", "garbage", None),
    ],
    ids=["abort", "segmentation fault", "exit", "garbage"],
)  # fmt: skip
def test_a_program_that_fails_gives_its_symptom_and_the_next_lease_another_one(
    pool: AgentPool, files: dict[str, Path], value: int, symptom: str, text: str, number: int | None
) -> None:
    x = X.copy()
    x[1, 0, 0] = value  # the second sample
    with pool.lease("emx", role="run", board="native") as agent:
        with pytest.raises(AgentFailure, match=text) as caught:
            ran(agent, files, x)
        assert (caught.value.symptom, caught.value.signal) == (symptom, number)
        assert agent.lost
    with pool.lease("emx", role="run", board="native") as again:
        assert again is not agent
        assert ran(again, files).arrays["out0"].tolist() == (2 * X).tolist()


def test_a_program_that_hangs_is_ended_at_the_deadline(pool: AgentPool, files: dict[str, Path]) -> None:
    x = X.copy()
    x[0, 0, 0] = 102
    with pool.lease("emx", role="run", board="native") as agent:
        with pytest.raises(AgentFailure, match="took longer than") as caught:
            ran(agent, files, x, limits=Limits(0.5, 0))
        assert caught.value.symptom == "timeout"
        assert agent.lost


def test_all_samples_together_keep_to_one_limit(agent: LeasedAgent, files: dict[str, Path]) -> None:
    x, n = np.zeros((200_000, 2, 3), np.float32), np.zeros((200_000, 1), np.int32)
    with pytest.raises(AgentFailure) as caught:
        ran(agent, files, x, n, limits=Limits(0.3, 0))
    assert caught.value.symptom == "timeout"


def test_a_program_of_another_model_than_its_description_is_not_run(
    agent: LeasedAgent, files: dict[str, Path], tmp_path: Path
) -> None:
    described = json.loads(files["model.json"].read_text())
    other = tmp_path / "model.json"
    other.write_text(json.dumps({**described, "digest": "00" * 32}))
    with pytest.raises(AgentFailure, match="another digest") as caught:
        ran(agent, {**files, "model.json": other})
    assert caught.value.symptom == "harness"


def test_what_is_no_program_does_not_start(agent: LeasedAgent, files: dict[str, Path], tmp_path: Path) -> None:
    broken = tmp_path / "program.elf"
    broken.write_text("#!/bin/sh\necho nothing to say >&2\nexit 3\n")
    with pytest.raises(AgentFailure, match="did not start.*exit code 3") as caught:
        ran(agent, {**files, "program.elf": broken})
    assert caught.value.symptom == "harness"
    assert "nothing to say" in caught.value.detail


def test_an_artefact_without_a_program_is_refused_by_name(agent: LeasedAgent, files: dict[str, Path]) -> None:
    with pytest.raises(AgentFailure, match=r"emx made no program\.elf, but model\.json"):
        ran(agent, {"model.json": files["model.json"]})


@pytest.mark.parametrize("operation", ["compile", "rebuild", "evaluate"])
def test_other_operations_are_refused(agent: LeasedAgent, files: dict[str, Path], operation: str) -> None:
    with pytest.raises(AgentFailure, match=f"board native runs compiled programs: it cannot do '{operation}' of emx"):
        agent.call("emx", operation, META, files=files, limits=LIMITS)


def test_a_program_that_changed_after_it_was_made_is_not_run(agent: LeasedAgent, files: dict[str, Path]) -> None:
    from bench_plugin.reach.processes.given_files import GivenFile

    with pytest.raises(AgentFailure, match="the file changed"):
        agent.call(
            "emx", "run", META, arrays={"in:x": X, "in:n": N}, limits=LIMITS,
            files={"program.elf": GivenFile(files["program.elf"], "0" * 64), "model.json": files["model.json"]},
        )  # fmt: skip


def timed(agent: LeasedAgent, files: dict[str, Path], **plan: Any) -> Answer:
    arrays = {"in:x": X, "in:n": N}
    return agent.call("emx", "time", {**META, **plan}, arrays=arrays, files=files, limits=LIMITS)


def test_an_emulated_board_is_timed_without_seconds(agent: LeasedAgent, files: dict[str, Path]) -> None:
    answer = timed(agent, files, sampled=1, blocks=2, block_samples=3, seconds=5.0, block_seconds=0.1)
    assert answer.arrays["out0"].tolist() == (2 * X[:1]).tolist()
    assert answer.arrays["series:compute"].shape == (0,)
    assert answer.meta["timing"] == {"inputs": 2, "sampled": 1}


def test_a_board_with_a_clock_gives_its_own_times(pool: AgentPool, files: dict[str, Path]) -> None:
    with pool.lease("emx", role="time", board="native") as agent:
        agent._emulated = False  # the clock of this machine, as the program reads it
        answer = timed(agent, files, sampled=2, blocks=2, block_samples=3, seconds=5.0)
    said, series = answer.meta["timing"], answer.arrays["series:compute"]
    assert answer.arrays["out0"].tolist() == (2 * X).tolist()
    assert said["block_samples"] == [2, 3, 3] and series.shape == (8,)
    assert said["median"] == np.median(series) and 0 < said["median"] < 1.0
    assert said["first_inference"] > 0 and said["caps"] == []
    assert len(answer.meta["counters"]["device_ns"]) == 10  # with the warm-up


def test_a_plan_of_no_seconds_is_cut_and_says_so(pool: AgentPool, files: dict[str, Path]) -> None:
    with pool.lease("emx", role="time", board="native") as agent:
        agent._emulated = False
        said = timed(agent, files, sampled=1, blocks=2, block_samples=3, seconds=0.0).meta["timing"]
    assert said["block_samples"] == [1, 1]
    assert said["caps"] == ["a launch has a cap of 0 s: 2 samples of the board, not 6"]
