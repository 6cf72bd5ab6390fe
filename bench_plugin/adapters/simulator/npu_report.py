"""The partition report of the simulated accelerator: cycles, utilisation and bytes of every step, and its subgraphs."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any

from bench_plugin.adapters.simulator import npu_cycles, npu_partition
from bench_plugin.adapters.simulator.npu_cycles import Cost, Machine, Work
from bench_plugin.adapters.simulator.npu_partition import NPU, Graph, Step
from bench_plugin.agent.toolkit import versions

ADAPTER = {
    "name": "npu_report",
    "kind": "tool",
    "toolchain": "onnxruntime",
    "title": "Partition report of the simulated accelerator",
    "distribution": "numpy",
    "operations": [],
    "uses": ["npu_cycles", "npu_partition"],
}

Shapes = Mapping[str, Sequence[int]]


class Adapter:
    """Remembers nothing; the adapter that uses this file takes its functions."""

    def versions(self) -> dict[str, str]:
        """Versions of the distributions that take part."""
        return versions.installed("numpy")

    def reset(self) -> None:
        """Nothing to forget."""


def report(graph: Graph, steps: Sequence[Step], shapes: Shapes, machine: Machine) -> dict[str, Any]:
    """The report as plain data; ``shapes`` has those of all tensors that are known.

    ``cut`` of a subgraph says why it does not belong to the one before it. Bytes that pass from one place to the other
    go over the bus: they are those of the tensors that the subgraph takes from the other place.
    """
    costs = [_cost(graph, step, shapes, machine) for step in steps]
    nodes = [
        {
            "name": graph.nodes[step.nodes[0]].name or step.outputs[0], "operators": list(step.operators),
            "place": step.place, "instruction": step.kind, "why": step.reason, "cycles": cost.cycles,
            "compute_cycles": cost.compute, "bus_bytes": cost.bus_bytes, "tiles": cost.tiles,
            "utilisation": cost.utilisation,
        }
        for step, cost in zip(steps, costs)
    ]  # fmt: skip
    subgraphs = _subgraphs(steps, costs, shapes)
    passed = sum(int(one["passed_bytes"]) for one in subgraphs)
    busy = sum(cost.compute for step, cost in zip(steps, costs) if step.place == NPU)
    useful = sum(cost.utilisation * cost.cycles for cost in costs)
    whole = sum(cost.cycles for step, cost in zip(steps, costs) if step.place == NPU)
    return {
        "machine": {
            "elements": machine.elements, "parallel": machine.parallel, "memory_bytes": machine.memory,
            "depthwise": machine.depthwise, "bus_bytes_per_cycle": npu_cycles.BUS,
        },
        "cycles": sum(cost.cycles for cost in costs) + -(-passed // npu_cycles.BUS),
        "compute_cycles": busy,
        "utilisation": round(useful / whole, 4) if whole else 0.0,
        "bus_bytes": sum(cost.bus_bytes for cost in costs) + passed,
        "subgraphs": subgraphs,
        "nodes": nodes,
    }  # fmt: skip


def _subgraphs(steps: Sequence[Step], costs: Sequence[Cost], shapes: Shapes) -> list[dict[str, Any]]:
    """The runs of steps at one place, in their order."""
    made_at: dict[str, str] = {}
    found: list[dict[str, Any]] = []
    for place, pairs in groupby(zip(steps, costs), key=lambda pair: pair[0].place):
        group = list(pairs)
        taken = {name for step, _ in group for name in step.inputs if made_at.get(name, place) != place}
        reasons = [step.reason for step, _ in group if step.reason]
        # Quantisation nodes around an operator follow from it.
        why = next((one for one in reasons if one not in npu_partition.QUANTISATION.values()), "".join(reasons[:1]))
        found.append({
            "place": place, "steps": len(group), "operators": sum(len(step.operators) for step, _ in group),
            "cycles": sum(cost.cycles for _, cost in group),
            "passed_bytes": sum(math.prod(shapes.get(name, ())) for name in taken),
            "cut": why if place != NPU else "back to the accelerator" if found else "",
        })  # fmt: skip
        made_at.update({name: place for step, _ in group for name in step.outputs})
    return found


def _cost(graph: Graph, step: Step, shapes: Shapes, machine: Machine) -> Cost:
    """What a step costs; of a shape that is not known the elements count as none."""
    shape = list(shapes.get(step.outputs[0], ()))
    elements = math.prod(shape) if shape else 0
    work = _work(graph, step, shape, shapes) if step.kind in npu_partition.WEIGHTED else None
    if step.place != NPU:
        return npu_cycles.on_cpu(
            work.multiply_adds if work else elements, work.filter_bytes * work.filters if work else 0
        )
    if work is not None:
        return npu_cycles.convolution(machine, work)
    channels = shape[1] if len(shape) > 1 else elements
    kernel = _kernel(graph, step, shapes)
    pixels = elements // channels if channels else 0
    one = npu_cycles.elementwise(machine, pixels, 1, channels, len(step.inputs))
    return one._replace(cycles=one.cycles * kernel, compute=one.compute * kernel)


def _work(graph: Graph, step: Step, shape: Sequence[int], shapes: Shapes) -> Work:
    weights = npu_partition.weights_of(graph, step)
    given = list(shapes.get(step.inputs[0], ()))
    if step.operators[0] == "Conv":
        filters, per_group, high, wide = weights.shape
        channels = given[1] if len(given) > 1 else per_group
        pixels = math.prod(given[2:]) * given[0] if given else 0
        return Work(shape[2] * shape[0], shape[3], high * wide, channels, filters, channels // per_group, pixels)
    rows = math.prod(shape[:-1]) if shape else 1
    filters = shape[-1] if shape else max(weights.shape)
    return Work(rows, 1, 1, weights.size // filters, filters, pixels=rows)


def _kernel(graph: Graph, step: Step, shapes: Shapes) -> int:
    """Elements of a window of a pooling; 1 for everything else."""
    if step.kind not in ("maximum", "average"):
        return 1
    node = graph.nodes[step.nodes[0]]
    window = next((list(one.ints) for one in node.attribute if one.name == "kernel_shape"), None)
    return max(1, math.prod(window if window is not None else shapes.get(step.inputs[0], ())[2:]))
