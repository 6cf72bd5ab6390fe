"""JAX: Flax's modules and their references, export by jax2onnx, import through StableHLO by torch-mlir."""

from __future__ import annotations

import gc
import importlib
import os
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from bench_plugin.adapters.frameworks import stablehlo_conversion
from bench_plugin.agent.adapter import Reply
from bench_plugin.agent.contract import ExportCall, ImportCall, ModelCall, ReferenceCall, RunImportedCall
from bench_plugin.agent.toolkit import conditioning, conditioning_inputs, construct, samples, versions

ADAPTER = {
    "name": "jax",
    "kind": "framework",
    "toolchain": "jax",
    "title": "JAX",
    "distribution": "jax",
    "distributions": ["jaxlib", "flax"],
    "operations": ["reference", "export", "import_model", "run_imported"],
    # Its environment is made where it is asked for by name, so that usual runs need three frameworks only.
    "on_request": True,
    "exporters": {"jax2onnx": {"opsets": [21, 23], "opset": 21, "distribution": "jax2onnx"}},
    "importers": {"stablehlo": {"opsets": [1, 28], "opset": 21, "distribution": "torch-mlir"}},
    "default_pairs": [["jax2onnx", "stablehlo"]],
    "uses": ["stablehlo_conversion"],
    "errors": [
        {"package": "jax"},
        {"package": "jaxlib"},
        {"package": "flax"},
        {"package": "jax2onnx"},
        {"package": "torch_mlir"},
    ],
}

DISTRIBUTIONS = ("jax", "jaxlib", "flax", "jax2onnx", "torch-mlir", "onnx", "numpy")
# Set before JAX is imported, and named in the row.
SWITCHES = {"JAX_PLATFORMS": "cpu", "JAX_DEFAULT_MATMUL_PRECISION": "highest"}


class Adapter:
    """Keeps the model that was built last, and the file that was imported last with what was made of it."""

    def __init__(self) -> None:
        os.environ.update(SWITCHES)
        self._imported: Any = None
        self._functions: dict[tuple[Any, ...], Any] = {}
        self._key = ""
        self._net: Any = None
        self._build_seconds = 0.0

    def versions(self) -> dict[str, str]:
        """Versions of the distributions that take part."""
        return versions.installed(*DISTRIBUTIONS)

    def reset(self) -> None:
        """Forget both models."""
        self._key, self._net, self._imported = "", None, None
        self._functions.clear()
        gc.collect()

    def reference(self, call: ReferenceCall) -> Reply:
        """The float64 reference, compiled by XLA, operator by operator as the variant, and float64 off by one ulp."""
        jax, nnx = importlib.import_module("jax"), importlib.import_module("flax.nnx")
        net = self.built(call)
        call.stage("reference")
        given, batched, few = list(call.inputs.values()), call.batched, call.noise_samples
        graph, state = nnx.split(net)
        apply = _function(jax, nnx, graph, state)
        runs = {"default": samples.one_by_one(apply, given, batched)}
        with jax.disable_jit():
            eager = _function(jax, nnx, graph, state, compiled=False)
            runs["variant"] = samples.one_by_one(eager, [x[:few] for x in given], batched)
        perturbation = conditioning.Perturbation(call.seed)
        with jax.enable_x64(True):
            exact = _function(jax, nnx, graph, jax.tree.map(_doubled, state))
            runs["truth"] = samples.one_by_one(exact, [samples.doubled(x) for x in given], batched)
            second = [samples.doubled(x) for x in call.second_binding.values()]
            at_second = exact(second) if second else []
            off = _function(jax, nnx, graph, jax.tree.map(lambda x: perturbation(_doubled(x)), state))
            runs["perturbed"] = samples.one_by_one(
                off, [perturbation.given(samples.doubled(x[:few])) for x in given], batched
            )
        names = call.model.output_names(len(runs["default"][0]))
        arrays = {}
        for kind, results in runs.items():
            arrays.update(samples.blobs(samples.joined(results, names, batched), kind + ":"))
        arrays.update(samples.blobs(dict(zip(names, at_second)), "alt:"))
        parameters = sum(int(x.size) for x in jax.tree.leaves(nnx.state(net, nnx.Param)))
        meta: dict[str, object] = {
            "outputs": list(names), "parameters": parameters, "truth": "float64", "shims": [], "switches": SWITCHES,
            "notes": ["variant: operator by operator, without XLA's fusions"], "build_seconds": self._build_seconds,
        }  # fmt: skip
        return Reply(meta, arrays)

    def export(self, call: ExportCall) -> Reply:
        """``model.onnx`` by jax2onnx, static or with the model's symbolic dimensions."""
        jax, converter = importlib.import_module("jax"), importlib.import_module("jax2onnx")
        onnx = importlib.import_module("onnx")
        net = self.built(call)
        call.stage("export")
        ports = call.model.inputs
        shapes = [port.shape if call.dynamic else x.shape for port, x in zip(ports, call.example)]
        specs = [jax.ShapeDtypeStruct(tuple(shape), x.dtype) for shape, x in zip(shapes, call.example)]
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            model = converter.to_onnx(net, specs, model_name=call.model.name, opset=call.opset)
        _name(model.graph, [port.name for port in ports], call.model.output_names(len(model.graph.output)))
        onnx.save(model, call.path("model.onnx"))
        meta: dict[str, object] = {
            "requested_opset": call.opset, "shims": ["inputs and outputs named in the file: jax2onnx numbers them"],
            "warnings": sorted({str(one.message).splitlines()[0] for one in said}), "switches": SWITCHES,
        }  # fmt: skip
        return Reply(meta, files={"model.onnx": call.path("model.onnx")})

    def import_model(self, call: ImportCall) -> Reply:
        """Convert ``model.onnx`` to StableHLO, for one sample, where a symbol that is no batch has two elements.

        A StableHLO program is for inputs of fixed sizes here: :meth:`run_imported` makes another one for others.
        """
        call.stage("import")
        self._functions.clear()
        self._imported = None
        self._imported = importlib.import_module("onnx").load(call.files["model.onnx"])
        shapes = {
            port.name: tuple(
                size if isinstance(size, int) else 1 if axis == 0 and call.batched else 2
                for axis, size in enumerate(port.shape)
            )
            for port in call.input_ports
        }
        self._function(shapes)
        return Reply({"shims": [stablehlo_conversion.ARITH], "switches": SWITCHES})

    def run_imported(self, call: RunImportedCall) -> Reply:
        """Outputs out0, out1 ... of the imported model. Raises RuntimeError without an import before it."""
        if self._imported is None:
            raise RuntimeError("no model is imported in this agent; import_model must come first in the same lease")
        call.stage("run")
        given = call.inputs

        def run(xs: Sequence[Any]) -> list[Any]:
            return list(self._function({name: x.shape for name, x in zip(given, xs)})(xs))

        return samples.answered(call, run, list(given.values()))

    def _function(self, shapes: Mapping[str, Sequence[int]]) -> Callable[[Sequence[Any]], list[Any]]:
        """The imported model for inputs of these shapes."""
        key = tuple((name, tuple(shape)) for name, shape in shapes.items())
        if key not in self._functions:
            jax = importlib.import_module("jax")
            self._functions[key] = stablehlo_conversion.function(
                jax, stablehlo_conversion.program(self._imported, shapes)
            )
        found: Callable[[Sequence[Any]], list[Any]] = self._functions[key]
        return found

    def built(self, call: ModelCall) -> Any:
        """The model in float32 with seeded and conditioned weights for inference; the last call's if it is the same."""
        key = call.identity
        if key != self._key:
            nnx = importlib.import_module("flax.nnx")
            call.stage("build")
            since = time.monotonic()
            self.reset()
            net = construct.build(call.model)
            _condition(nnx, net, call)
            self._key, self._net, self._build_seconds = key, net, time.monotonic() - since
        return self._net


def _function(
    jax: Any, nnx: Any, graph: Any, state: Any, compiled: bool = True
) -> Callable[[Sequence[Any]], list[Any]]:
    """From numpy inputs to the flat list of numpy outputs."""
    import numpy as np

    def apply(values: Any, *xs: Any) -> Any:
        return nnx.merge(graph, values)(*xs)

    call = jax.jit(apply) if compiled else apply

    def run(xs: Sequence[Any]) -> list[Any]:
        return [np.asarray(y) for y in jax.tree.leaves(call(state, *xs))]

    return run


def _doubled(values: Any) -> Any:
    import numpy as np

    return samples.doubled(np.asarray(values))


def _condition(nnx: Any, net: Any, call: ModelCall) -> None:
    """Seeded scales, shifts, biases and kernels; statistics of every BatchNorm from a pass over seeded inputs."""
    import numpy as np

    weights = conditioning.Weights(call.seed)
    norms = [module for _, module in nnx.iter_modules(net) if isinstance(module, nnx.BatchNorm)]
    of_norms = {id(value) for module in norms for value in (module.scale, module.bias) if value is not None}
    for path, variable in nnx.iter_graph(net):
        if not isinstance(variable, nnx.Param):
            continue
        name, values = "/".join(map(str, path)), np.asarray(variable.get_value())
        if id(variable) in of_norms:
            draw = weights.scale if path[-1] == "scale" else weights.shift
        elif path[-1] == "bias":
            draw = weights.bias
        else:  # JAX's own random numbers differ from release to release
            draw = weights.kernel if values.ndim > 1 else weights.vector
        variable.set_value(np.asarray(draw(name, values), dtype=values.dtype))
    for module in norms:
        module.use_running_average, module.momentum = False, 0.0  # the statistics of the only batch that it sees
    if norms:
        passes = conditioning_inputs.passes(call.model, call.seed, channels_last=True)
        net(*(np.concatenate(xs) if len(passes) > 1 else xs[0] for xs in zip(*passes)))
    net.eval()
    for module in norms:
        module.use_running_average = True


def _name(graph: Any, inputs: Sequence[str], outputs: Sequence[str]) -> None:
    """Give the graph's inputs and outputs these names, wherever they are used."""
    pairs = [*zip(graph.input, inputs), *zip(graph.output, outputs)]
    names = {value.name: name for value, name in pairs}
    taken = {name for node in graph.node for name in (*node.input, *node.output)} - names.keys()
    names = {old: new for old, new in names.items() if new not in taken}
    for node in graph.node:
        for row in (node.input, node.output):
            for index, name in enumerate(row):
                row[index] = names.get(name, name)
    for value in (*graph.input, *graph.output, *graph.value_info):
        value.name = names.get(value.name, value.name)
