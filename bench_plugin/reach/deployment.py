"""A model that is deployed with an agent: it stays ready there, and a request carries one sample and nothing else."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench_plugin.agent import wire
from bench_plugin.agent.arrays import from_numpy, to_numpy
from bench_plugin.agent.contract.call import INPUTS, named_arrays
from bench_plugin.reach.processes.client import Agent
from bench_plugin.reach.processes.given_files import GivenFile
from bench_plugin.reach.processes.leased_agent import AgentFailure, Limits

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, Any]

NOTHING: Mapping[str, Any] = {}


@dataclass(frozen=True)
class Statistics:
    """``inferences`` since the model was deployed, the peak of resident memory, and each run of the model.

    ``nanoseconds`` is int64 [n], by the agent's clock, since the last time that statistics were asked for.
    """

    inferences: int
    peak_bytes: int
    nanoseconds: Array


class Deployment:
    """A deployed model. It holds until something else is deployed with the agent, or that is reset.

    ``order`` has the names of the inputs in the order in which the model takes them.
    """

    def __init__(self, agent: Agent, order: Sequence[str], limits: Limits) -> None:
        self._agent = agent
        self.order = tuple(order)
        self._limits = limits
        self._waiting = agent.patience(limits)

    def infer(self, inputs: Sequence[Array]) -> list[Array]:
        """The outputs [...] of one sample, whose ``inputs`` [...] are in order, in one round trip.

        Raises AgentFailure.
        """
        return self._agent.infer(inputs, self._limits, self._waiting)

    def handshake(self, inputs: Sequence[Array]) -> tuple[list[Array], float]:
        """The outputs [...] of one sample by the steps data, process and output, and the handshake in seconds.

        The handshake is the time on this host between the two answers to process: started, and finished.
        Raises AgentFailure.
        """
        self._agent.ask(wire.DATA, NOTHING, self._limits, [from_numpy(values) for values in inputs])
        began: list[float] = []
        self._agent.ask(wire.PROCESS, NOTHING, self._limits, started=lambda: began.append(time.perf_counter()))
        ended = time.perf_counter()
        if not began:
            raise AgentFailure("harness", "the agent did not say that it started to process")
        frame = self._agent.ask(wire.OUTPUT, NOTHING, self._limits)
        return [to_numpy(array) for array in frame.arrays], ended - began[0]

    def turn(self, calls: int, *, inner: int = 1, busy: float = 0.0) -> Array:
        """The seconds per inference of a turn, float64 [calls], on the samples that the model was deployed with.

        Each of ``calls`` is the mean over ``inner`` inferences, with ``busy`` seconds of work beside each of them
        inside the timed region. Raises AgentFailure.
        """
        asked = {"calls": calls, "inner": inner, "busy": round(busy * 1e9)}
        frame = self._agent.ask(wire.PROCESS, asked, self._limits)
        if [(one.dtype, tuple(one.shape)) for one in frame.arrays] != [("float64", (calls,))]:
            raise AgentFailure("harness", "the agent's answer to a turn is not as docs/protocol.md says")
        return to_numpy(frame.arrays[0])

    def statistics(self) -> Statistics:
        """What the agent counted. Raises AgentFailure."""
        frame = self._agent.ask(wire.STATS, NOTHING, self._limits)
        count, peak = frame.meta.get("inferences"), frame.meta.get("peak")
        if not isinstance(count, int) or not isinstance(peak, int) or [one.dtype for one in frame.arrays] != ["int64"]:
            raise AgentFailure("harness", "the agent's statistics are not as docs/protocol.md says")
        return Statistics(count, peak, to_numpy(frame.arrays[0]))


def deploy(
    agent: Agent, adapter: str, meta: Mapping[str, Any], *, inputs: Mapping[str, Array],
    files: Mapping[str, Path | GivenFile], limits: Limits,
) -> Deployment:  # fmt: skip
    """Deploy an artefact; ``meta`` is that of a RunCall, ``inputs`` [N, ...] examples of each input, one at least.

    Raises AgentFailure; with symptom ``unsupported`` where the adapter cannot keep a model ready.
    """
    agent.load(adapter, limits)
    agent.clean = False
    agent.memory_limit = limits.memory_bytes
    given = named_arrays(INPUTS, inputs)
    with agent.placed(adapter, "run", files, limits) as places:
        request = {"adapter": adapter, "meta": dict(meta), "arrays": list(given), "files": places}
        frame = agent.ask(wire.MODEL, request, limits, [from_numpy(values) for values in given.values()])
    order = frame.meta.get("arrays")
    if not isinstance(order, list) or sorted(map(str, order)) != sorted(given):
        raise AgentFailure("harness", "the agent's answer to model does not name the inputs")
    return Deployment(agent, [name.partition(":")[2] for name in order], limits)
