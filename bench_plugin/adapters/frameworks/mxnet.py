"""MXNet: models and their float64 references, export by mx2onnx, import by mxnet.contrib.onnx."""

from __future__ import annotations

import contextlib
import gc
import importlib
import json
import logging
import os
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple
from unittest import mock

from bench_plugin.agent.adapter import Reply
from bench_plugin.agent.contract import (
    ExportCall,
    ImportCall,
    ModelCall,
    ReferenceCall,
    RunImportedCall,
    processors,
)
from bench_plugin.agent.toolkit import conditioning, conditioning_inputs, construct, samples, versions

ADAPTER = {
    "name": "mxnet",
    "kind": "framework",
    "toolchain": "mxnet",
    "title": "MXNet",
    "distribution": "mxnet",
    "distributions": ["gluoncv"],
    "operations": ["reference", "export", "import_model", "run_imported"],
    "exporters": {"mx2onnx": {"opsets": [12, 13], "opset": 13, "distribution": "mxnet"}},
    "importers": {"onnx2mx": {"opsets": [7, 13], "opset": 13, "distribution": "mxnet"}},
    "default_pairs": [["mx2onnx", "onnx2mx"]],
    "errors": [{"package": "mxnet"}, {"package": "gluoncv"}],
    "unsupported": [
        {"operation": "export", "exception": "AttributeError", "pattern": "No conversion function registered for"},
        {"operation": "export", "exception": "AttributeError", "pattern": "not supported in ONNX"},
        {"operation": "export", "exception": "NotImplementedError", "pattern": ""},
        {"operation": "import_model", "exception": "NotImplementedError", "pattern": ""},
    ],
}

DISTRIBUTIONS = ("mxnet", "gluoncv", "onnx", "numpy", "protobuf")
PERTURBED_RUNS = 8  # of detections, to find the stable ones
SWITCHES = {"OMP_NUM_THREADS": str(processors())}  # read when MXNet is imported
IR_VERSION = 8
OPSET_SHIM = "onnx: names the requested opset and IR 8 as its newest; mx2onnx takes no opset and stamps onnx's own"


class Net(NamedTuple):
    """A traced model: its graph, its weights and statistics by name, and the names of what it takes.

    ``exported`` is the graph as it is exported. Only a detector's differs: it takes an image without a batch, which
    MXNet cannot run (after expand_dims before the first convolution oneDNN refuses the memory of a later array).
    """

    graph: Any
    exported: Any
    values: dict[str, Any]
    inputs: list[str]
    weights: list[str]  # those of the values that training would change


class Adapter:
    """Keeps the model that was built last and the one that was imported last."""

    def __init__(self) -> None:
        os.environ.update(SWITCHES)
        self._key = ""
        self._net: Any = None
        self._build_seconds = 0.0
        self._imported: Any = None

    def versions(self) -> dict[str, str]:
        """Versions of the distributions that take part."""
        return versions.installed(*DISTRIBUTIONS)

    def reset(self) -> None:
        """Forget both models."""
        self._key, self._net, self._imported = "", None, None
        gc.collect()

    def reference(self, call: ReferenceCall) -> Reply:
        """The float64 reference, default kernels, oneDNN's fused ones, and float64 off by one ulp."""
        net = self.built(call)
        call.stage("reference")
        given, few = list(call.inputs.values()), call.noise_samples
        batched, ragged = call.batched, call.model.detections
        if ragged:
            given = [x[:, None] for x in given]  # the graph that runs takes a batch of one
        runs = {"default": samples.one_by_one(function(net), given, batched)}
        names = call.model.output_names(len(runs["default"][0]))
        if not ragged:
            runs["variant"] = samples.one_by_one(function(net, fused=True), [x[:few] for x in given], batched)
        twin = _double_precision(net)
        exact = function(twin)
        runs["truth"] = samples.one_by_one(exact, [samples.doubled(x) for x in given], batched)
        second = [samples.doubled(x) for x in call.second_binding.values()]
        at_second = exact(second) if second else []
        perturbation = conditioning.Perturbation(call.seed, conditioning.DETECTION_ROUNDINGS if ragged else 1)
        if ragged:
            for index in range(PERTURBED_RUNS):
                runs[f"perturbed{index}"] = samples.one_by_one(
                    function(_perturbed(net, perturbation)), [perturbation.given(x) for x in given], batched
                )
        else:
            runs["perturbed"] = samples.one_by_one(
                function(_perturbed(twin, perturbation)),
                [perturbation.given(samples.doubled(x[:few])) for x in given], batched,
            )  # fmt: skip
        arrays = {}
        for kind, results in runs.items():
            arrays.update(samples.blobs(samples.joined(results, names, batched, ragged), kind + ":"))
        arrays.update(samples.blobs(dict(zip(names, at_second)), "alt:"))
        parameters = sum(net.values[name].size for name in net.weights)
        meta: dict[str, object] = {
            "outputs": names, "parameters": parameters, "truth": "float64", "shims": [], "switches": SWITCHES,
            "notes": [] if ragged else ["variant: oneDNN's fused subgraphs"], "build_seconds": self._build_seconds,
        }  # fmt: skip
        return Reply(meta, arrays)

    def export(self, call: ExportCall) -> Reply:
        """``model.onnx`` by mx2onnx, static or with the model's symbolic dimensions."""
        net = self.built(call)
        mx, onnx = importlib.import_module("mxnet"), importlib.import_module("onnx")
        options: dict[str, Any] = {}
        if call.dynamic:
            options = {"dynamic": True, "dynamic_input_shapes": [port.shape for port in call.model.inputs]}
        path = call.path("model.onnx")
        call.stage("export")
        with _newest_opset(onnx, call.opset), _warnings() as said:
            shapes, types = [x.shape for x in call.example], [x.dtype.type for x in call.example]
            mx.onnx.export_model(net.exported, net.values, shapes, types, path, **options)
        meta: dict[str, object] = {
            "requested_opset": call.opset, "shims": [OPSET_SHIM], "warnings": sorted(set(said)),
            "switches": SWITCHES,
        }  # fmt: skip
        return Reply(meta, files={"model.onnx": path})

    def import_model(self, call: ImportCall) -> Reply:
        """Convert ``model.onnx``; the result is kept for :meth:`run_imported`."""
        importlib.import_module("mxnet")
        converter = importlib.import_module("mxnet.contrib.onnx")
        call.stage("import")
        self._imported = None
        graph, weights, statistics = converter.import_model(call.files["model.onnx"])
        self._imported = Net(graph, graph, {**weights, **statistics}, [], [])
        return Reply({"shims": [], "switches": SWITCHES})

    def run_imported(self, call: RunImportedCall) -> Reply:
        """Outputs out0, out1 ... of the imported model. Raises RuntimeError without an import before it."""
        if self._imported is None:
            raise RuntimeError("no model is imported in this agent; import_model must come first in the same lease")
        call.stage("run")
        given = call.inputs
        return samples.answered(call, function(self._imported._replace(inputs=list(given))), list(given.values()))

    def built(self, call: ModelCall) -> Net:
        """The model in float32 with seeded, conditioned weights: that of the last call if it is the same."""
        key = call.identity
        if key != self._key:
            mx = importlib.import_module("mxnet")
            call.stage("build")
            since = time.monotonic()
            self.reset()
            with mx.name.NameManager():  # names are counted from 0 again
                net = _traced(mx, call)
            self._key, self._net, self._build_seconds = key, net, time.monotonic() - since
        built: Net = self._net
        return built


def _traced(mx: Any, call: ModelCall) -> Net:
    """Build the block, generate its weights and keep its graph; the block itself is not needed any more."""
    import numpy as np

    seed = call.seed
    mx.random.seed(seed)
    np.random.seed(seed)
    block = construct.build(call.model)
    for parameter in block.collect_params(".*bias").values():
        parameter.init = parameter.init or "zeros"  # those of blocks made from symbols have none
    # Some constructors initialise their parts themselves, with values that shrink.
    block.initialize(mx.init.Xavier(rnd_type="gaussian", factor_type="in", magnitude=2), force_reinit=True)
    inputs = [port.name for port in call.model.inputs]
    variables = [mx.sym.var(name) for name in inputs]
    inner = _selected(mx, call, block(*variables))
    graph = exported = inner
    if call.model.detections:
        graph = _without_batch(mx, call, inner)
        batches = [x.expand_dims(axis=0) for x in variables]
        exported = _without_batch(mx, call, _selected(mx, call, block(*batches)))
    examples = call.example
    parameters = {name: one for name, one in block.collect_params().items() if name in graph.list_inputs()}
    shapes, _, statistics = exported.infer_shape(**{name: x.shape for name, x in zip(inputs, examples)})
    known = dict(zip([*exported.list_arguments(), *exported.list_auxiliary_states()], [*shapes, *statistics]))
    for name, parameter in parameters.items():
        parameter.shape = known[name]
        parameter._finish_deferred_init()
    values = {name: parameter.data() for name, parameter in parameters.items()}
    constant = {name for name, parameter in parameters.items() if isinstance(parameter, mx.gluon.Constant)}
    weights = [name for name in graph.list_arguments() if name in values and name not in constant]
    net = Net(graph, exported, values, inputs, weights)
    passes = conditioning_inputs.passes(call.model, seed)
    if call.model.detections:  # its inner graph takes a batch, and the model is declared without one
        passes = [[np.stack(xs) for xs in zip(*passes)]]
    _condition(mx, net._replace(graph=inner), seed, passes)
    return net


def _selected(mx: Any, call: ModelCall, result: Any) -> Any:
    """The outputs that the declaration selects, in its order."""
    outputs = _flat(result)
    return mx.sym.Group([outputs[index] for index in call.model.spec.get("select", range(len(outputs)))])


def _without_batch(mx: Any, call: ModelCall, graph: Any) -> Any:
    """The detections of one image."""
    names = call.model.output_names(len(graph.list_outputs()))
    axes = [(0, 2) if name in ("labels", "scores") else (0,) for name in names]  # those two are columns
    return mx.sym.Group([mx.sym.squeeze(y, axis=axis, name=name) for y, axis, name in zip(graph, axes, names)])


def _condition(mx: Any, net: Net, seed: int, passes: Sequence[Sequence[Any]]) -> None:
    """Seeded scales, shifts and biases; statistics of every BatchNorm from these passes, the inputs of one each."""
    weights = conditioning.Weights(seed)
    said = json.loads(net.graph.tojson())
    nodes = said["nodes"]
    norms = [node for node in nodes if node["op"] == "BatchNorm"]
    drawn: dict[str, Any] = {}
    for node in norms:
        scale, shift = (nodes[entry[0]]["name"] for entry in node["inputs"][1:3])
        drawn[shift] = weights.shift
        drawn[scale] = weights.scale if node["attrs"].get("fix_gamma", "True") != "True" else None
    for name in net.weights:
        draw = drawn.get(name, weights.bias if name.endswith("bias") else weights.vector)
        if draw:
            net.values[name][:] = draw(name, net.values[name].asnumpy())
    if not norms:
        return
    for node in nodes:
        if node["op"] == "BatchNorm":
            node["attrs"]["use_global_stats"] = "False"
        elif node["op"] == "Dropout":
            node["attrs"]["p"] = "0.0"
    inner = mx.sym.load_json(json.dumps(said)).get_internals()
    names, wanted = [], []
    for node in norms:  # MXNet itself would only update the statistics in a backward pass
        x, _, _, mean, variance = inner[node["name"] + "_output"].get_children()
        axis = int(node["attrs"].get("axis", "1"))
        centre = mx.sym.mean(x, axis=axis, exclude=True, keepdims=True)
        wanted += [mx.sym.mean(x, axis=axis, exclude=True)]
        wanted += [mx.sym.mean(mx.sym.square(mx.sym.broadcast_sub(x, centre)), axis=axis, exclude=True)]
        names += [mean.name, variance.name]
    run = function(net._replace(graph=mx.sym.Group(wanted)), training=True)
    for name, values in zip(names, zip(*[run(inputs) for inputs in passes])):
        net.values[name][:] = sum(values) / len(values)


def _double_precision(net: Net) -> Net:
    """The same model in float64, the types that its graph names included."""
    mx = importlib.import_module("mxnet")
    said = json.loads(net.graph.tojson())
    for node in said["nodes"]:
        for key, value in node.get("attrs", {}).items():
            if value == "float32":
                node["attrs"][key] = "float64"
        if node["op"] in ("_zeros", "_ones", "_arange", "_full", "argsort", "topk"):
            node["attrs"].setdefault("dtype", "float64")
    values = {name: value.astype("float64") for name, value in net.values.items()}
    return net._replace(graph=mx.sym.load_json(json.dumps(said)), values=values)


def _perturbed(net: Net, perturbation: conditioning.Perturbation) -> Net:
    """The same model with every weight moved."""
    mx = importlib.import_module("mxnet")
    off = {
        name: mx.nd.array(perturbation(net.values[name].asnumpy()), dtype=net.values[name].dtype)
        for name in net.weights
    }  # fmt: skip
    return net._replace(values={**net.values, **off})


def function(net: Net, fused: bool = False, training: bool = False) -> Callable[[Sequence[Any]], list[Any]]:
    """From numpy inputs to the flat list of numpy outputs."""
    mx = importlib.import_module("mxnet")
    bound: dict[Any, Any] = {}

    def run(xs: Sequence[Any]) -> list[Any]:
        key = tuple((x.shape, x.dtype.name) for x in xs)
        if key not in bound:
            bound.clear()
            given = {name: mx.nd.zeros(x.shape, dtype=x.dtype) for name, x in zip(net.inputs, xs)}
            arguments = {name: net.values[name] for name in net.graph.list_arguments() if name in net.values}
            statistics = {name: net.values[name] for name in net.graph.list_auxiliary_states()}
            with mock.patch.dict(os.environ, MXNET_SUBGRAPH_BACKEND="MKLDNN" if fused else "NONE"):
                bound[key] = net.graph.bind(mx.cpu(), {**arguments, **given}, aux_states=statistics, grad_req="null")
        executor = bound[key]
        for name, x in zip(net.inputs, xs):
            executor.arg_dict[name][:] = x
        return [y.asnumpy() for y in executor.forward(is_train=training)]

    return run


@contextlib.contextmanager
def _newest_opset(onnx: Any, opset: int) -> Iterator[None]:
    """onnx as it was when ``opset`` was the newest: what mx2onnx translates to, checks by and stamps on the file."""
    context = onnx.checker.DEFAULT_CONTEXT
    before = context.opset_imports
    context.opset_imports = {"": opset}
    try:
        newest = mock.patch.object(onnx.defs, "onnx_opset_version", lambda: opset)
        with newest, mock.patch.object(onnx.helper, "IR_VERSION", IR_VERSION):
            yield
    finally:
        context.opset_imports = before


@contextlib.contextmanager
def _warnings() -> Iterator[list[str]]:
    """What is logged from warning upwards, as a list that fills: mx2onnx warns through the root logger."""
    said: list[str] = []

    class Keep(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            said.append(record.getMessage())

    handler = Keep(logging.WARNING)
    logging.getLogger().addHandler(handler)
    try:
        yield said
    finally:
        logging.getLogger().removeHandler(handler)


def _flat(result: Any) -> list[Any]:
    """Symbols of a symbol, or of tuples and lists of them, in their order."""
    if isinstance(result, (tuple, list)):
        return [symbol for value in result for symbol in _flat(value)]
    return [result]
