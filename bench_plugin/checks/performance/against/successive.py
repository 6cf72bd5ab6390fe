"""Launches one after the other, for boards, which have one agent at a time, and for what cannot stay deployed.

Each launch is a fresh agent that takes a short timed run; the order is ABBAABBA, every other round in reverse.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np

from bench_plugin.checks.performance.against.resident import Measured
from bench_plugin.checks.performance.against.sides import Side
from bench_plugin.checks.performance.launches import COMPUTE, RUN
from bench_plugin.checks.performance.requests import TIME
from bench_plugin.compare.times import turns
from bench_plugin.compare.times.turns import ORDER, Samples
from bench_plugin.pipeline.cell_run import CellRun
from bench_plugin.pipeline.stages import Done, Task, perform
from bench_plugin.reach.processes.leased_agent import AgentFailure, LeasedAgent, Limits

ONE_BY_ONE = "one after the other"
BRIEF = {
    "sampled": 1, "blocks": 5, "block_seconds": 0.05, "block_samples": 5, "seconds": 0.5, "warmup_seconds": 0.2,
}  # fmt: skip
MOST_ROUNDS = 3
MOST_SECONDS = 60.0


def in_turn(run: CellRun, sides: Mapping[str, Side], effect: float, board: str, plan: Mapping[str, float]) -> Measured:
    """Measure both sides in fresh launches on this machine, or on ``board``.

    ``plan`` are the fields of a TimeCall that hold beside those of BRIEF. The caller has the machine alone. Raises
    AgentFailure where a launch fails, EnvironmentMissing where a toolchain cannot be made.
    """
    began = time.monotonic()
    order = [ORDER[place] for number in range(MOST_ROUNDS) for place in turns.order_of(number)]
    samples, rounds = Samples(order), 0
    tasks = {name: _timed(side.task, {**BRIEF, **plan}) for name, side in sides.items()}
    while True:
        round_began = time.monotonic()
        for place in range(rounds * len(ORDER), (rounds + 1) * len(ORDER)):
            task = tasks[order[place]]
            done = run.recorder.apart(run.cell, f"in turn, launch {place + 1}", task, _performed(task), only=board)
            samples.add(place, _seconds(done))
        rounds += 1
        now = time.monotonic()
        found = samples.compared(effect)
        done_enough = found.half_width <= turns.WANTED * effect
        if done_enough or rounds == MOST_ROUNDS or now - began + (now - round_began) > MOST_SECONDS:
            break
    return Measured(
        ONE_BY_ONE, samples, found, rounds, rounds * len(ORDER) // 2, int(BRIEF["block_samples"]), 1,
        time.monotonic() - began, 0.0,
    )  # fmt: skip


def _timed(task: Task, plan: Mapping[str, float]) -> Task:
    calls = tuple(
        replace(call, operation=TIME, meta={**call.meta, **plan}) if call.operation == RUN else call
        for call in task.calls
    )
    return replace(task, calls=calls, role=TIME, affinity="")


def _performed(task: Task) -> Callable[[LeasedAgent, Limits], Done]:
    def make(agent: LeasedAgent, limits: Limits) -> Done:
        return perform(agent, replace(task, limits=limits))

    return make


def _seconds(done: Done) -> list[float]:
    """Seconds per inference of a launch: its calls, of a fast model its blocks.

    Raises AgentFailure where it failed, or took no time.
    """
    if done.failure is not None:
        failure = done.failure
        raise AgentFailure(str(failure.symptom), failure.message, stage=str(failure.stage), detail=failure.detail)
    said = done.meta[TIME].get("timing", {})
    if int(said.get("inner") or 1) > 1:
        return [float(one) for one in said["block_medians"]]
    found = [float(one) for one in np.asarray(done.arrays.get(COMPUTE, ()), dtype=np.float64)]
    if not found:
        raise AgentFailure("unsupported", "the board has no clock of its own, so no time was taken")
    return found
