"""The operators' suite as evidence: what each of ONNX's tests consists of, and how it ended for each compiler."""

from __future__ import annotations

import csv
import io
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from bench_plugin.characterise.compliance.schemas import Signature, read_signature
from bench_plugin.domain.axes import Check
from bench_plugin.inventory.cases import Case

# How a case ended, by the letter that stands for it in ``outcomes.csv``.
LETTERS = {
    "S": "supported", "M": "mismatch", "E": "ERROR", "U": "unsupported", "V": "version skew", "B": "outside our bound",
    "-": "unverified",
}  # fmt: skip
LETTER_OF = {status: letter for letter, status in LETTERS.items()}
PASSED = frozenset({"supported", "outside our bound"})  # the latter is within the tolerance of ONNX's own runner
FAILED = frozenset({"mismatch", "ERROR", "unsupported"})
LEGEND = "; ".join(f"{letter} {status}" for letter, status in LETTERS.items()) + "; empty: not run"


@dataclass(frozen=True)
class Tried:
    """A case that a compiler was given: ``alone`` where it is a single operator, ``opset`` that of its file."""

    name: str
    status: str
    opset: int
    alone: bool
    signatures: tuple[Signature, ...]

    @property
    def passed(self) -> bool:
        """Whether the numbers agreed."""
        return self.status in PASSED

    @property
    def decided(self) -> bool:
        """Whether it says anything of the compiler: skew and cells without a verdict do not."""
        return self.status in PASSED or self.status in FAILED


@dataclass(frozen=True)
class Outcomes:
    """How the cases ended: ``by_compiler`` has compiler -> case -> status, ``runs`` the run of each compiler."""

    by_compiler: Mapping[str, Mapping[str, str]]
    runs: Mapping[str, str]

    def updated(self, other: Outcomes) -> Outcomes:
        """These outcomes, with those of every compiler that ``other`` has instead of its own."""
        return Outcomes({**self.by_compiler, **other.by_compiler}, {**self.runs, **other.runs})

    def merged(self, other: Outcomes) -> Outcomes:
        """These outcomes, with those of every case that ``other`` has instead of its own."""
        names = dict.fromkeys([*self.by_compiler, *other.by_compiler])
        by_compiler = {
            name: {**self.by_compiler.get(name, {}), **other.by_compiler.get(name, {})} for name in names
        }  # fmt: skip
        runs = {
            name: " and ".join(dict.fromkeys(run for one in (self, other) if (run := one.runs.get(name, ""))))
            for name in names
        }
        return Outcomes(by_compiler, runs)


NO_OUTCOMES = Outcomes({}, {})


def outcomes_of(rows: Iterable[Mapping[str, Any]]) -> Outcomes:
    """The outcomes of operator cases in rows of results files; of several rows of a case, the last one counts."""
    found: dict[str, dict[str, str]] = {}
    runs: dict[str, list[str]] = defaultdict(list)
    run = ""
    for row in rows:
        run = str(row.get("run", run))
        cell = row.get("cell", {})
        if row["kind"] != "cell" or cell.get("check") != Check.OPERATOR or row["status"] not in LETTER_OF:
            continue
        found.setdefault(cell["compiler"], {})[cell["model"]] = row["status"]
        if run not in runs[cell["compiler"]]:
            runs[cell["compiler"]].append(run)
    return Outcomes(found, {name: " and ".join(ids) for name, ids in runs.items()})


def read_outcomes(text: str) -> Outcomes:
    """The table ``outcomes.csv``: comments with the runs, then one line per case and one column per compiler.

    Raises ValueError or KeyError for a text that is no such table.
    """
    comments = [line for line in text.splitlines() if line.startswith("# run ")]
    runs = dict(line.removeprefix("# run ").split(": ", 1) for line in comments)
    rows = list(csv.DictReader(io.StringIO("\n".join(one for one in text.splitlines() if not one.startswith("#")))))
    names = [name for name in rows[0] if name != "case"] if rows else []
    return Outcomes(
        {name: {row["case"]: LETTERS[row[name]] for row in rows if row[name]} for name in names}, runs
    )  # fmt: skip


def outcomes_text(outcomes: Outcomes, cases: Iterable[str]) -> str:
    """The text of ``outcomes.csv``: the cases in their order, the compilers by name."""
    names = sorted(outcomes.by_compiler)
    lines = [f"# How ONNX's backend tests ended, written by: bench corpus evidence ROWS. {LEGEND}"]
    lines += [f"# run {name}: {outcomes.runs.get(name, '')}" for name in names]
    lines.append(",".join(("case", *names)))
    for case in cases:
        statuses = (outcomes.by_compiler[name].get(case, "") for name in names)
        lines.append(",".join((case, *(LETTER_OF.get(status, "") for status in statuses))))
    return "\n".join(lines) + "\n"


def read_signatures(text: str) -> dict[str, tuple[Signature, ...]]:
    """The table ``signatures.csv``: the signatures of the nodes of every case.

    Raises ValueError or KeyError for a text that is no such table.
    """
    rows = csv.DictReader(io.StringIO(text), delimiter=";")
    return {row["case"]: tuple(map(read_signature, row["signatures"].split())) for row in rows}


def signatures_text(found: Mapping[str, Iterable[Signature]]) -> str:
    """The text of ``signatures.csv``: each distinct signature of a case once, in the order of its nodes."""
    lines = ["case;signatures"]
    lines += [f"{name};{' '.join(dict.fromkeys(one.code for one in all_of))}" for name, all_of in found.items()]
    return "\n".join(lines) + "\n"


def tried(
    statuses: Mapping[str, str], signatures: Mapping[str, tuple[Signature, ...]], cases: Mapping[str, Case]
) -> dict[tuple[str, str], list[Tried]]:
    """The cases that a compiler was given, by domain and operator; ``statuses`` are its outcomes by case."""
    found: dict[tuple[str, str], list[Tried]] = defaultdict(list)
    for name, status in statuses.items():
        if name not in signatures or name not in cases:
            continue
        case = cases[name]
        one = Tried(name, status, case.opset, len(signatures[name]) == 1, signatures[name])
        for place in dict.fromkeys((signature.domain, signature.operator) for signature in one.signatures):
            found[place].append(one)
    return dict(found)
