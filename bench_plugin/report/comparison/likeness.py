"""Whether the times of two rows may be compared: the same machine or board, the same conditions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from bench_plugin.report.comparison.paired import Pair, differing
from bench_plugin.report.entries import Entry
from bench_plugin.report.figures import is_emulated

HOST = ("architecture", "processor", "libc", "cores", "isa", "variables")  # what a digest of the host is made of
BOARD = ("name", "kind", "machine", "machine_id")
CONDITIONS = ("threads", "affinity", "allocator")
STATE = ("governor", "turbo", "smt")


def differences(pair: Pair, headers: tuple[Mapping[str, Any], Mapping[str, Any]]) -> str:
    """What differs between the places of two rows, so that their times say nothing; empty where they are alike."""
    return "; ".join(_differences(pair, headers))


def board_differences(pair: Pair) -> str:
    """What differs between the boards of two rows; empty where both ran on the same one, or on none."""
    return "; ".join(_said("board", _board(pair.base), _board(pair.head)))


def _differences(pair: Pair, headers: tuple[Mapping[str, Any], Mapping[str, Any]]) -> Iterator[str]:
    if is_emulated(pair.base) or is_emulated(pair.head):
        yield "an emulated board has no times"
    yield from _said("board", _board(pair.base), _board(pair.head))
    if not _board(pair.head):
        yield from _hosts(pair, headers)
    yield from _said("", *(_some(_timing(one).get("conditions"), CONDITIONS) for one in (pair.base, pair.head)))
    yield from _said("machine", *(_some(one.numbers.get("machine"), STATE) for one in (pair.base, pair.head)))


def _hosts(pair: Pair, headers: tuple[Mapping[str, Any], Mapping[str, Any]]) -> Iterator[str]:
    """The facts of the two hosts that differ; that they differ, where the rows say no more."""
    digests = [row.get("host") or "" for row in (pair.base_row, pair.head_row)]
    machines = [(_timing(one).get("calibration") or {}).get("machine", "") for one in (pair.base, pair.head)]
    if digests[0] != digests[1]:
        facts = [dict(header.get("host") or {}) for header in headers]
        fits = all(one.get("digest") == digest for one, digest in zip(facts, digests, strict=True))
        said = list(_said("host", *(_some(one, HOST) for one in facts))) if fits else []
        yield from said or [f"host {digests[0] or 'unknown'} and {digests[1] or 'unknown'}"]
    elif all(machines) and machines[0] != machines[1]:
        yield f"machine id {machines[0][:12]} and {machines[1][:12]}"


def _said(what: str, old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[str]:
    for name, (before, after) in differing(old, new).items():
        shown = (f"{before or 'none'} and {after or 'none'}") if max(len(before), len(after)) <= 60 else "not the same"
        yield f"{what} {name}: {shown}".strip()


def _board(one: Entry) -> dict[str, Any]:
    return _some((one.placement or {}).get("board"), BOARD)


def _some(found: Mapping[str, Any] | None, names: tuple[str, ...]) -> dict[str, Any]:
    return {name: found[name] for name in names if name in found} if found else {}


def _timing(one: Entry) -> Mapping[str, Any]:
    return one.numbers.get("timing") or {}
