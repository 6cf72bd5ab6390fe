"""The one table of tolerances and thresholds. docs/numbers.md lists every default with its meaning."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace


@dataclass(frozen=True)
class Row:
    """The tolerance on E: ``k`` times the noise, at least ``floor``, at most ``cap``. None of the three has a unit."""

    k: float
    floor: float
    cap: float


@dataclass(frozen=True)
class DetectionRow:
    """What a stable detection needs: the least ``overlap`` of the boxes and of the masks (``mask``), as shares of 1 by
    intersection over union, and the largest difference in ``score``.
    """

    overlap: float
    score: float
    mask: float = 0.99


@dataclass(frozen=True)
class Table:
    """All tolerances and thresholds, by precision where they depend on it.

    ``discrimination`` is the least distance of a mutant, in tolerances on E. ``stable_detections`` is the least number
    of stable detections over all inputs. Where more than ``excluded_share`` (share of 1) of the rows is excluded, no
    top agreement is given. Of a quantised result the share ``quantised_share`` must be within one step of its scale,
    and no element more than ``quantised_steps`` steps off.
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
        """The row of a precision; ``loose`` where an adapter declares fast math or Winograd.

        Raises KeyError for a precision that the table does not have.
        """
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
