"""MobileNetV1 for ImageNet (Howard et al. 2017, table 1) as work of the cycle model."""

from __future__ import annotations

from bench_plugin.adapters.simulator.npu_cycles import CPU, Cost, Machine, Work, convolution, elementwise, on_cpu

FIRST, SIZE, CLASSES = 32, 112, 1000
# Filters and stride of the depthwise convolution of each block.
BLOCKS = [(64, 1), (128, 2), (128, 1), (256, 2), (256, 1), (512, 2), *[(512, 1)] * 5, (1024, 2), (1024, 1)]


def layers() -> list[Work]:
    """Every layer in its order, at batch 1; multiply-adds are 569 million, weights 4.2 million."""
    found = [Work(SIZE, SIZE, 9, 3, FIRST, pixels=224 * 224)]
    channels, size = FIRST, SIZE
    for filters, stride in BLOCKS:
        before, size = size, size // stride
        found.append(Work(size, size, 9, channels, channels, channels, before * before))
        found.append(Work(size, size, 1, channels, filters))
        channels = filters
    return [*found, Work(1, 1, 1, channels, CLASSES)]


def cycles(machine: Machine, work: list[Work] | None = None) -> int:
    """Cycles of all layers, each a pipeline of convolution, bias and activation."""
    return sum(cost(machine, one).cycles for one in work or layers())


def cost(machine: Machine, one: Work) -> Cost:
    """Of a layer; the CPU computes depthwise ones where the machine says so, and gets and gives their activations."""
    if one.depthwise and machine.depthwise == CPU:
        moved = one.input_bytes + one.output_bytes + one.filter_bytes * one.filters
        return on_cpu(one.multiply_adds, moved)
    return convolution(machine, one)


def normalised(machine: Machine, one: Work) -> int:
    """Cycles of a convolution whose pipeline a BatchNormalization breaks: it and the activation are apart."""
    apart = elementwise(machine, one.height, one.width, one.filters)
    return cost(machine, one).cycles + 2 * apart.cycles
