"""What pictures are made of: the entries of a run and its titles, with what several pictures need computed once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from types import MappingProxyType
from typing import Any

from bench_plugin.report.entries import Entry
from bench_plugin.report.pictures.timed import Timed, timed_of

NO_TITLES: Mapping[str, Any] = MappingProxyType({})


class Results:
    """Entries of one run or of several, and the titles of a header (``models``, ``tasks``), which may be empty."""

    def __init__(self, entries: Sequence[Entry], titles: Mapping[str, Any] = NO_TITLES) -> None:
        self.entries = tuple(entries)
        self.titles = titles

    @cached_property
    def timed(self) -> tuple[Timed, ...]:
        """The deployments that have a time. Emulated boards have none, and are left out.

        Where they are of several hosts, the host is a part of the platform: times are compared on like machines only.
        """
        found = [
            replace(found, number=number)
            for number, one in enumerate(self.entries)
            if (found := timed_of(one, self.titles)) is not None
        ]
        if len({one.entry.host for one in found}) < 2:
            return tuple(found)
        return tuple(replace(one, platform=f"{one.platform} @ {one.entry.host or 'unknown host'}") for one in found)
