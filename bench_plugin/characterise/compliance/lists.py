"""What tools say themselves: the operators of their own lists, as the table ``lists.csv`` keeps them."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

COLUMNS = ("compiler", "source", "operators")


@dataclass(frozen=True)
class Listed:
    """A tool's own list of ONNX's operators; ``source`` says which list of which version it is."""

    source: str
    operators: frozenset[str]


def read_lists(text: str) -> dict[str, Listed]:
    """The lists by compiler. Raises ValueError or KeyError for a text that is no such table."""
    rows = csv.DictReader(io.StringIO(text), delimiter=";")
    return {row["compiler"]: Listed(row["source"], frozenset(row["operators"].split())) for row in rows}


def lists_text(lists: Mapping[str, Listed]) -> str:
    """The text of ``lists.csv``, the compilers by name."""
    lines = [";".join(COLUMNS)]
    lines += [f"{name};{lists[name].source};{_sorted(lists[name].operators)}" for name in sorted(lists)]
    return "\n".join(lines) + "\n"


def _sorted(operators: Iterable[str]) -> str:
    return " ".join(sorted(operators))
