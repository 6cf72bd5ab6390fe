"""One row of a results file as reports show it, and what all pages say of rows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bench_plugin.domain.axes import AXES
from bench_plugin.domain.compiler_name import CompilerName
from bench_plugin.report.statuses import FAILED, PROGRESS, SLOWER, severity

Place = frozenset[tuple[str, Any]]  # the axes of a cell with their values
AND = " and "  # between values of which a header of several runs has more than one


@dataclass(frozen=True)
class Entry:
    """``error`` is E against the float64 reference; ``converted`` what older grids called supported.

    ``result`` is what pytest said: passed, failed, xfailed, skipped; empty where there was no item. ``unverified`` is
    the kind of an unverified cell; ``expected`` and ``link`` are the cause of a known failure, empty for every other
    cell.
    """

    status: str
    reason: str
    key: str
    error: float | None
    tolerance: float | None
    converted: bool
    expected: str
    flags: tuple[str, ...]
    stage: str
    symptom: str
    cell: Mapping[str, Any]
    timings: Mapping[str, float]
    peaks: Mapping[str, int]
    versions: Mapping[str, str]
    numbers: Mapping[str, Any]
    result: str
    cached: bool = False
    placement: Mapping[str, Any] | None = None
    artefacts: Mapping[str, Any] | None = None
    unverified: str = ""
    link: str = ""
    repro: tuple[str, ...] = ()  # pytest's arguments that run the cell alone
    host: str = ""  # the digest of the host that computed it

    @property
    def unconfirmed(self) -> bool:
        """Whether a conversion succeeded without its numbers being verified: where the two vocabularies differ."""
        return self.converted and self.status != "supported"

    @property
    def failed(self) -> bool:
        """Whether pytest's item failed."""
        return self.result == "failed"

    @property
    def slower(self) -> bool:
        """Whether its time, measured in turn with that of another run's artefact, is slower (docs/comparison.md)."""
        return (self.numbers.get("against") or {}).get("verdict") == SLOWER

    @property
    def needed(self) -> float | None:
        """The share of the tolerance that was used; of rows that do not say it, E over its tolerance."""
        said = self.numbers.get("needed")
        if isinstance(said, int | float):
            return float(said)
        return self.error / self.tolerance if self.error is not None and self.tolerance else None

    @property
    def shown(self) -> str:
        """The status that colours it: a red item of pytest is never green here."""
        if not self.failed or self.status in FAILED:
            return self.status
        return SLOWER if self.slower else PROGRESS


def entry(row: Mapping[str, Any]) -> Entry:
    """A ``cell`` or ``declared`` row."""
    numbers = row.get("numbers") or {}
    result = _result(row)
    # Rows of earlier versions name the cause of a known failure also where the cell failed in another way.
    expected = (row.get("expected") or {}) if result == "xfailed" else {}
    return Entry(
        status=row["status"],
        reason=row.get("reason", ""),
        key=row.get("key", ""),
        error=numbers.get("E"),
        tolerance=numbers.get("tolerance_E"),
        converted=bool(row.get("converted")),
        expected=expected.get("reason", ""),
        flags=tuple(row.get("flags", ())),
        stage=row.get("stage") or "",
        symptom=row.get("symptom") or "",
        cell=row["cell"],
        timings=row.get("timings") or {},
        peaks=row.get("peaks") or {},
        versions=row.get("versions") or {},
        numbers=numbers,
        result=result,
        cached=bool(row.get("stages_cached")),
        placement=row.get("placement") or {},
        artefacts=row.get("artefacts") or {},
        unverified=row.get("unverified") or "",
        link=expected.get("link", ""),
        repro=tuple(row["repro"]) if isinstance(row.get("repro"), list) else (),
        host=str(row.get("host") or ""),
    )


def _result(row: Mapping[str, Any]) -> str:
    """pytest's word; rows of older versions do not say it, but what it followed from."""
    if not row.get("key"):
        return ""
    if "result" in row:
        return str(row["result"])
    if row["status"] in FAILED:
        return "xfailed" if row.get("expected") else "failed"
    return "skipped" if row["status"] != "supported" else "failed" if row.get("expected") else "passed"


def absent(status: str, cell: Mapping[str, Any]) -> Entry:
    """What stands in a grid for a cell that has no row."""
    return entry({"status": status, "cell": cell})


def place_of(cell: Mapping[str, Any]) -> Place:
    """What says which cell it is, from run to run, in whatever order its axes are written."""
    return frozenset(cell.items())


def worst_entry(entries: Iterable[Entry]) -> Entry:
    """The worst of several that share a place; those that were computed come before those that were only declared."""
    return min(entries, key=lambda one: (not one.key, severity(one.shown)))


def heading(name: str, titles: Mapping[str, Mapping[str, Any]]) -> str:
    """How a framework or compiler is called: title, version, and the backend where one was chosen."""
    base, backend = CompilerName.parse(name, titles)
    row = titles.get(base)
    if row is None:
        return name
    title = " ".join(part for part in (row.get("title", base), row.get("version", "")) if part)
    return f"{title} [{backend}]" if backend else title


def of_host(rows: Sequence[Mapping[str, Any]]) -> Sequence[Mapping[str, Any]]:
    """The rows of the host, for checks that run nowhere else; all rows where there is none of the host.

    A selection with several targets declares the others beside each of them, and they must not count as cells.
    """
    return [row for row in rows if row["cell"].get("target", "local") == "local"] or rows


def latest(rows: Iterable[Mapping[str, Any]], checks: Sequence[str]) -> list[Mapping[str, Any]]:
    """The rows of these checks in the order of their axes; a later row of the same cell replaces an earlier one.

    So a page is the same in whatever order its cells were computed.
    """
    found: dict[Place, Mapping[str, Any]] = {}
    for row in rows:
        if row["kind"] in ("declared", "cell") and row["cell"]["check"] in checks:
            found[place_of(row["cell"])] = row
    return sorted(found.values(), key=lambda row: in_order(row["cell"]))


def in_order(cell: Mapping[str, Any]) -> list[tuple[bool, float, str]]:
    """What cells are sorted by: the values of their axes, numbers by size and before names."""
    values = [cell.get(axis.name) for axis in AXES]
    return [(True, 0.0, str(value or "")) if isinstance(value, str | None) else (False, value, "") for value in values]


def header_of(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The first header; its command and its commit name those of resumed runs too.

    Of several runs ``runs`` has what identifies each, in the order of their ids, and ``versions`` all versions.
    """
    headers = [row for row in rows if row["kind"] == "header"]
    if not headers:
        return {}
    commands = [" ".join(row["command"]) for row in headers if row.get("command")]
    parts: dict[str, list[Mapping[str, Any]]] = {}
    for row in headers:
        parts.setdefault(str(row.get("run", "")), []).append(row)
    runs = {run: _of_parts(found) for run, found in parts.items()}
    header = {**next(iter(runs.values())), "command": "; ".join(dict.fromkeys(commands))}
    if len(runs) > 1:
        kept = ("run", "started", "commit", "known_failures", "machine")
        header["runs"] = [{key: runs[run].get(key) for key in kept} for run in sorted(runs)]
        header["versions"] = _all_versions(list(runs.values()))
    return header


def _of_parts(parts: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The first header of a run that was resumed, with the commits of all its parts."""
    commits = dict.fromkeys(str(part["commit"]) for part in parts if part.get("commit"))
    return {**parts[0], **({"commit": AND.join(commits)} if commits else {})}


def _all_versions(headers: Sequence[Mapping[str, Any]]) -> dict[str, dict[str, str]]:
    """The locked versions by toolchain and distribution; where runs had several, all of them."""
    seen: dict[str, dict[str, list[str]]] = {}
    for header in headers:
        for toolchain, lock in (header.get("versions") or {}).items():
            for name, version in lock.items():
                found = seen.setdefault(toolchain, {}).setdefault(name, [])
                if str(version) not in found:
                    found.append(str(version))
    return {toolchain: {name: AND.join(found) for name, found in lock.items()} for toolchain, lock in seen.items()}


def partial(rows: Sequence[Mapping[str, Any]]) -> str:
    """How many of the profile's cells are in the rows, when it is not all of them."""
    done = len({place_of(row["cell"]) for row in rows if row["kind"] == "cell"})
    total = _planned([row for row in rows if row["kind"] == "plan"], done)
    return f"partial: {done} of {total} cells" if done < total else ""


def _planned(plans: Sequence[Mapping[str, Any]], done: int) -> int:
    """How many cells the profile has, or the runs selected; where runs were of different checks, those of all checks.

    Selections of different models have no cell in common, and are added.
    """
    by_check: dict[str, int] = {}
    apart: list[Mapping[str, Any]] = []
    for row in sorted(plans, key=lambda row: -row["count"]):
        for check, count in row.get("totals", {}).items():
            by_check[check] = max(by_check.get(check, 0), count)
        if all(_disjoint(row.get("selection", {}), other.get("selection", {})) for other in apart):
            apart.append(row)
    largest = max((row.get("total", 0) for row in plans), default=done)
    selected = sum(int(row["count"]) for row in apart)
    return max(int(largest), sum(by_check.values()), selected)


def _disjoint(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Whether two selections name models, and none of them is the same; each has cells of its models alone."""
    models, others = set(one.get("models", ())), set(other.get("models", ()))
    return bool(models and others) and "all" not in models | others and not models & others
