"""The cycle model of the simulated accelerator: cycles, utilisation, tiles and bytes over the bus of each instruction.

Pure functions over shapes. Relations between its figures follow the published ones (docs/simulator.md); the formulas
are ours, because the publication has none.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from bench_plugin.agent.toolkit import versions

ADAPTER = {
    "name": "npu_cycles",
    "kind": "tool",
    "toolchain": "onnxruntime",
    "title": "Cycle model of the simulated accelerator",
    "distribution": "numpy",
    "operations": [],
}

KIB = 1024
MEMORY = {"1MiB": 1024 * KIB, "512KiB": 512 * KIB, "256MiB": 256 * 1024 * KIB}
INPUT, OUTPUT = "input", "output"  # which channels the elements of the vector unit work on at the same time
OWN, CONVOLUTION, CPU = "own", "convolution", "cpu"  # what computes depthwise convolutions
BUS = 16  # bytes per cycle
CPU_WORK = 1  # multiply-adds, or elements, that the CPU computes per cycle


class Adapter:
    """Remembers nothing; the adapter that uses this file takes its functions."""

    def versions(self) -> dict[str, str]:
        """Versions of the distributions that take part."""
        return versions.installed("numpy")

    def reset(self) -> None:
        """Nothing to forget."""


@dataclass(frozen=True)
class Machine:
    """A configuration: ``elements`` of the vector unit, what they work on in ``parallel``, and its exclusive memory.

    ``memory`` is in bytes, ``depthwise`` one of ``own``, ``convolution`` and ``cpu``.
    """

    elements: int = 64
    parallel: str = OUTPUT
    memory: int = MEMORY["1MiB"]
    depthwise: str = OWN


@dataclass(frozen=True)
class Work:
    """A convolution or a fully connected layer (of 1 x 1 pixels), of one input of int8.

    ``height`` and ``width`` are those of the output, ``pixels`` those of the input; ``kernel`` is height times width of
    the kernel. A depthwise one has as many ``groups`` as input channels.
    """

    height: int
    width: int
    kernel: int
    channels: int
    filters: int
    groups: int = 1
    pixels: int = 0

    @property
    def depthwise(self) -> bool:
        """Whether each filter sees one channel alone."""
        return self.groups > 1 and self.groups == self.channels

    @property
    def multiply_adds(self) -> int:
        """How many it needs."""
        return self.height * self.width * self.kernel * (self.channels // self.groups) * self.filters

    @property
    def input_bytes(self) -> int:
        """Bytes of its input."""
        return (self.pixels or self.height * self.width) * self.channels

    @property
    def filter_bytes(self) -> int:
        """Bytes of one filter with its bias of int32."""
        return self.kernel * (self.channels // self.groups) + 4

    @property
    def output_bytes(self) -> int:
        """Bytes of its output."""
        return self.height * self.width * self.filters


class Cost(NamedTuple):
    """What an instruction costs: it computes and moves bytes at the same time, so the longer of the two counts.

    ``utilisation`` is the share of the vector unit's multiply-adds that are of use, over the cycles that count.
    """

    cycles: int
    compute: int
    bus_bytes: int
    tiles: int
    utilisation: float


def convolution(machine: Machine, work: Work) -> Cost:
    """The cost of a convolution or a fully connected layer on the accelerator.

    It is tiled along its output channels where input, filters and output do not fit into the exclusive memory together.
    Input channels of an input that alone does not fit come over the bus once for every tile.
    """
    tiles = _tiles(machine, work)
    compute = sum(_cycles(machine, work, filters) for filters in tiles)
    weights, kept = work.filter_bytes * work.filters, len(tiles) == 1
    again = 1 if kept or work.depthwise or work.input_bytes <= machine.memory else len(tiles)
    # What fits stays in the exclusive memory between two instructions; what is tiled goes over the bus.
    moved = weights + (0 if kept else again * work.input_bytes + work.output_bytes)
    return _cost(machine, compute, moved, len(tiles), work.multiply_adds)


def elementwise(machine: Machine, height: int, width: int, channels: int, inputs: int = 1) -> Cost:
    """The cost of an instruction for each element, such as BatchNormalization, an addition or a pooling.

    It stands for itself where a pipeline is broken: its input and its output go through the exclusive memory.
    """
    elements = height * width * channels
    compute = height * width * _up(channels, machine.elements)
    size = (inputs + 1) * elements
    return _cost(machine, compute, size if size > machine.memory else 0, 1, 0)


def on_cpu(work: int, moved: int) -> Cost:
    """The cost of what the CPU computes: ``work`` multiply-adds or elements, with ``moved`` bytes over the bus."""
    compute = _up(work, CPU_WORK)
    return Cost(max(compute, _up(moved, BUS)), compute, moved, 1, 0.0)


def _cycles(machine: Machine, work: Work, filters: int) -> int:
    """Cycles of a tile of so many filters."""
    steps = work.height * work.width * work.kernel
    if work.depthwise and machine.depthwise == OWN:
        return steps * _up(filters, machine.elements)
    if work.groups > 1:  # the instruction of convolutions takes one group at a time
        apart = Work(work.height, work.width, work.kernel, work.channels // work.groups, work.filters // work.groups)
        groups = _up(filters, apart.filters)
        return groups * _dense(machine, apart, apart.filters)
    return _dense(machine, work, filters)


def _dense(machine: Machine, work: Work, filters: int) -> int:
    steps = work.height * work.width * work.kernel
    if machine.parallel == INPUT:
        return steps * _up(work.channels, machine.elements) * filters
    return steps * work.channels * _up(filters, machine.elements)


def _tiles(machine: Machine, work: Work) -> list[int]:
    """How many filters each tile has: all of them where everything fits, else as many as fit beside the input."""
    channel = work.output_bytes // work.filters + work.filter_bytes
    if work.depthwise:  # a filter needs its own channel of the input alone
        channel += work.input_bytes // work.channels
        room = machine.memory
    else:
        room = machine.memory - work.input_bytes
        if room < channel:  # the input is streamed: half of the memory holds a part of it
            room = machine.memory // 2
    most = max(1, min(work.filters, room // channel))
    whole, rest = divmod(work.filters, most)
    return [most] * whole + ([rest] if rest else [])


def _cost(machine: Machine, compute: int, moved: int, tiles: int, multiply_adds: int) -> Cost:
    cycles = max(compute, _up(moved, BUS), 1)
    return Cost(cycles, compute, moved, tiles, round(multiply_adds / (cycles * machine.elements), 4))


def _up(value: int, by: int) -> int:
    return -(-value // by)
