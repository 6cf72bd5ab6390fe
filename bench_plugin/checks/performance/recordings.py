"""What a row says of what was recorded beside its times: series, power, machine, and determinism."""

from __future__ import annotations

from typing import Any

import numpy as np

from bench_plugin.checks.performance.launches import Launch, Launches
from bench_plugin.compare.times.determinism import across, over_launches, over_positions, tails
from bench_plugin.compare.times.recorded import Recorded, recorded


def recordings(taken: Launches) -> Recorded:
    """The series of all launches, joined; the launch with the windows of power is the last of them."""
    return recorded([(one.said.get("telemetry") or {}, one.done.arrays) for one in _whole(taken, power=True)])


def determinism(taken: Launches, *, threads: int, batch: int) -> dict[str, Any]:
    """``numbers["determinism"]`` of a row (docs/results.md); what was not measured is absent.

    ``threads`` is the number of threads of all launches but that with one thread, ``batch`` the samples of a call.
    """
    launches = _whole(taken)
    repeats = [one.said["repeats"] for one in launches if one.said.get("repeats")]
    medians = [float(one.said["median"]) for one in launches if one.said.get("median")]
    singles = np.concatenate([one.compute for one in launches]) if launches else np.empty(0)
    digests = {f"launch {index}": one["digest"] for index, one in enumerate(repeats, 1)}
    found = {
        "repeats": _repeats(repeats), "launches": across(digests) if digests else {},
        "threads": _threads(taken, repeats, threads), "positions": _positions(taken, batch),
        "tails": tails(singles), "spread": over_launches(medians),
    }  # fmt: skip
    return {name: one for name, one in found.items() if one}


def _threads(taken: Launches, repeats: list[dict[str, Any]], threads: int) -> dict[str, Any]:
    """Whether one thread gives the bits of the first launch; nothing where one of the two gave none."""
    single = (taken.one_thread.said.get("repeats") or {}) if taken.one_thread else {}
    if not repeats or "digest" not in single:
        return {}
    return across({f"threads: {threads}": repeats[0]["digest"], "threads: 1": single["digest"]})


def _positions(taken: Launches, batch: int) -> dict[str, Any]:
    """Whether samples gave the bits of the last launch at another position; nothing where one of the two gave none."""
    if taken.moved is None or taken.moved.done.failure is not None or taken.last.failure is not None:
        return {}
    first, other = (
        {name: values for name, values in done.arrays.items() if name.startswith("out")}
        for done in (taken.last, taken.moved.done)
    )
    return over_positions(first, other, batch)


def _repeats(launches: list[dict[str, Any]]) -> dict[str, Any]:
    """The repeats of all launches together; ``digest`` is that of the first one, to compare with other rows."""
    if not launches:
        return {}
    found: dict[str, Any] = {"compared": sum(one["compared"] for one in launches), "digest": launches[0]["digest"]}
    said = [one["identical"] for one in launches if "identical" in one]
    if said:
        found["identical"] = all(said)
    differing = sorted({sample for one in launches for sample in one.get("samples", ())})
    if differing:
        found.update(differ=sum(one.get("differ", 0) for one in launches), samples=differing)
    return found


def _whole(taken: Launches, *, power: bool = False) -> list[Launch]:
    """The launches that did not fail and have figures."""
    every = [*taken.launches, *([taken.power] if power and taken.power else [])]
    return [one for one in every if one.done.failure is None and one.said]
