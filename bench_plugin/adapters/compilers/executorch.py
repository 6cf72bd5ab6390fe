"""ExecuTorch: PyTorch models as .pte programs, with what XNNPACK takes delegated to it."""

from __future__ import annotations

import collections
import gc
import importlib
import os
from collections.abc import Sequence
from functools import partial
from typing import Any

from bench_plugin.adapters.frameworks import pytorch
from bench_plugin.adapters.readback.executorch import executorch_layers
from bench_plugin.agent.adapter import Reply, Unsupported
from bench_plugin.agent.contract import CompileCall, RebuildCall, RunCall
from bench_plugin.agent.toolkit import contractions, samples, versions

ADAPTER = {
    "name": "executorch",
    "kind": "compiler",
    "toolchain": "executorch",
    "title": "ExecuTorch",
    "distribution": "executorch",
    "distributions": ["torch", "torchao"],
    "operations": ["compile", "run", "rebuild"],
    "imports": ["torch", "executorch.extension.pybindings.portable_lib"],
    "takes": ["pytorch"],
    "precisions": {"fp32": ["original"], "w8a8": ["original"]},
    "artefact": True,
    "targets": ["local", "aarch64"],
    "portable": True,
    "backends": ["xnnpack", "portable"],
    "uses": ["pytorch", "executorch_layers"],
    "errors": [{"package": "executorch"}, {"package": "torch"}, {"package": "torchao"}],
    "unsupported": [{"operation": "compile", "exception": "Unsupported", "pattern": ""}],
}

ARTEFACT = "model.pte"
MISSING = "0x:14"  # Error::OperatorMissing
QUANTISED = "quantised.pt2"  # the program that a quantised artefact was lowered from
CONTRACTIONS = ("convolution", "conv1d", "conv2d", "linear", "addmm", "mm", "bmm", "matmul")


class Adapter:
    """Keeps the framework's adapter, which keeps the model, and the method that was loaded last."""

    def __init__(self) -> None:
        self._builder: Any = None
        self._key: Any = None
        self._method: Any = None

    def versions(self) -> dict[str, str]:
        """Versions of the distributions that take part."""
        return versions.installed("executorch", "torchao", "torch", "torchvision", "numpy")

    def reset(self) -> None:
        """Forget every model."""
        self._key = self._method = None
        if self._builder is not None:
            self._builder.reset()
        gc.collect()

    def compile(self, call: CompileCall) -> Reply:
        """``model.pte``; int8 by XNNPACK's quantiser, calibrated with the arrays under ``calib:``.

        Beside an artefact of int8 lies ``quantised.pt2``, the quantised program that it was lowered from. Shapes are
        those of the example. Raises Unsupported where nothing would be computed in integers.
        """
        self._builder = self._builder or pytorch.Adapter()
        torch, model = self._builder.torch(), call.of_model
        module = pytorch.plain(torch, self._builder.built(model), model.model.spec)
        examples = _tensors(torch, call.example)
        exir = importlib.import_module("executorch.exir")
        partitioners = _partitioners(call.backend)
        quantised = call.precision == "w8a8"
        tools = _quantisation() if quantised else ()
        call.stage("compile")
        with torch.no_grad():
            program = torch.export.export(module, tuple(examples))
            if quantised:
                calibration = [_tensors(torch, xs) for xs in _calibration(call)]
                prepared = _quantised(program.module(), calibration, *tools)
                program = torch.export.export(prepared, tuple(examples))
                torch.export.save(program, call.path(QUANTISED))
            lowered = exir.to_edge_transform_and_lower(program, partitioner=partitioners)
            placement, counts = _placement(lowered.exported_program().graph_module, bool(partitioners))
            if quantised and not counts["integer"]:
                raise Unsupported("asked w8a8, every convolution and matrix product is in float")
            buffer = lowered.to_executorch().buffer
        files = {ARTEFACT: _written(call.path(ARTEFACT), buffer)}
        if quantised:
            files[QUANTISED] = call.path(QUANTISED)
        meta: dict[str, object] = {
            "effective": "", "integer": contractions.integer(counts) if quantised else "", "portable": True,
            "placement": placement,
            "switches": {
                **_switches(partitioners), **({"quantiser": "symmetric, per channel, static"} if quantised else {}),
            },
            "notes": [],
            "shims": self._builder.shims,
        }  # fmt: skip
        return Reply(meta, files=files)

    def rebuild(self, call: RebuildCall) -> Reply:
        """The layers of ``quantised.pt2``, and ``model.pte`` of the same program with their integers as outputs."""
        torch, exir = importlib.import_module("torch"), importlib.import_module("executorch.exir")
        _quantisation()  # they define the operators of the program
        call.stage("build")
        with torch.no_grad():
            program = torch.export.load(call.files[QUANTISED])  # which reads tensors and text, and runs no code
            layers, module = executorch_layers.rebuilt(program)
            exposed = torch.export.export(module, program.example_inputs[0])
            lowered = exir.to_edge_transform_and_lower(exposed, partitioner=_partitioners(call.backend))
            buffer = lowered.to_executorch().buffer
        return layers.reply({ARTEFACT: _written(call.path(ARTEFACT), buffer)})

    def run(self, call: RunCall) -> Reply:
        """Outputs out0, out1 ... of ``model.pte``."""
        torch = importlib.import_module("torch")
        method = self._opened(call)
        call.stage("run")

        def run(xs: Sequence[Any]) -> list[Any]:
            return [y.numpy().copy() for y in method.execute(_tensors(torch, xs))]  # the next call writes over them

        def bind(xs: Sequence[Any]) -> Any:
            return partial(method.execute, _tensors(torch, xs)), lambda ys: [y.numpy().copy() for y in ys]

        return samples.answered(call, run, list(call.inputs.values()), None, bind)

    def _opened(self, call: RunCall) -> Any:
        path = call.files[ARTEFACT]
        key = (path, os.stat(path).st_mtime_ns, call.threads)
        if key != self._key:
            self.reset()
            bindings = importlib.import_module("executorch.extension.pybindings.portable_lib")
            bindings._unsafe_reset_threadpool(call.threads)  # safe while no method is loaded
            runtime = importlib.import_module("executorch.runtime").Runtime.get()
            try:
                self._method, self._key = runtime.load_program(path).load_method("forward"), key
            except RuntimeError as error:
                if MISSING not in str(error):
                    raise
                missing = _missing(path, set(runtime.operator_registry.operator_names))
                raise Unsupported(f"the runtime has no kernel of {', '.join(missing)}") from None
        return self._method


def _missing(path: str, known: set[str]) -> list[str]:
    """The operators of a program that a runtime with these does not know."""
    with open(path, "rb") as file:
        read = importlib.import_module("executorch.exir._serialize._program").deserialize_pte_binary(file.read())
    program = getattr(read, "program", read)
    used = (f"{one.name}.{one.overload}" if one.overload else one.name for one in program.execution_plan[0].operators)
    return sorted(name for name in used if name not in known)


def _tensors(torch: Any, xs: Sequence[Any]) -> list[Any]:
    return [torch.from_numpy(x.copy()) for x in xs]


def _written(path: str, buffer: bytes) -> str:
    with open(path, "wb") as file:
        file.write(buffer)
    return path


def _partitioners(backend: str) -> list[Any]:
    if backend == "portable":
        return []
    return [importlib.import_module("executorch.backends.xnnpack.partition.xnnpack_partitioner").XnnpackPartitioner()]


def _quantisation() -> tuple[Any, Any]:
    """The quantiser's module and the tool that it is for, imported before time is taken."""
    return (
        importlib.import_module("executorch.backends.xnnpack.quantizer.xnnpack_quantizer"),
        importlib.import_module("torchao.quantization.pt2e.quantize_pt2e"),
    )


def _quantised(module: Any, calibration: Sequence[Sequence[Any]], quantisers: Any, pt2e: Any) -> Any:
    scheme = quantisers.get_symmetric_quantization_config(is_per_channel=True)
    prepared = pt2e.prepare_pt2e(module, quantisers.XNNPACKQuantizer().set_global(scheme))
    for xs in calibration:
        prepared(*xs)
    return pt2e.convert_pt2e(prepared)


def _calibration(call: CompileCall) -> list[list[Any]]:
    """The inputs of every calibration run, in the order that the model takes them."""
    names = [port.name for port in call.of_model.model.inputs]
    return [[feed[name] for name in names] for feed in samples.feeds(call.calibration, call.batched)]


def _switches(partitioners: Sequence[Any]) -> dict[str, object]:
    """What the delegate's partitioners say of options that numbers depend on."""
    configs = [config for one in partitioners for config in getattr(one, "configs", {}).values()]
    return {
        name: sorted({str(getattr(config, name)) for config in configs if hasattr(config, name)})
        for name in ("force_non_static_weights_for_f32_linear", "enabled_precision_types")
    }


def _placement(graph: Any, delegating: bool) -> tuple[dict[str, object], dict[str, dict[str, int]]]:
    """How many operators XNNPACK got, which ones it did not, and in what contractions are computed."""
    inside, outside, rows = 0, collections.Counter[str](), list[tuple[str, bool]]()
    for node in graph.graph.nodes:
        if node.op == "call_function" and "executorch_call_delegate" in str(node.target):
            part = getattr(graph, node.args[0].target).original_module.graph
            inside += sum(one.op == "call_function" for one in part.nodes)
            for one in part.nodes:
                if one.op == "call_function" and _name(one) in CONTRACTIONS:
                    sources = [source for source in one.args[:2] if hasattr(source, "target")]
                    rows.append((_name(one), all("dequantize" in str(source.target) for source in sources)))
        elif node.op == "call_function" and "getitem" not in str(node.target):
            outside[_name(node)] += 1
            rows.extend([(_name(node), False)] if _name(node) in CONTRACTIONS else [])
    nodes = inside + outside.total()
    requested = inside / max(nodes, 1) if delegating else 1.0
    counts = contractions.counted(rows)
    fallback = sorted(outside) if delegating else []
    return {"requested": requested, "nodes": nodes, "fallback": fallback, **contractions.placed(counts)}, counts


def _name(node: Any) -> str:
    """``aten.convolution.default`` is a convolution."""
    parts = str(getattr(node.target, "__name__", node.target)).split(".")
    return parts[-2] if len(parts) > 1 else parts[0]
