"""Entries by content: rows name artefacts by the hashes of their files, not by the recipe that made them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bench_plugin.pipeline.cache import versions
from bench_plugin.pipeline.cache.entry import Damaged, Entry, read
from bench_plugin.pipeline.cache.store import Cache


class Artefacts:
    """The finished stages of one name in a cache, by the content of their files. All records are read at first."""

    def __init__(self, cache: Cache, stage: str) -> None:
        self._cache = cache
        self._keys: dict[frozenset[tuple[str, str]], list[str]] = {}
        for version in versions.scan(cache.folder)[0]:
            if not version.counts:
                continue
            try:
                record = read(version.path, version.path.parent.name)
            except Damaged:  # whoever uses the entry drops it
                continue
            if record["stage"] == stage and record["failure"] is None:
                self._keys.setdefault(_content(record), []).append(version.path.parent.name)

    def find(self, digests: Mapping[str, str]) -> tuple[str, Entry] | None:
        """The recipe and the entry whose files are exactly these, SHA-256 by name; None where it is gone."""
        for key in self._keys.get(frozenset(digests.items()), ()):
            entry = self._cache.get(key)
            if entry is not None and {name: entry.digests[name] for name in entry.files} == dict(digests):
                return key, entry
        return None


def _content(record: Mapping[str, Any]) -> frozenset[tuple[str, str]]:
    return frozenset((name, record["contents"][file][1]) for name, file in record["files"].items())
