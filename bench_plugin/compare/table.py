"""The one table of tolerances and thresholds. docs/numbers.md lists every default with its meaning."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from enum import StrEnum


class Kind(StrEnum):
    """What a mutant makes wrong, and so what a comparison has to notice (docs/numbers.md)."""

    STRUCTURE = "structure"  # a part of the model is gone, or its inputs are misread
    LAYER = "layer"  # one layer computes something else
    DETAIL = "detail"  # a constant or a formula of an operator is another one
    ROUNDING = "rounding"  # one tensor has a narrower type, or a constant is off by as little


# The kinds of mutants by name; any other makes a layer wrong (in adapters/onnx_tools: mutation/onnx_mutations.py for
# files, onnx_layers.py for the layers of quantised models, which alone have an epsilon of 1e-5).
MUTANT_KINDS: Mapping[str, Kind] = {
    "mean output": Kind.STRUCTURE,
    "rows permuted": Kind.STRUCTURE,
    "nhwc read as nchw": Kind.STRUCTURE,
    "residual branch zeroed": Kind.STRUCTURE,
    "parallel branch zeroed": Kind.STRUCTURE,
    "branch of If replaced": Kind.STRUCTURE,
    "input ignored": Kind.STRUCTURE,
    "batchnorm eps 1e-3": Kind.DETAIL,
    "layernorm eps 1e-3": Kind.DETAIL,
    "batchnorm eps 1e-5": Kind.DETAIL,
    "layernorm eps 1e-5": Kind.DETAIL,
    "batchnorm eps 1e-10": Kind.ROUNDING,
    "layernorm eps 1e-10": Kind.ROUNDING,
    "gelu erf or tanh": Kind.DETAIL,
    "argmax ties": Kind.DETAIL,
    "tree < or <=": Kind.DETAIL,
    "bias in float16": Kind.ROUNDING,
    "last layer in float16": Kind.ROUNDING,
}


def kind_of(mutant: str) -> Kind:
    """The kind of a mutant, whose name may have its site behind it: ``bias dropped at Conv /c``."""
    return MUTANT_KINDS.get(mutant.partition(" at ")[0], Kind.LAYER)


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

    Of the applicable mutants a verdict has to notice the share ``strong``, else it is weak; below float32 it proves
    nothing under the share ``sensitive``. ``stable_detections`` is the least number of stable detections over all
    inputs. Where more than ``excluded_share`` (share of 1) of the rows is excluded, no top agreement is given.
    Of a quantised layer the share ``quantised_layer_share`` of the integers must lie within
    ``quantised_near`` steps of the unrounded float64 result, and none further than ``quantised_far``.
    A layer of a quantised model that ends in floating point may have an E of ``quantised_float``, or of
    ``quantised_dynamic`` where its inputs are rounded as it runs, and then of ``quantised_noise`` times what one
    rounding of its inputs to float32 changes, up to the cap of fp32. End to end, the share ``quantised_share`` must be
    within one step, and no element more than ``quantised_steps`` steps off; where every layer
    is right, single steps of them may add up to ``quantised_sum`` times what the quantisation itself changes, and to
    ``quantised_exposed`` times what they add up to in the same model with its tensors as outputs, or to
    ``quantised_little``. An E of more than ``quantised_apart`` from the quantised graph is no rounding.
    ``approximation_db`` is how far the ratio
    of signal to noise (dB) may lie under that of our own quantisation, where nothing else can be judged, and
    ``approximation_far`` how far it has to lie under it to be a mistake: what lies between may be chance. Of what a
    converter wrote, ``converter_weights`` is the largest distance of a weight or a bias in steps, ``converter_reach``
    the least share of the integers on a side of zero that a weight has to use, ``converter_ranges`` the largest
    distance of the ends of an activation's range, and ``converter_whole`` the E of its layers without any rounding,
    ``converter_exact`` where all of its constants are compared one by one, so that none was corrected or rounded. Of a
    tool that rounds weights in a way that is not known, the result may be ``unknown_rounding`` times as far from the
    unrounded file as rounded weights are, before it is wrong, and ``unknown_weights`` times where it has computed
    weights that the file does not have. The error of a run is that of a mistake where the cosine
    between it and the effect of the mistake is ``alike`` or more, and one is at most ``alike_size`` times the other.
    A layer in float16 or bfloat16 within its model may be off by ``narrow_k`` times its noise, and by the share
    ``narrow_floor`` of the floor of its precision, at most ``narrow_cap``; one of its channels by ``narrow_channel``
    times what its roundings change there; a result that is the same for all inputs by ``narrow_constant`` of itself.
    """

    rows: Mapping[str, Row] = field(
        default_factory=lambda: {
            "fp32": Row(k=10, floor=4e-6, cap=1e-3),
            "fp32-loose": Row(k=100, floor=4e-6, cap=1e-3),
            "fp16": Row(k=3, floor=1e-3, cap=5e-2),
            "bf16": Row(k=3, floor=8e-3, cap=0.2),
        }
    )
    detections: Mapping[str, DetectionRow] = field(
        default_factory=lambda: {
            "fp32": DetectionRow(0.99, 1e-3),
            "fp16": DetectionRow(0.95, 1e-2),
            "bf16": DetectionRow(0.90, 5e-2),
        }
    )
    strong: float = 0.8
    sensitive: float = 0.5
    stable_detections: int = 10
    excluded_share: float = 0.5
    quantised_layer_share: float = 0.999
    quantised_share: float = 0.99
    quantised_near: float = 0.51
    quantised_far: float = 0.75
    quantised_float: float = 1e-4
    quantised_dynamic: float = 2e-4
    quantised_noise: float = 3.0
    quantised_steps: float = 3.0
    quantised_sum: float = 2.0
    quantised_apart: float = 2.0
    quantised_exposed: float = 2.0
    quantised_little: float = 0.1
    approximation_db: float = 6.0
    approximation_far: float = 12.0
    converter_weights: float = 0.501
    converter_reach: float = 0.25
    converter_ranges: float = 1.0
    converter_whole: float = 2e-2
    converter_exact: float = 1e-4
    unknown_rounding: float = 1.5
    unknown_weights: float = 10.0
    narrow_k: float = 2.0
    narrow_floor: float = 0.25
    narrow_cap: float = 0.5
    narrow_constant: float = 0.2
    narrow_channel: float = 4.0
    alike: float = 0.95
    alike_size: float = 1.1

    def row(self, precision: str, *, loose: bool = False) -> Row:
        """The row of a precision; ``loose`` where an adapter declares fast math or Winograd.

        Raises KeyError for a precision that the table does not have.
        """
        return self.rows["fp32-loose" if loose and precision == "fp32" else precision]

    def of_layers(self) -> Table:
        """The table for single layers: their noise is that of a few roundings, which tools hardly differ in."""
        rows = {
            name: replace(
                row, k=min(row.k, self.narrow_k), floor=row.floor * self.narrow_floor, cap=max(row.cap, self.narrow_cap)
            )
            for name, row in self.rows.items()
        }
        return replace(self, rows=rows)


DEFAULTS = Table()
TABLE_HASH = hashlib.sha256(json.dumps([asdict(DEFAULTS), MUTANT_KINDS], sort_keys=True).encode()).hexdigest()


def with_overrides(**overrides: float) -> Table:
    """The table with ``k``, ``floor`` or ``cap`` of every row replaced, by which no mistake is recognised.

    Who says how large an error may be has said that it may be that of a mistake. Raises ValueError for another name, or
    a value that is not a positive, finite number.
    """
    valid = ("k", "floor", "cap")
    for name, value in overrides.items():
        if name not in valid:
            raise ValueError(f"marker tolerance: unknown name {name!r}; valid are {', '.join(valid)}")
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < math.inf:
            raise ValueError(f"marker tolerance: {name} must be a positive number, found {value!r}")
    rows = {precision: replace(row, **overrides) for precision, row in DEFAULTS.rows.items()}
    return replace(DEFAULTS, rows=rows, alike=math.inf if overrides else DEFAULTS.alike)
