"""Replies on quantised artefacts: layers and constants that were read back, and these matched with the file."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from typing import Any, Collection, Mapping, Optional, Tuple

from bench_plugin.agent.contract.any_reply import AnyReply, named
from bench_plugin.agent.contract.records import Malformed, Record

LOWEST, HIGHEST = "lowest", "highest"  # kinds of single numbers at an end of their integers, which may be cut off there
NOT_THE_FILES = ("number", "part", LOWEST, HIGHEST)  # kinds of constants that need not be those of the file


@dataclass(frozen=True, eq=False, repr=False)
class RebuiltNode(Record):
    """A node of a rebuilt layer, an operator of ONNX's opset 17 in float64.

    operator: its name in ONNX.
    inputs: the names of its inputs; empty for one that is left out.
    outputs: the names of its outputs.
    attributes: its attributes.
    """

    operator: str
    inputs: Tuple[str, ...]
    outputs: Tuple[str, ...]
    attributes: Mapping[str, Any] = dataclasses.field(default_factory=dict)


@dataclass(frozen=True, eq=False, repr=False)
class RebuiltTensor(Record):
    """A tensor of the artefact that a layer takes, or that is its result.

    name: its name among the nodes. Of a result, the value before rounding: in steps, clamped; in its own unit where
        the artefact has it in floating point.
    output: the number of the output of the exposed artefact that has it.
    real: the name of its real value: of one that is given, what the layers take; of a result, what is rounded.
    layer: the operators that make it, in the tool's words; empty where that is not known of one that is taken.
    dynamic: whether its layer rounds its inputs, or tensors inside it, as it runs.
    exception: the allowance for a rounding that was measured to be coarser; empty for none.
    scale: the step of a result in integers; None where it is floating point.
    zero: its zero point.
    low: the smallest real value that its integers stand for; None where it is floating point.
    high: the largest.
    calibrated: whether its range should be that of the values that the calibration inputs give.
    shared: whether it has one scale and zero point with others, because an operator takes and makes the same ones. Its
        range is then that of one of them, or of several, with the same scale and zero point.
    narrowed: whether the tool may leave out what is rare: such a range lies inside that of the calibration.
    narrowest: the range from which on the tool takes that of the calibration as it is. Of a narrower one it moves both
        ends outwards by as much.
    scales: the steps of a result that has one for each channel; its real value is in these steps, its ``scale`` is 1.
    zeros: the zero points of such a result.
    axis: the axis of its channels, counted from the last one, which is -1.
    """

    name: str
    output: int
    real: str = ""
    layer: str = ""
    dynamic: bool = False
    exception: str = ""
    scale: Optional[float] = None
    zero: int = 0
    low: Optional[float] = None
    high: Optional[float] = None
    calibrated: bool = False
    shared: bool = False
    narrowed: bool = False
    narrowest: float = 0.0
    scales: Tuple[float, ...] = ()
    zeros: Tuple[int, ...] = ()
    axis: int = 0


@dataclass(frozen=True, eq=False, repr=False)
class RebuiltChoice(Record):
    """An output of the artefact that is the numbers of chosen elements, as those of an ArgMax or a TopK are.

    output: the number of the output of the exposed artefact that has them.
    real: the name of the numbers, in float64.
    source: the name of the real values that they are chosen from.
    axis: the axis along which they are chosen, counted from the last one, which is -1.
    """

    output: int
    real: str
    source: str
    axis: int


@dataclass(frozen=True, eq=False, repr=False)
class RebuiltConstant(Record):
    """A constant that should be one of the file, whose real values are the array ``const:<name>``.

    name: its name among the nodes.
    kind: ``weight``, ``bias``, ``slope`` (of a rectifier, a number of its own for negative values), ``number`` (a
        single one that was rounded to the step of what it is compared or padded with; it need not be the file's),
        ``lowest`` or ``highest`` (such a number at an end of its integers, which may be cut off there) or ``part``
        (several, rounded to the step of what they are joined with; they need not be the file's either).
    layer: the operator that takes it, in the tool's words.
    floating: whether it stayed in floating point; otherwise it was quantised.
    corrected: whether the tool may have added to it what the quantisation of its layer changes on average.
    observed: whether the tool takes its range as it takes that of activations, which may leave out what is rare.
    """

    name: str
    kind: str
    layer: str
    floating: bool = False
    corrected: bool = False
    observed: bool = False


@dataclass(frozen=True, eq=False, repr=False)
class RebuildReply(AnyReply):
    """The layers of an artefact that the tool quantised.

    Constants are arrays ``const:<name>``, of float64 or of integers; the steps of quantised ones are arrays
    ``step:<name>`` that broadcast over them. The step of one in floating point is a millionth of its largest value.

    nodes: the nodes of all layers, in the order of their use.
    given: the tensors that layers take.
    results: the tensors that layers make.
    constants: the constants that should be those of the file, a bias behind the weight that it belongs to.
    unread: the operators that could not be read back, with the reason.
    rounded: for the inputs that layers round as they run, by name, the name of what is rounded.
    complete: whether all constants in integers are among them, and nothing else in the layers is rounded.
    choices: the outputs of the artefact that are the numbers of chosen elements.
    inside: how many quantised tensors are no outputs, because the call left the sums as they are.
    """

    nodes: Tuple[RebuiltNode, ...]
    given: Tuple[RebuiltTensor, ...]
    results: Tuple[RebuiltTensor, ...]
    constants: Tuple[RebuiltConstant, ...]
    unread: Tuple[str, ...]
    rounded: Mapping[str, str] = dataclasses.field(default_factory=dict)
    complete: bool = False
    choices: Tuple[RebuiltChoice, ...] = ()
    inside: int = 0

    def check(self, arrays: Collection[str], files: Collection[str], where: str) -> None:
        """Check that these constants have values and steps. Raises Malformed."""
        super().check(arrays, files, where)
        for row in self.constants:
            for kind in ("const:", "step:"):
                if kind + row.name not in arrays:
                    raise Malformed(
                        "%s: array %r is missing; the reply has %s" % (where, kind + row.name, named(arrays))
                    )


@dataclass(frozen=True, eq=False, repr=False)
class AssembleReply(AnyReply):
    """Rebuilt layers as one file."""

    FILES = ("unrounded.onnx",)


@dataclass(frozen=True, eq=False, repr=False)
class MatchedConstant(Record):
    """A constant that was read back, beside that of the file that is most like it.

    name: its name among those that were read back.
    tensor: the name in the file; empty where none is like it.
    found: whether the file has values to compare with; a bias that both lack has none.
    folded: whether the file's BatchNormalization was multiplied into it.
    steps: the largest distance from the file's values, in steps; what float32 cannot hold is not counted.
    replaced: whether ``rebuilt.onnx`` has the values that were read back in its place.
    reach: of a weight of a contraction, its largest absolute value in steps; 0 of any other constant.
    missing: whether it is zeros, where the file has other numbers.
    clipped: whether it is off only where the file's numbers are beyond its largest or its smallest one.
    shared: whether it is replaced, and the file reads it several times: the tool may have another one for each reader.
    """

    name: str
    tensor: str
    found: bool
    folded: bool
    steps: float
    replaced: bool = False
    reach: float = 0.0
    missing: bool = False
    clipped: bool = False
    shared: bool = False


@dataclass(frozen=True, eq=False, repr=False)
class MatchReply(AnyReply):
    """The constants that were read back, matched with those of the file.

    matches: one row for each. The values of the file, laid out alike, are arrays ``file:<name>``.
    unmatched: the names of the constants of the file that none of them is like, but for biases.
    twins: the other names under which the file has what the artefact has once, and what each is a copy of.
    """

    FILES = ("rebuilt.onnx",)

    matches: Tuple[MatchedConstant, ...]
    unmatched: Tuple[str, ...] = ()
    twins: Mapping[str, str] = field(default_factory=dict)

    def check(self, arrays: Collection[str], files: Collection[str], where: str) -> None:
        """Check that every constant that was found has the file's values. Raises Malformed."""
        super().check(arrays, files, where)
        for row in self.matches:
            if row.found and "file:" + row.name not in arrays:
                raise Malformed(
                    "%s: array %r is missing; the reply has %s" % (where, "file:" + row.name, named(arrays))
                )
