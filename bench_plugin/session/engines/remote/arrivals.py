"""What comes back from a worker: its outcome, with the files beside the run's results, and where it was computed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from bench_plugin.domain.outcome import Outcome
from bench_plugin.domain.paths import LOGS
from bench_plugin.results.series import add
from bench_plugin.session.engines.remote import messages
from bench_plugin.session.engines.remote.dispatch import Place


@dataclass(frozen=True)
class Arrival:
    """A computed cell; ``notes`` are remarks of the worker for a person."""

    outcome: Outcome
    notes: Sequence[str]


def arrived(answer: Mapping[str, Any], place: Place, host: str, lost: Sequence[str], folder: Path) -> Arrival:
    """Keep the files of an answer beside the results in ``folder``, and say in the outcome where it comes from.

    ``lost`` says how earlier attempts ended. Raises BenchError for a file whose content is not what its name says.
    """
    said = messages.read(answer["text"])
    outcome = messages.outcome_from(said["row"])
    log = ""
    for name, data in answer["files"].items():
        if name == LOGS:
            path = folder / LOGS / f"{said['key']}.log"
            path.write_bytes(data)
            log = str(path)
        else:
            add(folder, name, data)
    worker = {"name": place.name, "node": place.node, "host": host, "key": said["key"]}
    retry = {**outcome.retry, "workers": list(lost)} if lost else outcome.retry
    placement = {**outcome.placement, "worker": worker}
    return Arrival(replace(outcome, log=log, placement=placement, retry=retry), said["notes"])
