"""What the reply to each operation promises: metadata, arrays and files that the host relies on.

The host checks every reply against it where the reply arrives, so that what a reply lacks is a failure of its stage.
A reply may have more than it promises. Operations of an adapter's own (CALLS) promise nothing.
"""

from __future__ import annotations

import dataclasses
import re
from dataclasses import dataclass
from typing import Any, Collection, Dict, Mapping, Optional, Tuple, Type, Union

from bench_plugin.agent.contract.any_reply import AnyReply, Remarks, named
from bench_plugin.agent.contract.rebuilt import AssembleReply, MatchReply, RebuildReply
from bench_plugin.agent.contract.records import Malformed, Record

OUTPUT = re.compile(r"out(0|[1-9][0-9]{0,5})(#rows)?")
VALUE = "value:"  # the prefix of blobs of described values (packs.py)


@dataclass(frozen=True, eq=False, repr=False)
class DeclaredPort(Record):
    """An input or an output that a file declares.

    name: its name in the file.
    dtype: numpy's name of the element type; empty where the value is not a tensor.
    shape: sizes of the dimensions; a name is a symbolic dimension.
    high: of identifiers, the size of the table that they index: all are below it; 0 where none is known.
    """

    name: str
    dtype: str
    shape: Tuple[Union[int, str], ...]
    high: int = 0


@dataclass(frozen=True, eq=False, repr=False)
class ExportReply(AnyReply):
    """The exported file."""

    FILES = ("model.onnx",)


@dataclass(frozen=True, eq=False, repr=False)
class TrainReply(AnyReply):
    """The trained weights."""

    FILES = ("weights.npz",)


@dataclass(frozen=True, eq=False, repr=False)
class FetchReply(AnyReply):
    """The arrays of a dataset."""

    ARRAYS = ("x_train", "y_train", "x_test", "y_test")


@dataclass(frozen=True, eq=False, repr=False)
class CompileReply(AnyReply):
    """What the compiler says of the artefact.

    effective: the precision that was computed in; empty where it is not known.
    integer: ``integer``, ``partly`` or ``simulated``; empty where nothing is quantised.
    """

    effective: str = ""
    integer: str = ""


@dataclass(frozen=True, eq=False, repr=False)
class OutputsReply(AnyReply):
    """The outputs ``out0``, ``out1`` ..., without a gap.

    effective: the precision that was computed in; empty where it is not known.
    values: descriptions of outputs that are not all plain tensors (packs.py); None where all are.
    """

    effective: str = ""
    values: Optional[Tuple[Any, ...]] = None

    def check(self, arrays: Collection[str], files: Collection[str], where: str) -> None:
        """Check that outputs are numbered from 0 and that described values are there. Raises Malformed."""
        super().check(arrays, files, where)
        outputs = [name for name in arrays if name.startswith("out")]
        for name in outputs:
            if not OUTPUT.fullmatch(name):
                raise Malformed("%s: array %r is no output; outputs are named out0, out1 ..." % (where, name))
        numbered = {name for name in outputs if "#" not in name}
        for index in range(len(numbered)):
            if "out%d" % index not in numbered:
                raise Malformed("%s: array 'out%d' is missing; the reply has %s" % (where, index, named(arrays)))
        for index, value in enumerate(self.values or ()):
            _check_value(value, arrays, "%s: field 'values'[%d]" % (where, index))


@dataclass(frozen=True, eq=False, repr=False)
class TimeReply(OutputsReply):
    """The outputs of the sampled inferences, and in ``series:compute`` the seconds of single calls, float64 [n].

    timing: the figures of the timed run (docs/timing.md).
    """

    ARRAYS = ("series:compute",)

    timing: Mapping[str, Any] = dataclasses.field(default_factory=dict)

    def check(self, arrays: Collection[str], files: Collection[str], where: str) -> None:
        """Check that there are figures beside the outputs. Raises Malformed."""
        super().check(arrays, files, where)
        if not self.timing:
            raise Malformed("%s: field 'timing' is missing; adapters take it from samples.answered()" % where)


@dataclass(frozen=True, eq=False, repr=False)
class ReferenceReply(AnyReply):
    """Outputs of the framework's own model, ``truth:<output>`` and others.

    truth: how the arrays ``truth:`` were computed, such as ``float64``; needed where there are such arrays.
    """

    truth: str = ""

    def check(self, arrays: Collection[str], files: Collection[str], where: str) -> None:
        """Check that there is something to compare with. Raises Malformed."""
        super().check(arrays, files, where)
        exact = any(name.startswith("truth:") for name in arrays)
        if not exact and not any(name.startswith("default:") for name in arrays):
            wanted = "'truth:<output>' or 'default:<output>'"
            raise Malformed("%s: arrays %s are missing; the reply has %s" % (where, wanted, named(arrays)))
        if exact and not self.truth:
            raise Malformed("%s: field 'truth' is missing; expected how the arrays 'truth:' were computed" % where)


@dataclass(frozen=True, eq=False, repr=False)
class CheckReply(AnyReply):
    """What onnx's checker says of a file, and what the file declares.

    valid: whether the checker accepts it.
    objection: why it does not; empty where it does.
    inputs: the file's inputs.
    outputs: the file's outputs.
    """

    valid: bool
    objection: str
    inputs: Tuple[DeclaredPort, ...]
    outputs: Tuple[DeclaredPort, ...]


@dataclass(frozen=True, eq=False, repr=False)
class FactsReply(AnyReply):
    """What a file is made of, in ``facts.json``.

    free: symbols of the inputs that have no size.
    symbols: all symbols of the inputs.
    """

    FILES = ("facts.json",)

    free: Tuple[str, ...]
    symbols: Tuple[str, ...]


@dataclass(frozen=True, eq=False, repr=False)
class SampledReply(AnyReply):
    """Outputs of the first samples.

    samples: how many samples were run.
    """

    samples: int


@dataclass(frozen=True, eq=False, repr=False)
class EmulateReply(SampledReply):
    """Outputs of the first samples under each emulation, such as ``fp16:out0``.

    missing: by the name of an emulation that could not be computed, why not.
    """

    missing: Mapping[str, str] = dataclasses.field(default_factory=dict)


@dataclass(frozen=True, eq=False, repr=False)
class PrepareReply(AnyReply):
    """A pre-quantised or pre-converted file.

    output_scales: the step of each quantised output; None for one that is not quantised.
    unrounded: which of LSTM, GRU and RNN have weights in floating point.
    """

    FILES = ("model.onnx",)

    output_scales: Tuple[Optional[float], ...]
    unrounded: Tuple[str, ...] = ()


@dataclass(frozen=True, eq=False, repr=False)
class LayersReply(AnyReply):
    """A QDQ file split into layers.

    layers: the names of the activations, in the order of the outputs.
    inputs: the inputs of the file ``layers.onnx``.
    outputs: its outputs.
    inside: how many activations stay inside layers, because they are added to others.
    dynamic: the names of the activations whose layers round one that stays inside.
    """

    FILES = ("exposed.onnx", "layers.onnx", "unrounded.onnx")

    layers: Tuple[str, ...]
    inputs: Tuple[DeclaredPort, ...]
    outputs: Tuple[DeclaredPort, ...]
    inside: int = 0
    dynamic: Tuple[str, ...] = ()


@dataclass(frozen=True, eq=False, repr=False)
class OpenReply(AnyReply):
    """A file that is prepared for the extraction of subgraphs.

    nodes: its nodes, with what they read and write.
    exposed: the tensors that ``exposed.onnx`` gives, in the order of its outputs.
    fixed: the tensors that no input's values decide.
    inputs: the file's inputs.
    outputs: the names of its outputs.
    types: dtypes of tensors by name.
    """

    FILES = ("bound.onnx", "exposed.onnx")

    nodes: Tuple[Mapping[str, Any], ...]
    exposed: Tuple[str, ...]
    fixed: Tuple[str, ...]
    inputs: Tuple[DeclaredPort, ...]
    outputs: Tuple[str, ...]
    types: Mapping[str, str]


@dataclass(frozen=True, eq=False, repr=False)
class PartReply(AnyReply):
    """A subgraph as a file.

    inputs: the file's inputs.
    outputs: its outputs.
    """

    FILES = ("part.onnx",)

    inputs: Tuple[DeclaredPort, ...]
    outputs: Tuple[DeclaredPort, ...]


@dataclass(frozen=True, eq=False, repr=False)
class CasesReply(AnyReply):
    """Operator cases."""

    FILES = ("cases.json", "cases.bin")


@dataclass(frozen=True, eq=False, repr=False)
class TruthsReply(AnyReply):
    """The float64 references of operator cases."""

    FILES = ("truths.json", "truths.bin")


@dataclass(frozen=True, eq=False, repr=False)
class BuildReply(AnyReply):
    """A generated graph as a file, and as an operator case unless something speaks against it.

    objection: why onnx's checker refuses the graph; empty where it does not.
    silent: why there is no reference for it; empty where there is one.
    """

    FILES = ("model.onnx",)

    objection: str = ""
    silent: str = ""

    def check(self, arrays: Collection[str], files: Collection[str], where: str) -> None:
        """Check that a case is there, and its references are complete. Raises Malformed."""
        super().check(arrays, files, where)
        if not self.objection and not self.silent:
            CasesReply().check(arrays, files, where)
        if "truths.json" in files:
            TruthsReply().check(arrays, files, where)


REPLIES: Dict[str, Type[AnyReply]] = {  # by operation
    "reference": ReferenceReply, "export": ExportReply, "import_model": AnyReply, "run_imported": OutputsReply,
    "compile": CompileReply, "run": OutputsReply, "time": TimeReply, "rebuild": RebuildReply, "assemble": AssembleReply,
    "mutate_layers": SampledReply, "match": MatchReply, "fetch": FetchReply, "train": TrainReply, "check": CheckReply,
    "evaluate": OutputsReply, "mutate": SampledReply, "emulate": EmulateReply, "prepare": PrepareReply,
    "layers": LayersReply, "open": OpenReply, "extract": PartReply, "shrink": PartReply, "collect": CasesReply,
    "convert": CasesReply, "build": BuildReply, "facts": FactsReply,
}  # fmt: skip
OWN: Dict[Tuple[str, str], Type[AnyReply]] = {("onnx_truths", "evaluate"): TruthsReply}  # by adapter and operation


def check_reply(
    adapter: str, operation: str, meta: Mapping[str, Any], arrays: Collection[str], files: Collection[str]
) -> None:
    """Check a reply to an operation against what it promises; ``arrays`` and ``files`` are names.

    Raises Malformed, which names adapter, operation and key, and what would be right.
    """
    kind = OWN.get((adapter, operation)) or REPLIES.get(operation)
    if kind is not None:
        where = "the reply of adapter %s to %s" % (adapter, operation)
        Remarks.read(meta, where)
        kind.read(meta, where).check(arrays, files, where)


def _check_value(description: Any, arrays: Collection[str], where: str) -> None:
    """Check the description of one value: None, a list of descriptions, or that of a tensor. Raises Malformed."""
    if description is None:
        return
    if isinstance(description, list):
        for index, one in enumerate(description):
            _check_value(one, arrays, "%s[%d]" % (where, index))
        return
    tensor = TensorDescription.read(description, where)
    if any(size < 0 for size in tensor.s):
        raise Malformed("%s has the shape %s; expected sizes of at least 0" % (where, list(tensor.s)))
    if VALUE + str(tensor.o) not in arrays:
        raise Malformed("%s: array '%s%d' is missing; the reply has %s" % (where, VALUE, tensor.o, named(arrays)))


@dataclass(frozen=True, eq=False, repr=False)
class TensorDescription(Record):
    """The description of a tensor: dtype, shape, and the number of its blob."""

    d: str
    s: Tuple[int, ...]
    o: int
