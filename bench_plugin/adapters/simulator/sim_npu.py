"""The compiler and the runtime of a simulated accelerator for int8: bit-exact results, and cycles by a model."""

from __future__ import annotations

import importlib
import json
import os
from collections.abc import Mapping, Sequence
from typing import Any

from bench_plugin.adapters.simulator import npu_cycles, npu_integers, npu_partition, npu_report
from bench_plugin.agent import external
from bench_plugin.agent.adapter import Reply, Unsupported
from bench_plugin.agent.contract import CompileCall, CompilerCall, RunCall
from bench_plugin.agent.toolkit import contractions, samples, versions

ADAPTER = {
    "name": "sim_npu",
    "kind": "compiler",
    "toolchain": "onnxruntime",
    "title": "Simulated accelerator",
    "distribution": "onnx",
    "operations": ["compile", "run"],
    "takes": ["onnx"],
    "precisions": {"w8a8": ["qdq"]},
    "targets": ["sim-npu"],
    "options": {
        "parallel": ["output", "input"],
        "elements": ["64", "128"],
        "memory": ["1MiB", "512KiB", "256MiB"],
        "depthwise": ["own", "convolution", "cpu"],
    },
    "on_request": True,
    "uses": ["npu_cycles", "npu_integers", "npu_partition", "npu_report"],
    "errors": [{"package": "onnx"}, {"exception": "OverflowError"}],
    "unsupported": [{"exception": "RuntimeImplementationError", "pattern": ""}],
}  # fmt: skip

PROGRAM, REPORT, MODEL = "program.json", "report.json", "model.onnx"
SIMULATED = "cycles are those of a model, and no time"


class Adapter:
    """Keeps the program that was opened last."""

    def __init__(self) -> None:
        self._key: Any = None
        self._runtime: Any = None
        self._inputs: list[str] = []

    def versions(self) -> dict[str, str]:
        """Versions of the distributions that take part."""
        return versions.installed("onnx", "numpy")

    def reset(self) -> None:
        """Forget the program."""
        self._key = self._runtime = None

    def compile(self, call: CompileCall) -> Reply:
        """``program.json`` (the steps), ``report.json`` (the partition), and the graph that holds their constants.

        Raises Unsupported for a graph without a layer of the accelerator.
        """
        onnx = importlib.import_module("onnx")
        call.stage("compile")
        machine = _machine(call)
        model = onnx.load(call.files[MODEL])
        graph = npu_partition.graph_of(onnx, model)
        steps = npu_partition.planned(graph, machine.depthwise == npu_cycles.CPU)
        on_npu = [step for step in steps if step.place == npu_partition.NPU]
        if not on_npu:
            raise Unsupported("no layer of the graph has integers as inputs and as outputs")
        said = npu_report.report(graph, steps, _shapes(onnx, model, call.binding), machine)
        files = external.artefact(call.files[MODEL], call.folder)
        for name, data in ((PROGRAM, [step.plain() for step in steps]), (REPORT, said)):
            with open(call.path(name), "w", encoding="utf-8") as file:
                json.dump(data, file, indent=1)
            files[name] = call.path(name)
        counts = contractions.counted(
            (step.operators[0], bool(step.kind))
            for step in steps
            if step.kind in npu_partition.WEIGHTED or step.operators[0] in ("Conv", "Gemm", "MatMul")
        )
        placement = {
            "requested": round(len(on_npu) / len(steps), 4), "nodes": len(model.graph.node),
            "fallback": sorted({step.reason for step in steps if step.reason}), **contractions.placed(counts),
            "simulated": said,
        }  # fmt: skip
        meta: dict[str, object] = {
            "effective": call.precision, "integer": contractions.integer(counts), "switches": dict(call.options),
            "placement": placement, "notes": [SIMULATED],
        }  # fmt: skip
        return Reply(meta, files=files)

    def run(self, call: RunCall) -> Reply:
        """Outputs out0, out1 ... of the program."""
        runtime = self._opened(call)
        call.stage("run")
        given = call.named(self._inputs)

        def run(xs: Sequence[Any]) -> list[Any]:
            return list(runtime.run(dict(zip(given, xs))))

        return samples.answered(call, run, list(given.values()))

    def _opened(self, call: RunCall) -> Any:
        path = call.files[PROGRAM]
        key = (path, os.stat(path).st_mtime_ns)
        if key != self._key:
            self.reset()
            onnx = importlib.import_module("onnx")
            model = onnx.load(external.placed(call.files, call.folder))
            with open(path, encoding="utf-8") as file:
                steps = [npu_partition.Step(**row) for row in json.load(file)]
            graph = npu_partition.graph_of(onnx, model)
            self._inputs = [value.name for value in model.graph.input if value.name not in graph.constants]
            self._runtime = npu_integers.Runtime(onnx, model, graph, steps)
            self._key = key
        return self._runtime


def _machine(call: CompilerCall) -> npu_cycles.Machine:
    """The configuration that the call's options select."""
    return npu_cycles.Machine(
        int(call.option("elements", "64")), call.option("parallel", npu_cycles.OUTPUT),
        npu_cycles.MEMORY[call.option("memory", "1MiB")], call.option("depthwise", npu_cycles.OWN),
    )  # fmt: skip


def _shapes(onnx: Any, model: Any, binding: Mapping[str, int]) -> dict[str, list[int]]:
    """The shapes of all tensors at the sizes of the call; a dimension that is still not known counts as 1."""
    bound = onnx.ModelProto()
    bound.CopyFrom(model)
    for value in (*bound.graph.input, *bound.graph.output):
        for dim in value.type.tensor_type.shape.dim:
            if dim.dim_param:
                dim.dim_value = binding.get(dim.dim_param, 1)
    del bound.graph.value_info[:]
    inferred = onnx.shape_inference.infer_shapes(bound, data_prop=True).graph
    return {
        value.name: [dim.dim_value or 1 for dim in value.type.tensor_type.shape.dim]
        for value in (*inferred.value_info, *inferred.input, *inferred.output)
    }
