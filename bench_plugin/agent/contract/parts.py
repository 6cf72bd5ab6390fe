"""What calls are made of: ports, targets, models, and the description of a command-line compiler."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any, Mapping, Optional, Tuple, Union

from bench_plugin.agent.contract.records import Record

Dimension = Union[int, str]


@dataclass(frozen=True)
class Port(Record):
    """An input or an output of a model.

    name: as the model calls it.
    dtype: numpy's name of the element type, such as float32; empty where the value is not a tensor.
    shape: sizes; a name stands for a symbolic dimension.
    layout: NCHW, NHWC and the like, where the model declares it; else empty.
    """

    name: str
    dtype: str = ""
    shape: Tuple[Dimension, ...] = ()
    layout: str = ""

    def bound(self, binding: Mapping[str, int]) -> Tuple[Dimension, ...]:
        """The shape with those symbolic dimensions replaced that ``binding`` has a size for."""
        return tuple(binding.get(size, size) if isinstance(size, str) else size for size in self.shape)


@dataclass(frozen=True)
class Target(Record):
    """The machine that is compiled for.

    name: ``local`` for this machine, else the name of a target's file.
    architecture: arm, aarch64, riscv64 ...; empty for local.
    triple: LLVM's name of the target.
    cpu: LLVM's and gcc's name of the processor.
    features: LLVM's names of the processor's features, such as +v.
    abi: of floating point for 32-bit Arm (hard or soft), else of the machine; empty for its default.
    gcc: the cross compiler's executable; empty for the host's.
    flags: the flags that the cross compiler needs.
    package: the packages of the system that bring the cross compiler.
    bare_metal: there is no operating system: no files and no heap.
    """

    name: str = "local"
    architecture: str = ""
    triple: str = ""
    cpu: str = ""
    features: Tuple[str, ...] = ()
    abi: str = ""
    gcc: str = ""
    flags: Tuple[str, ...] = ()
    package: str = ""
    bare_metal: bool = False

    @property
    def is_local(self) -> bool:
        """Whether the artefact runs on this machine."""
        return self.name == "local"


@dataclass(frozen=True)
class ModelDescription(Record):
    """A framework's own model, as its constructor is declared.

    spec: the constructor: a callable with arguments, see :mod:`bench_plugin.agent.toolkit.construct`.
    inputs: in the order that the model takes them, in the framework's layout.
    outputs: as far as the model declares them; empty where it does not.
    name: of the model.
    source_name: the file that defines the callable, empty for a callable of an installed module.
    source: that file's text.
    detections: the outputs are detections, whose number differs from sample to sample.
    binding: the sizes of symbolic dimensions in the example inputs.
    weights: what the model's file says of its weights.
    trained: the recipe of trained weights; empty where weights are seeded.
    """

    spec: Mapping[str, Any]
    inputs: Tuple[Port, ...] = ()
    outputs: Tuple[Port, ...] = ()
    name: str = ""
    source_name: str = ""
    source: str = ""
    detections: bool = False
    binding: Mapping[str, int] = dataclasses.field(default_factory=dict)
    weights: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    trained: str = ""

    def output_names(self, count: int) -> Tuple[str, ...]:
        """The declared names of the outputs where as many are declared as there are, else ``out0``, ``out1`` ..."""
        declared = tuple(port.name for port in self.outputs)
        return declared if len(declared) == count else tuple("out%d" % index for index in range(count))


@dataclass(frozen=True)
class Training(Record):
    """How a model is trained.

    epochs: how often the training set is gone through.
    batch: images per step.
    rate: Adam's learning rate.
    """

    epochs: int
    batch: int
    rate: float


@dataclass(frozen=True)
class Runner(Record):
    """How a described compiler's artefact is run.

    command: an argv, or a list of them that run one after another.
    format: of the files of inputs and outputs: npy, or raw (little-endian elements in C order).
    samples: each (one start per sample) or all (one start, files of [N, ...]).
    """

    command: Union[Tuple[str, ...], Tuple[Tuple[str, ...], ...]]
    format: str = "npy"
    samples: str = "each"


@dataclass(frozen=True)
class ErrorPattern(Record):
    """What a tool's message stands for.

    pattern: a regular expression that is searched in what a command printed.
    symptom: unsupported, invalid-model, version-skew or out-of-memory.
    """

    pattern: str
    symptom: str


@dataclass(frozen=True)
class VersionCommand(Record):
    """How a described tool tells its version.

    command: an argv, or a list of them.
    pattern: a regular expression; its first group, or all of it, is the version.
    """

    command: Union[Tuple[str, ...], Tuple[Tuple[str, ...], ...]]
    pattern: str


@dataclass(frozen=True)
class Description(Record):
    """A command-line compiler as its file describes it; :mod:`bench_plugin.adapters.compilers.command` explains it.

    command: an argv, or a list of them that run one after another.
    artefact: a glob of the files that are kept, or several.
    precisions: precision to the graphs that the tool is given.
    path: the file that the description was read from.
    title: what the grid calls the tool.
    toolchain: whose bin folder goes first on PATH.
    inputs: what the tool compiles from.
    targets: what it compiles for.
    timeout: seconds for each command.
    names: the tool's own words for precisions and targets.
    variables: environment variables.
    bind: what {binding} stands for, once per symbolic dimension.
    version: how the tool tells its version.
    errors: what the tool's messages stand for.
    runner: how the artefact is run; without one it is made and not run.
    """

    command: Union[Tuple[str, ...], Tuple[Tuple[str, ...], ...]]
    artefact: Union[str, Tuple[str, ...]]
    precisions: Mapping[str, Tuple[str, ...]]
    path: str = ""
    title: str = ""
    toolchain: str = ""
    inputs: Tuple[str, ...] = ("onnx",)
    targets: Tuple[str, ...] = ("local",)
    timeout: float = 600.0
    names: Mapping[str, str] = dataclasses.field(default_factory=dict)
    variables: Mapping[str, str] = dataclasses.field(default_factory=dict)
    bind: Tuple[str, ...] = ()
    version: Optional[VersionCommand] = None
    errors: Tuple[ErrorPattern, ...] = ()
    runner: Optional[Runner] = None


@dataclass(frozen=True)
class Segment(Record):
    """A part of a graph that is extracted.

    nodes: numbers of the graph's nodes.
    given: tensors that become inputs of the part: the name in the graph to the name in the part.
    fixed: tensors that become constants of the part, likewise; their values come as arrays ``fix:<name>``.
    outputs: names of the tensors that the part gives.
    """

    nodes: Tuple[int, ...]
    given: Mapping[str, str]
    fixed: Mapping[str, str]
    outputs: Tuple[str, ...]


@dataclass(frozen=True)
class GeneratedNode(Record):
    """A node of a generated graph.

    operator: ONNX's name of it.
    inputs: names of tensors; empty for an optional input that is left out.
    outputs: names of tensors.
    attributes: ONNX's attributes as plain data.
    """

    operator: str
    inputs: Tuple[str, ...]
    outputs: Tuple[str, ...]
    attributes: Mapping[str, Any]


@dataclass(frozen=True)
class GeneratedSource(Record):
    """An input or a constant of a generated graph; its value comes as the array ``in:<name>``.

    name: of the tensor.
    dtype: numpy's name of the element type.
    shape: sizes.
    constant: an initializer rather than an input.
    """

    name: str
    dtype: str
    shape: Tuple[int, ...]
    constant: bool


@dataclass(frozen=True)
class GeneratedGraph(Record):
    """A graph of a property-based test.

    opset: of ONNX's own operators.
    ir: ONNX's IR version.
    nodes: in the order of their use.
    sources: inputs and constants.
    outputs: with their types and shapes.
    """

    opset: int
    ir: int
    nodes: Tuple[GeneratedNode, ...]
    sources: Tuple[GeneratedSource, ...]
    outputs: Tuple[Port, ...]
