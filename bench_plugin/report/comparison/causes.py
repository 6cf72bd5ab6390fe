"""Changes of status by their cause: cells of one check and compiler that went the same way and say the same."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from bench_plugin.domain.outcome import Status
from bench_plugin.domain.texts.messages import normalised
from bench_plugin.report.comparison.changes import StatusChange
from bench_plugin.results.signature import difference


@dataclass(frozen=True)
class Cause:
    """Changes that have a cause in common, in the order in which they were found: one at least."""

    changes: Sequence[StatusChange]

    @property
    def first(self) -> StatusChange:
        """The change that stands for all."""
        return self.changes[0]

    @property
    def others(self) -> tuple[str, ...]:
        """The models of the other cells, each once."""
        models = dict.fromkeys(str(one.cell.get("model", "")) for one in self.changes[1:])
        return tuple(name for name in models if name)


def causes(found: Iterable[StatusChange]) -> Iterator[Cause]:
    """The causes, each where its first change stands."""
    groups: dict[tuple[object, ...], list[StatusChange]] = {}
    for one in found:
        groups.setdefault(_cause(one), []).append(one)
    return map(Cause, groups.values())


def _cause(one: StatusChange) -> tuple[object, ...]:
    axes = tuple(one.cell.get(axis) for axis in ("check", "framework", "compiler", "precision", "target", "board"))
    said = difference(one.reason) if one.after.startswith(Status.MISMATCH) else normalised(one.reason)
    return (*axes, one.before, one.after, tuple(one.versions.items()), said)
