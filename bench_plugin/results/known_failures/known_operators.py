"""Files of known failures of operator cases, written from a run: one row for all cases of one failure and reason."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from bench_plugin.domain.outcome import Outcome, Status
from bench_plugin.results.known_failures.expectations import NOT_ANALYSED, OPERATORS, Expectation, OperatorRows
from bench_plugin.results.known_failures.row_toml import signature_lines, toml_value
from bench_plugin.results.signature import BAND, Signature, signature_of

WIDTH = 118
NOTE = (
    '# A reason is in our words, and says "not analysed" where nobody has looked for the cause; what the tool says is '
    "the signature."
)
GONE = (Status.SUPPORTED, Status.VERSION_SKEW, Status.OUTSIDE_BOUND)  # of a case that needs no row any more


@dataclass(frozen=True, order=True)
class Known:
    """The known failure of one case; ``needed`` is 0 where it was not measured."""

    stage: str
    symptom: str
    text: str
    reason: str
    link: str
    when: str
    needed: float = 0.0

    @property
    def signature(self) -> Signature:
        """The signature in the form of results/signature.py."""
        return Signature(self.text, self.needed or None)


@dataclass
class Updated:
    """The known failures of a compiler by case after a run.

    ``added`` cases had no row, ``changed`` ones fail otherwise than their row says and are ``not analysed`` again,
    ``signed`` ones got a signature or the versions of this run, and ``dropped`` counts by status those that are gone.
    ``others`` are further rows of a case that fails now in this way and now in that, as by the processor's speed.
    """

    known: dict[str, Known] = field(default_factory=dict)
    others: dict[str, list[Known]] = field(default_factory=dict)
    added: int = 0
    changed: int = 0
    signed: int = 0
    dropped: Counter[str] = field(default_factory=Counter)

    @property
    def not_analysed(self) -> int:
        """Cases whose reason nobody has looked for."""
        return sum(one.reason == NOT_ANALYSED for one in self.known.values())


def updated(rows: OperatorRows, compiler: str, when: str, results: Iterable[tuple[str, Outcome]]) -> Updated:
    """The known failures of a compiler after a run; cases that were not in the run stay as they are.

    Reason and link are kept where the failure is the row's, or the row has no signature yet and stage and symptom are
    the row's. A band is never widened by an update: the smaller number of tolerances stays. A row of results that vary
    stays where it covers the run or the case passed: being right once, or wrong alike twice, says nothing of it. So do
    the other rows of a case that failed as one of its rows says.
    """
    old = rows.of(compiler)
    found = Updated({case: _known(listed[0]) for case, listed in old.items()})
    found.others = {case: [_known(row) for row in listed[1:]] for case, listed in old.items() if listed[1:]}
    for case, outcome in dict(results).items():
        listed = old.get(case, [])
        held = [row for row in listed if row.holds(outcome.versions)] or listed
        before = next((row for row in held if row.covers(outcome)), held[0] if held else None)
        if before is not None and before.varies and before.holds(outcome.versions) and _allowed(before, outcome):
            continue
        alike = before is not None and before.covers(outcome)
        found.others[case] = [_known(row) for row in held if row is not before] if alike else []
        if outcome.failed:
            after = _after(before, outcome, when)
            if before is None:
                found.added += 1
            elif after.reason == NOT_ANALYSED != before.reason:
                found.changed += 1
            elif after != _known(before):
                found.signed += 1
            found.known[case] = after
        elif before is not None and outcome.status in GONE:
            del found.known[case]
            found.dropped[str(outcome.status)] += 1
    return found


def _allowed(row: Expectation, outcome: Outcome) -> bool:
    """Whether a row of results that vary has nothing against an outcome."""
    return row.covers(outcome) if outcome.failed else outcome.status in GONE


def _known(row: Expectation) -> Known:
    when = ", ".join(map(str, row.when))
    signature = row.signature
    return Known(
        str(row.stage), str(row.symptom), signature.text, row.reason, row.link, when, signature.needed or 0.0
    )  # fmt: skip


def _after(before: Expectation | None, outcome: Outcome, when: str) -> Known:
    """The known failure of a case that failed, whose row was ``before``."""
    signature = signature_of(outcome)
    new = Known(
        str(outcome.stage), str(outcome.symptom), signature.text, NOT_ANALYSED, "", when, signature.needed or 0.0
    )  # fmt: skip
    if before is None or not before.covers(outcome):
        return new
    kept = replace(new, reason=before.reason, link=before.link)
    if before.holds(outcome.versions):
        kept = replace(kept, when=_known(before).when)
    if before.signature.text:  # a person may have written it with ... for what varies
        return replace(kept, text=before.signature.text)
    return replace(kept, needed=min(kept.needed, before.signature.needed or kept.needed))


def write(
    folder: Path, compiler: str, known: Mapping[str, Known], others: Mapping[str, Sequence[Known]] | None = None
) -> Path:
    """Write ``operators/<compiler>.toml`` below ``folder``, with the most frequent failures first; returns its path.

    ``others`` are those of :class:`Updated`.
    """
    path = folder / OPERATORS / f"{compiler}.toml"
    path.parent.mkdir(parents=True, exist_ok=True)
    first = f"# {len(known)} of ONNX's tests that are known to fail in {compiler}; written by: bench expect update"
    lines = [first, NOTE]
    further = [(case, one) for case, listed in (others or {}).items() for one in listed]
    for one, cases in sorted(_grouped([*known.items(), *further]), key=lambda group: (-len(group[1]), group[0])):
        lines += ["", "[[expectation]]", 'check = "operator"', f"compiler = {json.dumps(compiler)}"]
        lines += [f'stage = "{one.stage}"', f'symptom = "{one.symptom}"', f"reason = {toml_value(one.reason)}"]
        lines += signature_lines(one.signature)
        lines += [f"link = {toml_value(one.link)}"] if one.link else []
        lines += [f"when = {_requirements(one.when)}"] if one.when else []
        lines += ["model = [", *_wrapped(cases), "]"]
    path.write_text("\n".join(lines) + "\n", "utf-8")
    return path


def _grouped(known: Iterable[tuple[str, Known]]) -> Iterator[tuple[Known, list[str]]]:
    """The cases of every row: of one failure, reason and link.

    Mismatches of one row are at most BAND times as far off as its mildest, and the row records the largest. So a row
    that is written so is never too broad.
    """
    groups: dict[Known, list[tuple[float, str]]] = {}
    for case, one in known:
        groups.setdefault(replace(one, needed=0.0), []).append((one.needed, case))
    for one, cases in groups.items():
        row: list[tuple[float, str]] = []
        for needed, case in sorted(cases):
            if row and needed > BAND * row[0][0]:
                yield replace(one, needed=row[-1][0]), sorted(name for _, name in row)
                row = []
            row.append((needed, case))
        yield replace(one, needed=row[-1][0]), sorted(name for _, name in row)


def pinned(distribution: str, versions: Mapping[str, Any]) -> str:
    """The version requirement of a row: the distribution at the version that the run had."""
    return f"{distribution}=={versions[distribution]}" if distribution in versions else ""


def _requirements(when: str) -> str:
    """Requirements that are joined by commas as TOML: one text, or a list of them."""
    listed = when.split(", ")
    return toml_value(when) if len(listed) == 1 else f"[{', '.join(map(toml_value, listed))}]"


def _wrapped(cases: Sequence[str]) -> list[str]:
    lines, line = [], "   "
    for case in cases:
        text = f' "{case}",'
        if len(line) + len(text) > WIDTH:
            lines.append(line)
            line = "   "
        line += text
    return [*lines, line]
