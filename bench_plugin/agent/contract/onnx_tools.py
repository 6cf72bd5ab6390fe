"""The calls of the tools that check, evaluate, change and split ONNX files."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Mapping, Optional, Tuple

from bench_plugin.agent.contract.call import CALIBRATION, FIXED, Call
from bench_plugin.agent.contract.parts import GeneratedGraph, Segment

if TYPE_CHECKING:
    from bench_plugin.agent.contract.call import Arrays


@dataclass(frozen=True, eq=False, repr=False)
class CheckCall(Call):
    """Check ``model.onnx`` with onnx's checker, and read what the file declares."""

    operation = "check"


@dataclass(frozen=True, eq=False, repr=False)
class FactsCall(Call):
    """Say what ``model.onnx`` is made of, as ``facts.json``; no weight is read.

    batch: the size of a symbol at the first dimension of an input.
    sizes: sizes of other symbols by name.
    """

    operation = "facts"

    batch: int = 1
    sizes: Mapping[str, int] = dataclasses.field(default_factory=dict)


@dataclass(frozen=True, eq=False, repr=False)
class EvaluateCall(Call):
    """Outputs ``out0``, ``out1`` ... [N, ...] of ``model.onnx`` in float64: the file's float64 reference.

    batched: samples are rows of a batch.
    ragged: the number of rows of an output differs from sample to sample.
    perturb: the seed of a perturbation of weights and inputs by (1 +- 2^-24), where a negative seed has the opposite
        signs of the positive one; None for no perturbation.
    samples: the number of samples to run; None for all.
    """

    operation = "evaluate"

    batched: bool
    ragged: bool = False
    perturb: Optional[int] = None
    samples: Optional[int] = None


@dataclass(frozen=True, eq=False, repr=False)
class EvaluateCasesCall(Call):
    """The float64 references of operator cases (``cases.json``, ``cases.bin``) as ``truths.json`` and ``truths.bin``.

    needs: for the name of each case, what its rule needs: ``value``, ``sum`` or ``spread``.
    """

    operation = "evaluate"  # an operation of the adapter onnx_truths

    needs: Mapping[str, str]


@dataclass(frozen=True, eq=False, repr=False)
class MutateCall(Call):
    """Outputs ``<mutant>:out0`` ... [n, ...] of every mutant of ``model.onnx``, and of the file itself as
    ``original:out0`` ..., for the first n samples.

    samples: the number n of samples to run.
    batched: samples are rows of a batch.
    """

    operation = "mutate"

    samples: int
    batched: bool


@dataclass(frozen=True, eq=False, repr=False)
class EmulateCall(Call):
    """Outputs ``<precision>:out0`` ... [n, ...] of ``model.onnx``, emulated in float64 with the rounding of a
    precision; of a file that has float16 or bfloat16, also ``own:out0`` ... with that of its own types.

    samples: the number n of samples to run.
    batched: samples are rows of a batch.
    sums: only this precision, fp32, fp16, bf16 or own, whose terms are summed in its type as well, as
        ``<precision>-sums``. What these lose is drawn at random; of a file that chooses between nearly equal numbers,
        as by ArgMax, there are further draws: ``<precision>-sums-1`` ....
    only: the only emulation to compute, one of those above; all of them where it is empty.
    """

    operation = "emulate"

    samples: int
    batched: bool
    sums: str = ""
    only: str = ""


@dataclass(frozen=True, eq=False, repr=False)
class PrepareCall(Call):
    """Pre-quantise or pre-convert ``model.onnx``.

    graph: ``qdq``, ``weights``, ``fixed``, ``kmeans``, ``dynamic``, ``fp16``, or weights in float16: ``w16``,
        ``w16-all``, ``w16-cut`` or ``w16-flush``, with ``+computed``, ``+folded``, ``+scaled`` and ``+summed`` behind
        it for what is done before the rounding, and at its end ``+only-`` with the bits of the constants to round.
    batched: calibration samples are rows of a batch.
    calibration_method: minmax, entropy or percentile.
    weights: of ``qdq``, ``weights``, ``fixed`` and ``kmeans``: int8, int4, uint4, int2 or uint2.
    activations: the type of the activations, uint8 or one of these, or float32.
    granularity: what shares a scale: tensor, channel or block.
    every_contraction: of ``weights``: whether weights of ConvTranspose, LSTM, GRU and RNN are rounded, too; a file that
        is quantised already then stays as it is.
    """

    operation = "prepare"

    graph: str
    batched: bool = False
    calibration_method: str = "minmax"
    weights: str = "int8"
    activations: str = "uint8"
    granularity: str = "channel"
    every_contraction: bool = False

    @property
    def calibration(self) -> Arrays:
        """The calibration inputs by name, [N, ...] over N samples; empty where none are needed."""
        return self._given(CALIBRATION)


@dataclass(frozen=True, eq=False, repr=False)
class LayersCall(Call):
    """Split a file into its layers: a QDQ file at its integers, one in floating point at what contractions take.

    binding: sizes of symbolic dimensions.
    fused_sums: whether what is added to something stays inside the layers that take it. A tool that adds in place, or
        that computes a layer and the sum behind it as one, runs another way where it has to hand a summand over.
    floating: whether the file computes in floating point.
    in_bfloat16: whether what lies between the layers of such a file is handed over in bfloat16, which a tool that
        computes in it may round an output in float32 less than what it keeps to itself.
    """

    operation = "layers"

    binding: Mapping[str, int]
    fused_sums: bool = False
    floating: bool = False
    in_bfloat16: bool = False


@dataclass(frozen=True, eq=False, repr=False)
class AssembleCall(Call):
    """Write rebuilt layers, whose constants are the fixed arrays, as one file ``unrounded.onnx`` in float64.

    nodes: the nodes of the reply to ``rebuild``.
    given: the names of the tensors that layers take: the inputs of the file.
    results: the names of those that they make: its outputs.
    """

    operation = "assemble"

    nodes: Tuple[Mapping[str, Any], ...]
    given: Tuple[str, ...]
    results: Tuple[str, ...]

    @property
    def fixed(self) -> Arrays:
        """The constants [...] by name."""
        return self._given(FIXED)


@dataclass(frozen=True, eq=False, repr=False)
class MatchCall(Call):
    """Find the constants that were read back, the fixed arrays ``const:<name>`` with their steps ``step:<name>``, among
    those of ``model.onnx``; ``rebuilt.onnx`` is the same file with the real values of what was found.

    names: the names of the constants.
    weights: for a bias, by its name, the name of the weight that it belongs to.
    floating: the names of those that stayed in floating point, of which the nearest one is looked for.
    numbers: the names of what need not be the file's. A single number is found only where the file has it within half a
        step, several where it has something that is like them.
    lowest: those of the numbers that are the smallest one of their integers, for which any smaller one may stand.
    highest: those of the numbers that are the largest one of their integers, for which any larger one may stand.
    corrected: the names of biases that the tool may have corrected, each of which is one that the file adds to what it
        computes with the weight, or zeros where it adds none.
    twins: whether a constant that the file has under several names and the artefact once is replaced under all of them.
    """

    operation = "match"

    names: Tuple[str, ...]
    weights: Mapping[str, str]
    floating: Tuple[str, ...] = ()
    numbers: Tuple[str, ...] = ()
    lowest: Tuple[str, ...] = ()
    highest: Tuple[str, ...] = ()
    corrected: Tuple[str, ...] = ()
    twins: bool = True

    @property
    def fixed(self) -> Arrays:
        """Values and steps [...] by name."""
        return self._given(FIXED)


@dataclass(frozen=True, eq=False, repr=False)
class MutateLayersCall(Call):
    """Results ``<mutant>:out0`` ... [n, ...] of mutants of the layers in ``unrounded.onnx``: of each the result that
    changes, for the first n samples.

    samples: the number n of samples to run.
    branches: whether to leave out branches and inputs, too, all of them, one after the other.
    """

    operation = "mutate_layers"

    samples: int
    branches: bool = False


@dataclass(frozen=True, eq=False, repr=False)
class OpenCall(Call):
    """Prepare the graph of a file for subgraph extraction, and write the same with its intermediate outputs exposed.

    binding: sizes of symbolic dimensions; None leaves them symbolic.
    """

    operation = "open"

    binding: Optional[Mapping[str, int]] = None


@dataclass(frozen=True, eq=False, repr=False)
class ExtractCall(Call):
    """Extract subgraphs of ``bound.onnx``, side by side in one file ``part.onnx``.

    segments: the subgraphs.
    types: dtype and shape of the tensors that become inputs and outputs.
    """

    operation = "extract"

    segments: Tuple[Segment, ...]
    types: Mapping[str, Tuple[str, Tuple[int, ...]]]

    @property
    def fixed(self) -> Arrays:
        """The values [...] of the tensors that become constants, by their names in the graph."""
        return self._given(FIXED)


@dataclass(frozen=True, eq=False, repr=False)
class ShrinkCall(Call):
    """Reduce every dimension of one size in ``part.onnx`` and its inputs to another size.

    size: the size to reduce, in whatever dimension.
    to: the new size.
    """

    operation = "shrink"

    size: int
    to: int


@dataclass(frozen=True, eq=False, repr=False)
class CollectCall(Call):
    """Collect ONNX's backend tests in ``cases.json`` and ``cases.bin``."""

    operation = "collect"


@dataclass(frozen=True, eq=False, repr=False)
class ConvertCall(Call):
    """Convert operator cases (``cases.json``, ``cases.bin``) to an older opset and IR version.

    opset: the newest opset that is permitted.
    ir: the newest IR version that is permitted.
    cases: the names of the cases to convert.
    """

    operation = "convert"

    opset: int
    ir: int
    cases: Tuple[str, ...]


@dataclass(frozen=True, eq=False, repr=False)
class BuildGraphCall(Call):
    """Build a generated graph as an operator case with its float64 reference. The inputs are the values of its sources.

    graph: the graph.
    need: what the rule of its operators needs: ``value``, ``sum``, ``spread``, or nothing (empty).
    """

    operation = "build"

    graph: GeneratedGraph
    need: str = dataclasses.field(default="")
