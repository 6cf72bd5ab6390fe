"""The parts of calls: ports, targets, models, and the description of a command-line compiler."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any, Mapping, Optional, Tuple, Union

from bench_plugin.agent.contract.records import Record

Dimension = Union[int, str]


@dataclass(frozen=True, eq=False, repr=False)
class Port(Record):
    """An input or an output of a model.

    name: its name in the model.
    dtype: numpy's name of the element type, such as float32; empty where the value is not a tensor.
    shape: sizes of the dimensions; a name is a symbolic dimension.
    layout: NCHW, NHWC and the like, where the model declares it; else empty.
    values: of the inputs of a framework's own model, how they are generated: normal, uniform, image, pixels or tokens.
    high: of whole numbers, also in floating point (a mask), and of uniform values, the number that all are below; 0
        where none is declared.
    """

    name: str
    dtype: str = ""
    shape: Tuple[Dimension, ...] = ()
    layout: str = ""
    values: str = "normal"
    high: int = 0

    def bound(self, binding: Mapping[str, int]) -> Tuple[Dimension, ...]:
        """The shape, in which symbolic dimensions with a size in ``binding`` are replaced by it."""
        return tuple(binding.get(size, size) if isinstance(size, str) else size for size in self.shape)


@dataclass(frozen=True, eq=False, repr=False)
class Target(Record):
    """The machine to compile for.

    name: ``local`` for this machine, else the name of a target's file.
    architecture: arm, aarch64, riscv64 ...; empty for local.
    triple: LLVM's name of the target.
    cpu: LLVM's and gcc's name of the processor.
    features: LLVM's names of the processor's features, such as +v.
    abi: the calling convention, for 32-bit Arm that of floating point (hard or soft); empty for the default.
    gcc: the cross compiler's executable; empty for the host's.
    flags: the flags that the cross compiler needs.
    package: the system packages with the cross compiler.
    bare_metal: there is no operating system: no files and no heap.
    flash_origin: of bare metal, the address of its flash.
    flash_bytes: of bare metal, the size of its flash in bytes; 0 where it is not known.
    ram_origin: of bare metal, the address of its RAM.
    ram_bytes: of bare metal, the size of its RAM in bytes; 0 where it is not known.
    uart_driver: of bare metal, the driver of its UART: one of the firmware's, or the name of the user's own.
    uart_source: the C code of the user's own driver; empty for one of the firmware's.
    uart_base: of bare metal, the address of its UART's registers.
    systick_hz: of bare metal, how often SysTick counts in a second; 0 where it is not known.
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
    flash_origin: int = 0
    flash_bytes: int = 0
    ram_origin: int = 0
    ram_bytes: int = 0
    uart_driver: str = ""
    uart_source: str = ""
    uart_base: int = 0
    systick_hz: int = 0

    @property
    def is_local(self) -> bool:
        """Whether it is this machine."""
        return self.name == "local"


@dataclass(frozen=True, eq=False, repr=False)
class ModelDescription(Record):
    """A framework's own model, as its constructor is declared.

    spec: the constructor: a callable with arguments, see :mod:`bench_plugin.agent.toolkit.construct`.
    inputs: in the order that the model takes them, in the framework's layout.
    outputs: those that the model declares; empty where it declares none.
    name: the name of the model.
    source_name: the file that defines the callable, empty for a callable of an installed module.
    source: the text of that file.
    detections: the outputs are detections, whose number differs from sample to sample.
    binding: the sizes of symbolic dimensions in the example inputs.
    weights: the table ``weights`` of the model's file.
    trained: the recipe of trained weights; empty where weights are seeded.
    kept: the percentage of channels that its inner layers keep of those that the constructor gives them.
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
    kept: int = 100

    def output_names(self, count: int) -> Tuple[str, ...]:
        """The declared names of the outputs if ``count`` are declared, else ``out0``, ``out1`` ..."""
        declared = tuple(port.name for port in self.outputs)
        return declared if len(declared) == count else tuple("out%d" % index for index in range(count))


@dataclass(frozen=True, eq=False, repr=False)
class Training(Record):
    """How a model is trained.

    epochs: the number of passes over the training set.
    batch: images per step.
    rate: Adam's learning rate.
    labels: what it learns: ``classes``, one for each input, or ``boxes``.
    """

    epochs: int
    batch: int
    rate: float
    labels: str = "classes"


@dataclass(frozen=True, eq=False, repr=False)
class Runner(Record):
    """How the artefact of a described compiler is run.

    command: an argv, or a list of them that run one after another.
    format: of the files of inputs and outputs: npy, or raw (little-endian elements in C order).
    samples: each (one start per sample) or all (one start, files of [N, ...]).
    """

    command: Union[Tuple[str, ...], Tuple[Tuple[str, ...], ...]]
    format: str = "npy"
    samples: str = "each"


@dataclass(frozen=True, eq=False, repr=False)
class ErrorPattern(Record):
    """The meaning of a message of a tool.

    pattern: a regular expression that is searched in the output of a command.
    symptom: unsupported, invalid-model, version-skew or out-of-memory.
    """

    pattern: str
    symptom: str


@dataclass(frozen=True, eq=False, repr=False)
class VersionCommand(Record):
    """How a described tool reports its version.

    command: an argv, or a list of them.
    pattern: a regular expression; its first group, or all of it, is the version.
    """

    command: Union[Tuple[str, ...], Tuple[Tuple[str, ...], ...]]
    pattern: str


@dataclass(frozen=True, eq=False, repr=False)
class Description(Record):
    """A command-line compiler as its file describes it; :mod:`bench_plugin.adapters.compilers.command` explains it.

    command: an argv, or a list of them that run one after another.
    artefact: a glob of the files to keep, or several.
    precisions: for each precision, the graphs that the tool gets.
    path: the file that the description was read from.
    title: the name of the tool in the grid.
    toolchain: the toolchain whose bin folder comes first on PATH.
    inputs: the formats that the tool compiles, onnx or names of frameworks.
    targets: the targets that it compiles for.
    timeout: seconds for each command.
    names: the tool's own words for precisions and targets.
    variables: environment variables.
    bind: the arguments for {binding}, once per symbolic dimension.
    version: how the tool reports its version.
    errors: the meanings of the tool's messages.
    runner: how the artefact is run; without one it is compiled and not run.
    obtain: where the tool comes from, for the message that it is absent.
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
    obtain: str = ""


@dataclass(frozen=True, eq=False, repr=False)
class Segment(Record):
    """A part of a graph to extract.

    nodes: the numbers of its nodes in the graph.
    given: tensors that become inputs of the part: for the name in the graph, the name in the part.
    fixed: tensors that become constants of the part, in the same way; their values are the arrays ``fix:<name>``.
    outputs: names of the tensors that become outputs of the part.
    """

    nodes: Tuple[int, ...]
    given: Mapping[str, str]
    fixed: Mapping[str, str]
    outputs: Tuple[str, ...]


@dataclass(frozen=True, eq=False, repr=False)
class GeneratedNode(Record):
    """A node of a generated graph.

    operator: its name in ONNX.
    inputs: names of tensors; an empty name is an optional input that is left out.
    outputs: names of tensors.
    attributes: ONNX's attributes as plain data.
    """

    operator: str
    inputs: Tuple[str, ...]
    outputs: Tuple[str, ...]
    attributes: Mapping[str, Any]


@dataclass(frozen=True, eq=False, repr=False)
class GeneratedSource(Record):
    """An input or a constant of a generated graph; its value is the array ``in:<name>``.

    name: the name of the tensor.
    dtype: numpy's name of the element type.
    shape: the sizes of its dimensions.
    constant: it is an initializer, not an input.
    """

    name: str
    dtype: str
    shape: Tuple[int, ...]
    constant: bool


@dataclass(frozen=True, eq=False, repr=False)
class GeneratedGraph(Record):
    """A graph of a property-based test.

    opset: the version of ONNX's default domain.
    ir: ONNX's IR version.
    nodes: the nodes in topological order.
    sources: the inputs and constants.
    outputs: the outputs with their types and shapes.
    """

    opset: int
    ir: int
    nodes: Tuple[GeneratedNode, ...]
    sources: Tuple[GeneratedSource, ...]
    outputs: Tuple[Port, ...]
