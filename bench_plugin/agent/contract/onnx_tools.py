"""Calls of the tools that read, write, evaluate and take apart ONNX files."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import TYPE_CHECKING, Mapping, Optional, Tuple

from bench_plugin.agent.contract.call import CALIBRATION, FIXED, Call
from bench_plugin.agent.contract.parts import GeneratedGraph, Segment

if TYPE_CHECKING:
    from bench_plugin.agent.contract.call import Arrays


@dataclass(frozen=True)
class CheckCall(Call):
    """What onnx's checker says of ``model.onnx``, and what the file declares of itself."""

    operation = "check"


@dataclass(frozen=True)
class EvaluateCall(Call):
    """Outputs ``out0``, ``out1`` ... of ``model.onnx`` in float64: the file's float64 reference.

    batched: samples are rows of a batch.
    ragged: the number of rows of an output differs from sample to sample.
    perturb: a seed; weights and inputs are then off by (1 +- 2^-24). None: as they are.
    samples: how many of the samples are run; None for all.
    """

    operation = "evaluate"

    batched: bool
    ragged: bool = False
    perturb: Optional[int] = None
    samples: Optional[int] = None


@dataclass(frozen=True)
class EvaluateCasesCall(Call):
    """The float64 references of operator cases (``cases.json``, ``cases.bin``) as ``truths.json`` and ``truths.bin``.

    needs: name of a case to what its rule needs beside the values: ``value``, ``sum`` or ``spread``.
    """

    operation = "evaluate"  # of the adapter onnx_truths

    needs: Mapping[str, str]


@dataclass(frozen=True)
class MutateCall(Call):
    """Outputs ``<mutant>:out0`` ... [n, ...] of every standard mutant of ``model.onnx``.

    samples: how many of the samples are run.
    batched: samples are rows of a batch.
    """

    operation = "mutate"

    samples: int
    batched: bool


@dataclass(frozen=True)
class EmulateCall(Call):
    """Outputs ``<precision>:out0`` ... [n, ...] of ``model.onnx``, rounded in float64 as that precision rounds.

    samples: how many of the samples are run.
    batched: samples are rows of a batch.
    """

    operation = "emulate"

    samples: int
    batched: bool


@dataclass(frozen=True)
class PrepareCall(Call):
    """A pre-quantised or pre-converted ``model.onnx``.

    graph: ``qdq``, ``dynamic``, ``w16``, ``w16-all`` or ``fp16``.
    batched: calibration samples are rows of a batch.
    calibration_method: minmax, entropy or percentile.
    """

    operation = "prepare"

    graph: str
    batched: bool = False
    calibration_method: str = "minmax"

    @property
    def calibration(self) -> Arrays:
        """Calibration inputs by name, [N, ...]; empty where nothing is to be calibrated."""
        return self._given(CALIBRATION)


@dataclass(frozen=True)
class LayersCall(Call):
    """A QDQ file layer by layer.

    binding: sizes of symbolic dimensions.
    """

    operation = "layers"

    binding: Mapping[str, int]


@dataclass(frozen=True)
class OpenCall(Call):
    """A file's graph, ready for subgraph extraction, and the same with its intermediate outputs exposed.

    binding: sizes of symbolic dimensions; None leaves them symbolic.
    """

    operation = "open"

    binding: Optional[Mapping[str, int]] = None


@dataclass(frozen=True)
class ExtractCall(Call):
    """Subgraphs of ``bound.onnx`` side by side in one file, ``part.onnx``.

    segments: the subgraphs.
    types: dtype and shape of the tensors that become inputs and outputs.
    """

    operation = "extract"

    segments: Tuple[Segment, ...]
    types: Mapping[str, Tuple[str, Tuple[int, ...]]]

    @property
    def fixed(self) -> Arrays:
        """Values of the tensors that become constants, by their names in the graph."""
        return self._given(FIXED)


@dataclass(frozen=True)
class ShrinkCall(Call):
    """``part.onnx`` and its inputs with every dimension of one size cut to another.

    size: the size that is cut, wherever it stands.
    to: the size that it becomes.
    """

    operation = "shrink"

    size: int
    to: int


@dataclass(frozen=True)
class CollectCall(Call):
    """ONNX's backend tests as ``cases.json`` and ``cases.bin``."""

    operation = "collect"


@dataclass(frozen=True)
class ConvertCall(Call):
    """Operator cases (``cases.json``, ``cases.bin``) rewritten for an older opset and IR.

    opset: the newest that is wanted.
    ir: the newest IR version that is wanted.
    cases: names of the cases to rewrite.
    """

    operation = "convert"

    opset: int
    ir: int
    cases: Tuple[str, ...]


@dataclass(frozen=True)
class BuildGraphCall(Call):
    """A generated graph as an operator case with its float64 reference; values of its sources are the inputs.

    graph: the graph.
    need: what the rule of its operators needs beside the values: ``value``, ``sum``, ``spread``, or nothing (empty).
    """

    operation = "build"

    graph: GeneratedGraph
    need: str = dataclasses.field(default="")
