"""The index of ONNX's backend tests: their names and operators, without their models and data.

``fixtures/operators/corpus.csv`` is generated from the locked onnx (``bench corpus update``), so that cells can be
planned without any environment.
"""

from __future__ import annotations

import csv
import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from bench_plugin.domain.errors import UsageError

FILE = "corpus.csv"
COLUMNS = ("name", "category", "nodes", "ir", "opset", "operators")
PER_OPERATOR = 2  # cases in the sample for each operator, of those that consist of it
EVERY = 16  # the sample has one case in so many of the rest


@dataclass(frozen=True)
class Case:
    """One of ONNX's tests: ``nodes`` is a count, ``ir`` the IR version, ``opset`` the default domain's or 0."""

    name: str
    category: str
    nodes: int
    ir: int
    opset: int
    operators: tuple[str, ...]


@cache
def read_cases(path: Path) -> Mapping[str, Case]:
    """The index of the corpus by name of the case. Raises UsageError for a file that is not an index."""
    try:
        with path.open(encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file))
        return {
            row["name"]: Case(
                row["name"], row["category"], int(row["nodes"]), int(row["ir"]), int(row["opset"]),
                tuple(row["operators"].split()),
            )
            for row in rows
        }  # fmt: skip
    except (OSError, KeyError, TypeError, ValueError) as error:
        raise UsageError(f"{path}: not an index of operator cases: {error}") from error


def index_text(cases: Mapping[str, Mapping[str, Any]]) -> str:
    """The text of the index of a collected corpus, as ``bench corpus update`` writes it."""
    lines = [",".join(COLUMNS)]
    for name, row in cases.items():
        opset = row["opsets"].get("ai.onnx", 0)
        operators = " ".join(row["operators"])
        lines.append(f"{name},{row['category']},{row['nodes']},{row['ir']},{opset},{operators}")
    return "\n".join(lines) + "\n"


def sample(cases: Iterable[Case]) -> list[Case]:
    """The fixed sample of the cases, with every operator: some cases of each alone, and a share of all others."""
    ordered = sorted(cases, key=lambda case: hashlib.sha256(case.name.encode()).digest())
    alone: dict[str, int] = {}
    chosen: dict[str, Case] = {}
    for number, case in enumerate(ordered):
        first = case.operators[0] if case.nodes == 1 else ""
        if first and alone.get(first, 0) < PER_OPERATOR and case.category != "light":
            alone[first] = alone.get(first, 0) + 1
            chosen[case.name] = case
        elif number % EVERY == 0 and case.category != "light":
            chosen[case.name] = case
    covered = {name for case in chosen.values() for name in case.operators}
    for case in ordered:  # operators that occur only together with others
        if not covered.issuperset(case.operators):
            covered.update(case.operators)
            chosen[case.name] = case
    return sorted(chosen.values(), key=lambda case: case.name)


def find_index(folders: Sequence[Path]) -> Path:
    """The first index in the folders. Raises UsageError where there is none."""
    for folder in folders:
        if (folder / FILE).is_file():
            return folder / FILE
    raise UsageError(f"there is no {FILE} in {', '.join(map(str, folders)) or 'fixtures/operators'}")
