"""A timed run with what is recorded beside it: series of sensors, power, and whether outputs repeat their bits."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Dict, Sequence

from bench_plugin.agent.telemetry.recording import Series, about, arrays, sampling
from bench_plugin.agent.toolkit.determinism import Repeats
from bench_plugin.agent.toolkit.timing import Bind, Run, Timed, Values, timed

if TYPE_CHECKING:
    from bench_plugin.agent.contract import TimeCall

REPEATED = 8  # samples whose outputs are made again, at most
REPEAT_SECONDS = 1.0  # for that, about


def recorded(call: TimeCall, bind: Bind, run: Run, samples: Sequence[Values]) -> Timed:
    """Time the model on ``samples``, inputs of any shape [...], by :func:`.timing.timed`, beside a sampler of sensors.

    Its figures have ``telemetry`` (docs/results.md, "Series over time") and ``repeats`` beside those of the times.
    Raises what the runtime raises.
    """
    with sampling(meter=call.meter) as series:
        found = timed(call, bind, samples)
        if call.power_seconds:
            _windows(series, bind, samples, call.power_seconds)
    if call.place.before is not None:
        series.begin_with(call.place.before)
    found.said["telemetry"] = about(series)
    found.said["repeats"] = _repeats(found, run, samples)
    found.series = arrays(series)
    return found


def _windows(series: Series, bind: Bind, samples: Sequence[Values], seconds: float) -> None:
    """Mark windows with inferences and without for the figures of power, on a machine with a meter."""
    if not series.metered:
        return
    invokes = [bind(xs)[0] for xs in samples]
    clock, count, busy = time.perf_counter, 0, 0.0
    with series.phase("full") as phase:
        until = clock() + seconds
        while clock() < until:
            begin = clock()
            for invoke in invokes:
                invoke()
            busy += clock() - begin
            count += len(invokes)
        phase.update(inferences=count, busy=busy)
    series.rest("idle", seconds)


def _repeats(outputs: Sequence[Values], run: Run, samples: Sequence[Values]) -> Dict[str, object]:
    """Whether ``run`` gives the outputs of timed inferences again, of the first samples."""
    repeats = Repeats()
    until = time.monotonic() + REPEAT_SECONDS
    for index, values in enumerate(outputs[:REPEATED]):
        repeats.add(index, values)
        if time.monotonic() < until:
            repeats.add(index, run(list(samples[index])))
    return repeats.figures()
