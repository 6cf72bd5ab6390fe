"""The host's times of requests: from a request to its outputs, and between the two answers of a handshake."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from bench_plugin.agent.contract.call import INPUTS
from bench_plugin.checks.performance.effort import Effort
from bench_plugin.domain.outcome import Symptom
from bench_plugin.pipeline.stages import Task
from bench_plugin.reach.deployment import deploy
from bench_plugin.reach.processes.client import Agent
from bench_plugin.reach.processes.leased_agent import AgentFailure, LeasedAgent

if TYPE_CHECKING:
    Series = np.ndarray[Any, np.dtype[np.float64]]

TIME, RUN = "time", "run"
DEPLOYED, CALLS = "a deployed model", "calls that open the artefact"


def _none() -> Series:
    return np.empty(0)


@dataclass(frozen=True)
class Requests:
    """Host seconds of one launch: ``system`` [n] from request to outputs, ``handshake`` [m]; ``by`` says of what."""

    system: Series = field(default_factory=_none)
    handshake: Series = field(default_factory=_none)
    by: str = ""


def taken(agent: LeasedAgent, task: Task, effort: Effort) -> Requests:
    """Times of requests for one sample, or one batch, to a model that is deployed with the agent.

    Where the adapter cannot keep a model ready, they are calls that open the artefact. Raises AgentFailure.
    """
    call = next(call for call in task.calls if call.operation == TIME)
    plan = effort.plan(0)
    meta = {name: value for name, value in call.meta.items() if name not in plan}
    batch = int(call.meta.get("batch", 1))
    once = bool(meta.get("whole")) or not call.arrays()
    example = dict(call.arrays()) if once else {name: values[:batch] for name, values in call.arrays().items()}
    if isinstance(agent, Agent) and example and not meta.get("values"):
        try:
            return _deployed(agent, task, meta, example, once, effort)
        except AgentFailure as error:
            if error.symptom != Symptom.UNSUPPORTED:
                raise

    def request() -> float:
        answer = agent.call(task.adapter, RUN, meta, arrays=example, files=task.files, limits=task.limits)
        return answer.seconds["call"]

    return Requests(_several(request, effort.system_calls, effort.system_seconds), by=CALLS)


def _deployed(
    agent: Agent, task: Task, meta: Mapping[str, Any], example: Mapping[str, Any], once: bool, effort: Effort
) -> Requests:
    """Times of round trips to a deployed model, and of its handshakes where they are asked for."""
    named = {name.removeprefix(f"{INPUTS}:"): values for name, values in example.items()}
    model = deploy(agent, task.adapter, meta, inputs=named, files=task.files, limits=task.limits)
    alone = not once and not meta.get("batched")
    sample = [named[name][0] if alone else named[name] for name in model.order]

    def request() -> float:
        began = time.perf_counter()
        model.infer(sample)
        return time.perf_counter() - began

    system = _several(request, effort.deployed_calls, effort.system_seconds)
    if not effort.handshakes:
        return Requests(system, by=DEPLOYED)
    handshake = _several(lambda: model.handshake(sample)[1], effort.handshakes, effort.system_seconds)
    return Requests(system, handshake, DEPLOYED)


def _several(request: Callable[[], float], most: int, seconds: float) -> Series:
    """Seconds of up to ``most`` requests in about ``seconds``, one at least; the first one before them is left out."""
    request()
    found: list[float] = []
    until = time.monotonic() + seconds
    while not found or (len(found) < most and time.monotonic() < until):
        found.append(request())
    return np.array(found)
