"""A deployed model: it stays ready between requests, which carry one sample each and nothing else.

An inference is either one request (run), or the steps of the published protocol: data, process, output. A process with
``calls`` is a turn: several timed inferences of the samples that the model was deployed with.
"""

from __future__ import annotations

import time
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence

from bench_plugin.agent import wire
from bench_plugin.agent.adapter import Unsupported
from bench_plugin.agent.arrays import from_numpy, to_numpy
from bench_plugin.agent.channel import Channel
from bench_plugin.agent.measure import PeakMemory
from bench_plugin.agent.repeating import Repeating, form_of
from bench_plugin.agent.store import Refused

Run = Callable[[List[Any]], List[Any]]
Invokes = Callable[[], Sequence[Callable[[], Any]]]
Deploy = Callable[[Run, Sequence[Any], Invokes], None]
SERIES = 1 << 16  # durations that are kept until the host asks for them


class InferenceError(Exception):
    """What a model raised, which is the cause, in the request with the number ``call``."""

    def __init__(self, call: int) -> None:
        super().__init__(call)
        self.call = call


class Deployed:
    """The model of one connection; it answers run, data, process, output and stats.

    Raises Refused for a request out of order, and what the model raises.
    """

    def __init__(self, channel: Channel, begin: Callable[[], None]) -> None:
        self._channel = channel
        self._begin = begin  # called when a request begins
        self._run: Optional[Run] = None
        self._examples: Sequence[Any] = ()
        self._data: Optional[List[wire.Array]] = None
        self._outputs: Optional[List[wire.Array]] = None
        self._nanoseconds: List[int] = []
        self._count = 0
        self._invokes: Optional[Invokes] = None
        self._turns: Sequence[Callable[[], Any]] = ()

    def keep(self, run: Run, inputs: Sequence[Any], invokes: Optional[Invokes] = None) -> None:
        """Keep the function that runs one sample, and the ``inputs`` [N, ...] that it was described with.

        ``invokes`` makes the runtime's own calls on each of these samples, which turns time.
        """
        self._run, self._examples, self._invokes = run, inputs, invokes

    def order(self, given: Mapping[str, wire.Array]) -> List[str]:
        """The names of the arrays [...] of the call, in the order in which the model takes them.

        Raises Unsupported where the adapter keeps no function, or changes its inputs before it runs it.
        """
        if self._run is None:
            raise Unsupported("the adapter looks at outputs itself, so its models cannot be kept ready")
        places = {_address(to_numpy(array)): name for name, array in given.items()}
        found = [places.get(_address(values), "") for values in self._examples]
        self._examples = ()
        if len(given) == 1 and len(found) == 1:
            return list(given)
        if "" in found or len(set(found)) != len(found):
            raise Unsupported("the adapter changes its inputs before it runs the model, so it cannot be kept ready")
        return found

    def run(self, frame: wire.Frame) -> None:
        """Answer inputs with outputs, [...] each as the model takes and gives them; and further ones of the same form.

        Raises InferenceError, with the number of the request, for what the model raises.
        """
        call, inputs = frame.call, [to_numpy(array) for array in frame.arrays]
        repeating: Optional[Repeating] = None
        while True:
            try:
                outputs = list(self._inference(inputs))
            except Exception as error:
                raise InferenceError(call) from error
            if repeating is None:
                sent, received = form_of(wire.RESULT, outputs), form_of(wire.RUN, inputs)
                if sent is None or received is None:
                    self._channel.send(wire.RESULT, call, None, [from_numpy(one) for one in outputs])
                    return
                repeating = Repeating(self._channel, sent, received)
            elif not repeating.sent.fits(outputs):
                self._channel.send(wire.RESULT, call, None, [from_numpy(one) for one in outputs])
                return
            inputs = []  # so that their memory is used for the next ones
            request = repeating.next_request(outputs, call)
            if request is None:
                return
            call, inputs = request
            self._begin()

    def answer(self, frame: wire.Frame) -> None:
        """Answer one step of an inference, or the question for statistics."""
        if frame.kind == wire.DATA:
            self._data, self._outputs = list(frame.arrays), None
            self._channel.send(wire.OK, frame.call)
        elif frame.kind == wire.PROCESS and "calls" in frame.meta:
            self._channel.send(wire.OK, frame.call, None, [self._turn(frame.meta)])
        elif frame.kind == wire.PROCESS:
            if self._data is None:
                raise Refused("there is no data to process: send data first")
            data, self._data = self._data, None
            self._channel.send(wire.OK, frame.call, {"process": "started"})
            self._outputs = [from_numpy(values) for values in self._inference([to_numpy(array) for array in data])]
            self._channel.send(wire.OK, frame.call, {"process": "finished"})
        elif frame.kind == wire.OUTPUT:
            if self._outputs is None:
                raise Refused("there is no output: send data and process first")
            outputs, self._outputs = self._outputs, None
            self._channel.send(wire.OK, frame.call, None, outputs)
        else:
            self._channel.send(wire.OK, frame.call, self._statistics(), [self._series()])

    def cancel(self) -> bool:
        """Drop data and outputs that nobody has taken; returns whether there were any."""
        had = self._data is not None or self._outputs is not None
        self._data = self._outputs = None
        return had

    def _turn(self, meta: Mapping[str, Any]) -> wire.Array:
        """The seconds per inference of a turn, float64 [calls]. Raises Refused for a plan that is not valid."""
        from bench_plugin.agent.toolkit.turns import TurnPlan, turn

        if self._invokes is None:
            raise Refused("no model is deployed that can take turns")
        try:
            plan = TurnPlan.of(meta)
        except ValueError as error:
            raise Refused("process: %s" % error) from None
        if not self._turns:
            self._turns = self._invokes()
        seconds = turn(self._turns, plan)
        self._count += plan.calls * plan.inner
        return wire.Array("float64", (len(seconds),), seconds.tobytes())

    def _inference(self, xs: List[Any]) -> List[Any]:
        if self._run is None:
            raise Refused("no model is deployed")
        began = time.perf_counter_ns()
        ys = self._run(xs)
        took = time.perf_counter_ns() - began
        self._count += 1
        if len(self._nanoseconds) < SERIES:
            self._nanoseconds.append(took)
        return ys

    def _statistics(self) -> Dict[str, Any]:
        return {"inferences": self._count, "peak": PeakMemory().read()}

    def _series(self) -> wire.Array:
        """The nanoseconds of the model's own runs since the last time, int64 [n], at most SERIES."""
        import numpy as np

        found, self._nanoseconds = np.array(self._nanoseconds, dtype=np.int64), []
        return from_numpy(found)


def _address(values: Any) -> int:
    address: int = values.__array_interface__["data"][0]
    return address
