"""Times of a cell in two stored runs: slower, faster, the same, too noisy to say, or not comparable."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bench_plugin.compare.times import stored
from bench_plugin.domain.thresholds import FASTER, NOT_COMPARABLE, SAME, SLOWER, TOO_NOISY, Thresholds
from bench_plugin.report.comparison.likeness import differences
from bench_plugin.report.comparison.paired import Pair
from bench_plugin.report.entries import Entry

ORDER = (SLOWER, TOO_NOISY, NOT_COMPARABLE, SAME, FASTER)  # in which they are shown
STORED, IN_TURN = "stored runs", "in turn"


@dataclass(frozen=True)
class TimeChange:
    """The times of a cell that both runs timed. Seconds are medians over launches.

    ``d`` is the logarithm of the ratio, without the machine's drift: 0.03 is 3 % more; ``half_width`` that of its 95 %
    interval. ``effect`` is the smallest change that counts. ``drift`` is by how much the calibration workload changed,
    None where there is none. ``how`` says whether two stored runs were compared or head was measured against base in
    turn. ``reason`` says why there is no answer. ``same_artefact``: the same bytes were timed; None where unknown.
    """

    verdict: str
    cell: Mapping[str, Any]
    before: float
    after: float
    d: float | None
    half_width: float | None
    effect: float
    drift: float | None
    launches: tuple[int, int]
    how: str
    reason: str
    same_artefact: bool | None
    key: str
    versions: Mapping[str, tuple[str, str]]
    repro: tuple[str, ...] = ()


def change(
    pair: Pair, thresholds: Thresholds, headers: tuple[Mapping[str, Any], Mapping[str, Any]]
) -> TimeChange | None:
    """The two times of a cell; None where one of the runs has none."""
    base, head = _compute(pair.base), _compute(pair.head)
    if not base.get("median") or not head.get("median"):
        return None
    effect = thresholds.slowdown(pair.head.cell, (pair.head_row.get("settings") or {}).get("max_slowdown"))
    launches = (len(base.get("launch_medians") or ()), len(head.get("launch_medians") or ()))
    own: dict[str, Any] = {
        "cell": pair.head.cell, "before": float(base["median"]), "after": float(head["median"]), "effect": effect,
        "launches": launches, "key": pair.head.key, "versions": pair.versions,
        "same_artefact": _same_artefact(pair.base, pair.head), "repro": tuple(pair.head_row.get("repro") or ()),
    }  # fmt: skip
    if (turned := _in_turn(pair, headers[0])) is not None:
        return TimeChange(**{**own, **turned})
    without: dict[str, Any] = {"d": None, "half_width": None, "drift": None, "how": STORED}
    if why := differences(pair, headers):
        return TimeChange(verdict=NOT_COMPARABLE, reason=why, **own, **without)
    if min(launches) < 2:
        text = f"{launches[0]} and {launches[1]} launches; two on each side are the least"
        return TimeChange(verdict=TOO_NOISY, reason=text, **own, **without)
    which = "launch_minima" if base.get("launch_minima") and head.get("launch_minima") else "launch_medians"
    calibrations = _calibrations(pair)
    found = stored.compared(
        base[which], head[which], base_calibration=calibrations[0], head_calibration=calibrations[1], effect=effect
    )
    return TimeChange(
        verdict=found.verdict, d=found.d, half_width=found.half_width, drift=found.drift, how=STORED,
        reason=_why(found, launches) if found.verdict == TOO_NOISY else "", **own,
    )  # fmt: skip


def _in_turn(pair: Pair, base: Mapping[str, Any]) -> dict[str, Any] | None:
    """What the head's row says of having been measured in turn with the artefact of this very base run."""
    said = pair.head.numbers.get("against") or {}
    if said.get("d") is None or not base.get("run") or said.get("run") != base["run"]:
        return None
    return {
        "verdict": said["verdict"], "d": said["d"], "half_width": said["half_width"], "drift": None, "how": IN_TURN,
        "before": said["base"]["median"], "after": said["head"]["median"], "reason": said.get("reason", ""),
        "launches": (said["launches"], said["launches"]), "effect": said["effect"],
    }  # fmt: skip


def _why(found: stored.StoredComparison, launches: tuple[int, int]) -> str:
    if found.drift is not None and abs(found.drift) > stored.MOST_DRIFT:
        return f"the calibration workload itself changed by {found.drift:+.0%}: the machine is in another state"
    wide = f"the 95 % interval is +/- {found.half_width:.1%}"
    return f"{wide}, p = {found.p:.2g} over {launches[0]} and {launches[1]} launches"


def _calibrations(pair: Pair) -> tuple[Sequence[float], Sequence[float]]:
    """The seconds of the calibration workload by launch, where it was the same workload in both; else none."""
    found = [(one.numbers.get("timing") or {}).get("calibration") or {} for one in (pair.base, pair.head)]
    alike = all(found) and all(found[0].get(name) == found[1].get(name) for name in ("workload", "python"))
    return (found[0]["seconds"], found[1]["seconds"]) if alike else ((), ())


def _same_artefact(base: Entry, head: Entry) -> bool | None:
    digests = [_digests(one) for one in (base, head)]
    return digests[0] == digests[1] if all(digests) else None


def _digests(one: Entry) -> dict[str, str]:
    """SHA-256 of the artefact's files by name."""
    files = (one.artefacts or {}).items()
    return {name: file["sha256"] for name, file in files if isinstance(file, Mapping) and "sha256" in file}


def _compute(one: Entry) -> Mapping[str, Any]:
    return (one.numbers.get("timing") or {}).get("compute") or {}
