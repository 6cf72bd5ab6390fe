"""Files of known failures of operator cases, written from a run: one row per stage, symptom and normalised reason."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from bench_plugin.domain.outcome import Outcome, Status, normalised
from bench_plugin.results.expectations import OPERATORS, OperatorRows

WIDTH = 118
NOTE = (
    "# Reasons that read like messages are messages: the tool says no, and nobody looked further. "
    "Those of mismatches are ours."
)
Known = tuple[str, str, str, str]  # stage, symptom, reason, when


def updated(
    rows: OperatorRows, compiler: str, when: str, results: Iterable[tuple[str, Outcome]]
) -> tuple[dict[str, Known], int, int]:
    """The known failures of a compiler after a run, and the numbers of added and dropped ones.

    Cases that were not in the run stay as they are; a case that failed in another way than its row says is rewritten.
    """
    known: dict[str, Known] = {}
    for case, found in rows.of(compiler).items():
        row = found[0]
        known[case] = (str(row.stage), str(row.symptom), row.reason, ", ".join(map(str, row.when)))
    added = dropped = 0
    for case, outcome in results:
        before = known.get(case)
        if outcome.failed:
            after = (str(outcome.stage), str(outcome.symptom), normalised(outcome.reason), when)
            if before is None or before[:2] != after[:2]:
                known[case] = after
                added += 1
        elif before is not None and outcome.status in (Status.SUPPORTED, Status.VERSION_SKEW):
            del known[case]
            dropped += 1
    return known, added, dropped


def write(folder: Path, compiler: str, known: Mapping[str, Known]) -> Path:
    """Write ``operators/<compiler>.toml`` below ``folder``, with the most frequent reasons first; returns its path."""
    groups: dict[Known, list[str]] = {}
    for case in sorted(known):
        groups.setdefault(known[case], []).append(case)
    path = folder / OPERATORS / f"{compiler}.toml"
    path.parent.mkdir(parents=True, exist_ok=True)
    first = f"# {len(known)} of ONNX's tests that are known to fail in {compiler}; written by: bench expect update"
    lines = [first, NOTE]
    for (stage, symptom, reason, when), cases in sorted(groups.items(), key=lambda item: (-len(item[1]), item[0])):
        lines += ["", "[[expectation]]", 'check = "operator"', f"compiler = {json.dumps(compiler)}"]
        lines += [f'stage = "{stage}"', f'symptom = "{symptom}"', f"reason = {json.dumps(reason, ensure_ascii=False)}"]
        lines += [f"when = {json.dumps(when)}"] if when else []
        lines += ["model = [", *_wrapped(cases), "]"]
    path.write_text("\n".join(lines) + "\n", "utf-8")
    return path


def pinned(distribution: str, versions: Mapping[str, Any]) -> str:
    """The version requirement of a row: the distribution at the version that the run had."""
    return f"{distribution}=={versions[distribution]}" if distribution in versions else ""


def _wrapped(cases: Sequence[str]) -> list[str]:
    lines, line = [], "   "
    for case in cases:
        text = f' "{case}",'
        if len(line) + len(text) > WIDTH:
            lines.append(line)
            line = "   "
        line += text
    return [*lines, line]
