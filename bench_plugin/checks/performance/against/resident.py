"""Launches of both sides that stay deployed side by side on this machine, of which one at a time takes its turn."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

from bench_plugin.agent.contract.call import INPUTS
from bench_plugin.checks.performance.against.sides import Side
from bench_plugin.compare.times import turns
from bench_plugin.compare.times.turns import ORDER, Compared, Samples
from bench_plugin.reach.deployment import Deployment, deploy
from bench_plugin.reach.processes.client import Agent
from bench_plugin.reach.processes.leased_agent import AgentFailure
from bench_plugin.reach.processes.supervisor import AgentPool

SIDE_BY_SIDE = "side by side"
WARM_CALLS = 5
LEAST_SECONDS = 5.0  # of turns, also where the launches took long to start


@dataclass(frozen=True)
class Measured:
    """A finished comparison: how it was taken, its rounds and seconds, and the samples of all launches."""

    how: str
    samples: Samples
    compared: Compared
    rounds: int
    launches: int
    calls: int
    inner: int
    seconds: float
    start_seconds: float


def in_turn(pool: AgentPool, sides: Mapping[str, Side], effect: float, seconds: float) -> Measured:
    """Measure both sides in turn; ``seconds`` is about what an inference takes, ``effect`` what counts as a change.

    The caller has the machine alone. Raises AgentFailure where a launch fails, with the symptom ``unsupported`` where
    the adapter cannot keep a model ready, EnvironmentMissing where a toolchain cannot be made.
    """
    began = time.monotonic()
    plan = turns.turn_of(seconds)
    with _launched(pool, sides) as launches:
        started = time.monotonic()
        most = max(turns.MOST_SECONDS, started - began + LEAST_SECONDS)
        samples, rounds = Samples(), 0
        while True:
            round_began = time.monotonic()
            for place in turns.order_of(rounds):
                side = sides[ORDER[place]]
                taken = launches[place].turn(plan.calls, inner=plan.inner, busy=side.busy)
                samples.add(place, list(taken), plan.dropped)
            rounds += 1
            now = time.monotonic()
            found = samples.compared(effect)
            if turns.enough(rounds, found.half_width, effect):
                break
            if turns.over(rounds, now - began, now - round_began, most):
                break
    return Measured(
        SIDE_BY_SIDE, samples, found, rounds, len(ORDER) // 2, plan.calls, plan.inner, time.monotonic() - began,
        started - began,
    )  # fmt: skip


@contextmanager
def _launched(pool: AgentPool, sides: Mapping[str, Side]) -> Iterator[list[Deployment]]:
    """A fresh process for each launch, started side by side, with the model deployed and warm; ended with the context.

    Raises what the first launch that fails raises.
    """
    with ExitStack() as stack, ThreadPoolExecutor(len(ORDER), "bench-launch") as threads:
        waiting = [threads.submit(_launch, stack, pool, sides[side], place) for place, side in enumerate(ORDER)]
        failed = [error for one in waiting if (error := one.exception()) is not None]
        if failed:
            raise failed[0]
        launches = [one.result() for one in waiting]
        for launch in launches:  # one at a time, as later
            launch.turn(WARM_CALLS)
        yield launches


def _launch(stack: ExitStack, pool: AgentPool, side: Side, place: int) -> Deployment:
    """One launch. Its threads may not spin while they wait: seven others would pay for that."""
    task = side.task
    agent = stack.enter_context(pool.lease(task.toolchain, role=f"turn {place}", fresh=True))
    stack.callback(agent.close)
    call = task.calls[0]
    given = {name.removeprefix(f"{INPUTS}:"): values for name, values in call.arrays().items()}
    if not isinstance(agent, Agent) or call.meta.get("values") or not given:
        raise AgentFailure("unsupported", "the model cannot be kept ready with these inputs")
    return deploy(agent, task.adapter, call.meta, inputs=given, files=task.files, limits=task.limits)
