"""The axes of the matrix in one table: ids, rows, options, markers, repro commands and expectations come from it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum


class Check(StrEnum):
    """The kinds of checks."""

    EXPORT = "export"
    IMPORT = "import"
    EQUIVALENCE = "equivalence"
    OPERATOR = "operator"
    PROPERTY = "property"
    QUALITY = "quality"
    TIMING = "timing"
    LAYERS = "layers"


# Checks that take times: their cells hold the machine, so no other cell computes beside them.
TIMED = frozenset({Check.TIMING, Check.LAYERS})


@dataclass(frozen=True)
class Axis:
    """One axis: a field of a cell, and how it shows everywhere else.

    ``name`` is the field of :class:`~bench_plugin.domain.cell.Cell`, and the key in rows, in expectations and in
    ``include`` and ``exclude`` rows of the configuration. ``plural`` is the field of a selection, the keyword of the
    marker ``bench``, and the option ``--bench-<plural>``; it is empty for an axis that follows from the others.
    ``short`` adds the option ``--<plural>``. ``in_id`` is the axis's part of an id with ``{}`` for the value, empty
    where an id does not show it; ``usual`` is the value that ids, repro commands and expectations leave out. Of an axis
    that is ``swept`` rows leave the usual value out too, so a cell that nobody swept has no trace of it: ``kept``
    sweeps over variants of a trained model in every check of models, the others over timed cells. ``most`` is the
    largest value of a swept number, 0 where there is none.
    """

    name: str
    help: str
    plural: str = ""
    short: bool = False
    marker: bool = True
    kind: type[str] | type[int] = str
    in_id: str = "{}"
    usual: str = ""
    swept: bool = False
    most: int = 0

    @property
    def option(self) -> str:
        """The long name of its command-line option, which cannot collide with that of another plugin."""
        return f"--bench-{self.plural}"

    def parse(self, text: str) -> str | int:
        """A value from the text of an option or a row. Raises ValueError for text that is not a whole number."""
        return self.kind(text)


AXES: tuple[Axis, ...] = (
    Axis("check", f"kinds of check: {', '.join(Check)}", "checks", marker=False, in_id=""),
    Axis("model", "models, by name", "models", short=True),
    Axis("framework", "frameworks that models come from", "frameworks", short=True),
    Axis("exporter", "exporters to ONNX", "exporters"),
    Axis("opset", "versions of ONNX's operator set, such as 13", "opsets", kind=int, in_id="opset{}"),
    Axis("importer_framework", "the framework that a model is imported into", in_id="to-{}"),
    Axis("importer", "importers from ONNX", "importers"),
    Axis(
        "compiler", "compilers, with a backend as in onnxruntime[xnnpack]; all: every compiler", "compilers", short=True
    ),
    Axis("precision", "precisions that are computed in", "precisions", short=True, usual="fp32"),
    Axis("target", "targets that are compiled for", "targets", short=True, usual="local"),
    Axis("graph", "the pre-quantised or pre-converted graph that a compiler is given (qdq, w16 ...)"),
    Axis(
        "kept", "percent of channels that pruning keeps in the inner layers of trained models: 100 (default), 50 ...",
        "kept", short=True, kind=int, in_id="kept{}", usual="100", swept=True, most=100,
    ),
    Axis(
        "batch", "samples per call of timed cells, such as 1,8,32,128 (default 1)", "batches", kind=int,
        in_id="batch{}", usual="1", swept=True,
    ),
    Axis(
        "threads", "threads per runtime (default: all cores); timed cells take each number of a list", "threads",
        kind=int, in_id="threads{}", usual="0", swept=True,
    ),
    Axis(
        "streams", "calls at the same time of timed cells, such as 1,2,4 (default 1)", "streams", kind=int,
        in_id="streams{}", usual="1", swept=True,
    ),
    Axis("mode", "operating modes of a board, keys of the table modes of its file; for timed cells", "modes",
         swept=True),
)  # fmt: skip
BY_NAME = {axis.name: axis for axis in AXES}
AXIS_KEYS = tuple(BY_NAME)
SELECTABLE = tuple(axis for axis in AXES if axis.plural)
MARKER_AXES = tuple(axis.plural for axis in SELECTABLE if axis.marker)
# Operator and property cells have their case on the axis of models, but an option of their own for it.
CASES = Axis(
    "model",
    "cases of the operator and property suites: a case's name, a wildcard such as 'test_relu*', or an operator such as "
    "Relu (the cases that hold it alone; where there are none, all that hold it)",
    "cases",
    marker=False,
)
OPTIONS = (*SELECTABLE, CASES)
# Ids and tables name the graph beside the precision, before the target, and what is swept last.
SWEPT = tuple(axis for axis in AXES if axis.swept)
_LATE = ("graph", "target", *(axis.name for axis in SWEPT))
READING_ORDER = (*(axis for axis in AXES if axis.name not in _LATE), *(BY_NAME[name] for name in _LATE))


def id_text(shown: Callable[[Axis], str]) -> str:
    """The parts of an id, joined by dashes; ``shown`` gives the value of an axis, or "" if the id leaves it out."""
    parts = ((axis, shown(axis)) for axis in READING_ORDER if axis.in_id)
    return "-".join(axis.in_id.format(value) for axis, value in parts if value)
