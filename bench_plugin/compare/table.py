"""The one table of tolerances and thresholds. Every default has its evidence in docs/numbers.md."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace


@dataclass(frozen=True)
class Row:
    """E may be ``k`` times the noise, at least ``floor``, never above ``cap``."""

    k: float
    floor: float
    cap: float


@dataclass(frozen=True)
class DetectionRow:
    """What a stable detection must reach: overlap with its match, and distance of the scores."""

    overlap: float
    score: float
    mask: float = 0.99


@dataclass(frozen=True)
class Table:
    """All defaults; ``discrimination`` is how many tolerances a mutant must be off, at least.

    Of a quantised result ``quantised_share`` may be at most one step off, and none more than ``quantised_steps``.
    """

    rows: Mapping[str, Row] = field(
        default_factory=lambda: {
            "fp32": Row(k=10, floor=4e-6, cap=1e-3),
            "fp32-loose": Row(k=100, floor=4e-6, cap=1e-3),
            "fp16": Row(k=3, floor=1e-3, cap=5e-2),
            "bf16": Row(k=2, floor=8e-3, cap=0.2),
        }
    )
    detections: Mapping[str, DetectionRow] = field(
        default_factory=lambda: {
            "fp32": DetectionRow(0.99, 1e-3),
            "fp16": DetectionRow(0.95, 1e-2),
            "bf16": DetectionRow(0.90, 5e-2),
        }
    )
    discrimination: float = 10.0
    stable_detections: int = 10
    excluded_share: float = 0.5
    quantised_share: float = 0.99
    quantised_steps: float = 3.0

    def row(self, precision: str, *, loose: bool = False) -> Row:
        """The row of a precision; ``loose`` where fast math or Winograd is declared."""
        return self.rows["fp32-loose" if loose and precision == "fp32" else precision]


DEFAULTS = Table()
TABLE_HASH = hashlib.sha256(json.dumps(asdict(DEFAULTS), sort_keys=True).encode()).hexdigest()


def with_overrides(**overrides: float) -> Table:
    """The table with ``k``, ``floor`` or ``cap`` of every row replaced.

    Raises ValueError for another name, or a value that is not a positive, finite number.
    """
    valid = ("k", "floor", "cap")
    for name, value in overrides.items():
        if name not in valid:
            raise ValueError(f"marker tolerance: unknown name {name!r}; valid are {', '.join(valid)}")
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < math.inf:
            raise ValueError(f"marker tolerance: {name} must be a positive number, found {value!r}")
    rows = {precision: replace(row, **overrides) for precision, row in DEFAULTS.rows.items()}
    return replace(DEFAULTS, rows=rows)
