"""PyTorch: models and their references, export by dynamo and TorchScript, import by onnx2pytorch and onnx2torch."""

from __future__ import annotations

import copy
import gc
import importlib
import sys
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from bench_plugin.adapters.frameworks import pruning, torchvision_operators
from bench_plugin.agent.adapter import Reply
from bench_plugin.agent.contract import (
    WEIGHTS,
    ExportCall,
    ImportCall,
    ModelCall,
    ReferenceCall,
    RunImportedCall,
    processors,
)
from bench_plugin.agent.toolkit import conditioning, conditioning_inputs, construct, samples, versions

ADAPTER = {
    "name": "pytorch",
    "kind": "framework",
    "toolchain": "pytorch",
    "title": "PyTorch",
    "distribution": "torch",
    "distributions": ["torchvision"],
    "operations": ["reference", "export", "import_model", "run_imported"],
    "exporters": {
        "torchscript": {"opsets": [9, 20], "opset": 17, "distribution": "torch"},
        "dynamo": {"opsets": [18, 23], "opset": 20, "distribution": "onnxscript"},
    },
    "importers": {
        "onnx2pytorch": {"opsets": [7, 28], "opset": 17, "distribution": "onnx2pytorch"},
        "onnx2torch": {"opsets": [9, 28], "opset": 17, "distribution": "onnx2torch"},
    },
    "uses": ["torchvision_operators", "pruning"],
    "default_pairs": [["torchscript", "onnx2pytorch"], ["torchscript", "onnx2torch"], ["dynamo", "onnx2torch"]],
    "errors": [
        {"package": "torch"},
        {"package": "torchvision"},
        {"package": "onnxscript"},
        {"package": "onnx2torch"},
        {"package": "onnx2pytorch"},
    ],
    "unsupported": [
        {"operation": "export", "exception": "UnsupportedOperatorError", "pattern": ""},
        {"operation": "export", "exception": "DispatchError", "pattern": ""},
        {"operation": "export", "exception": "ConversionError", "pattern": "No ONNX function found"},
        {"operation": "import_model", "exception": "NotImplementedError", "pattern": ""},
    ],
}

DISTRIBUTIONS = ("torch", "torchvision", "onnxscript", "onnx2pytorch", "onnx2torch", "onnx", "numpy")
PERTURBED_RUNS = 8  # of detections, to find the stable ones


class Adapter:
    """Keeps the model that was built last and the one that was imported last."""

    def __init__(self) -> None:
        self._key = ""
        self._net: Any = None
        self._build_seconds = 0.0
        self._imported: Any = None
        self.shims: list[str] = []
        self._libraries: list[Any] = []

    def versions(self) -> dict[str, str]:
        """Versions of the distributions that take part."""
        return versions.installed(*DISTRIBUTIONS)

    def reset(self) -> None:
        """Forget both models."""
        self._key, self._net, self._imported = "", None, None
        gc.collect()

    def reference(self, call: ReferenceCall) -> Reply:
        """The float64 reference, default kernels, one thread with channels last, and float64 off by one ulp."""
        torch = self.torch()
        net = self.built(call)
        call.stage("reference")
        given, few = list(call.inputs.values()), call.noise_samples
        batched, ragged = call.batched, call.model.detections
        single, twin = self._function(call, net), copy.deepcopy(net).double()
        exact = self._function(call, twin)
        runs = {
            "default": samples.one_by_one(single, given, batched),
            "truth": samples.one_by_one(exact, [samples.doubled(x) for x in given], batched),
        }
        names = call.model.output_names(len(runs["default"][0]))
        second = [samples.doubled(x) for x in call.second_binding.values()]
        at_second = exact(second) if second else []
        perturbation = conditioning.Perturbation(call.seed, conditioning.DETECTION_ROUNDINGS if ragged else 1)
        if ragged:
            for index in range(PERTURBED_RUNS):
                off = copy.deepcopy(net)
                _perturb(torch, off, perturbation)
                runs[f"perturbed{index}"] = samples.one_by_one(
                    self._function(call, off), [perturbation.given(x) for x in given], batched
                )
        else:
            runs["variant"] = self._variant(call, net, [x[:few] for x in given])
            _perturb(torch, twin, perturbation)
            runs["perturbed"] = samples.one_by_one(
                exact, [perturbation.given(samples.doubled(x[:few])) for x in given], batched
            )
        arrays = {}
        for kind, results in runs.items():
            arrays.update(samples.blobs(samples.joined(results, names, batched, ragged), kind + ":"))
        arrays.update(samples.blobs(dict(zip(names, at_second)), "alt:"))
        parameters = sum(weight.numel() for weight in net.parameters())
        meta: dict[str, object] = {
            "outputs": names, "parameters": parameters, "truth": "float64", "shims": self.shims,
            "notes": [] if ragged else ["variant: one thread, channels last"], "build_seconds": self._build_seconds,
        }  # fmt: skip
        return Reply(meta, arrays)

    def export(self, call: ExportCall) -> Reply:
        """``model.onnx`` by the call's exporter, static or with the model's symbolic dimensions."""
        torch = self.torch()
        net = plain(torch, self.built(call), call.model.spec)
        convert = {"torchscript": _by_torchscript, "dynamo": _by_dynamo}[call.exporter]
        path = call.path("model.onnx")
        call.stage("export")
        with warnings.catch_warnings(record=True) as said, torch.no_grad():
            warnings.simplefilter("always")
            convert(torch, net, call, path)
        meta: dict[str, object] = {
            "requested_opset": call.opset, "shims": self.shims,
            "warnings": sorted({str(one.message).splitlines()[0] for one in said}),
        }  # fmt: skip
        return Reply(meta, files={"model.onnx": path})

    def import_model(self, call: ImportCall) -> Reply:
        """Convert ``model.onnx``; the result is kept for :meth:`run_imported`."""
        self.torch()
        onnx = importlib.import_module("onnx")
        converter = importlib.import_module(call.importer)
        call.stage("import")
        self._imported = None
        model = onnx.load(call.files["model.onnx"])
        convert = converter.ConvertModel if call.importer == "onnx2pytorch" else converter.convert
        self._imported = convert(model).eval()
        return Reply({"shims": self.shims})

    def run_imported(self, call: RunImportedCall) -> Reply:
        """Outputs out0, out1 ... of the imported model. Raises RuntimeError without an import before it."""
        if self._imported is None:
            raise RuntimeError("no model is imported in this agent; import_model must come first in the same lease")
        call.stage("run")
        torch, net = self.torch(), self._imported

        def run(xs: Sequence[Any]) -> list[Any]:
            with torch.no_grad():
                return _flat(net(*(torch.from_numpy(x.copy()) for x in xs)))

        return samples.answered(call, run, list(call.inputs.values()))

    def torch(self) -> Any:
        """torch, with torchvision made importable beside it."""
        torch = importlib.import_module("torch")
        if "torchvision" not in sys.modules:
            torch.set_num_threads(processors())
            self.shims, self._libraries = torchvision_operators.imported(torch)
        return torch

    def built(self, call: ModelCall) -> Any:
        """The model in float32 with trained, or seeded and conditioned weights: the last call's if it is the same."""
        key = call.identity
        if key != self._key:
            torch = self.torch()
            call.stage("build")
            since = time.monotonic()
            self.reset()
            torch.manual_seed(call.seed)
            net = construct.build(call.model).eval()
            pruning.of_torch(torch, net, call.model.kept)
            if WEIGHTS in call.files:
                load_weights(torch, net, call.files[WEIGHTS])
            else:
                _condition(torch, net, call)
            self._key, self._net, self._build_seconds = key, net, time.monotonic() - since
        return self._net

    def _function(self, call: ModelCall, net: Any, channels_last: bool = False) -> Callable[[Sequence[Any]], list[Any]]:
        """From numpy inputs to the flat list of numpy outputs."""
        torch = self.torch()
        module = plain(torch, net, call.model.spec)

        def run(xs: Sequence[Any]) -> list[Any]:
            tensors = [torch.from_numpy(x.copy()) for x in xs]
            if channels_last:
                tensors = [x.to(memory_format=torch.channels_last) if x.dim() == 4 else x for x in tensors]
            with torch.no_grad():
                return _flat(module(*tensors))

        return run

    def _variant(self, call: ModelCall, net: Any, given: list[Any]) -> list[list[Any]]:
        torch = self.torch()
        threads = torch.get_num_threads()
        torch.set_num_threads(1)
        try:
            net.to(memory_format=torch.channels_last)
            return samples.one_by_one(self._function(call, net, channels_last=True), given, call.batched)
        finally:
            net.to(memory_format=torch.contiguous_format)
            torch.set_num_threads(threads)


def plain(torch: Any, net: Any, spec: Mapping[str, Any]) -> Any:
    """A module that takes tensors and returns tensors, as exporters want it.

    ``takes = "list"``: the model wants a list of images; ``select``: it returns a dict, of which these are wanted.
    """
    takes_list, keys = spec.get("takes") == "list", list(spec.get("select", ()))
    if not takes_list and not keys:
        return net

    class Plain(torch.nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.net = net

        def forward(self, *tensors: Any) -> Any:
            found = self.net(list(tensors)) if takes_list else self.net(*tensors)
            found = found[0] if isinstance(found, list) else found
            chosen = tuple(found[key] for key in keys)
            return chosen if len(chosen) > 1 else chosen[0]

    return Plain().eval()


def _by_torchscript(torch: Any, net: Any, call: ExportCall, path: str) -> None:
    """``torch.onnx.export(dynamo=False)``: tracing."""
    ports = call.model.inputs
    axes = {port.name: {i: size for i, size in enumerate(port.shape) if isinstance(size, str)} for port in ports}
    torch.onnx.export(
        net,
        tuple(_examples(torch, call, 1)),
        path,
        dynamo=False,
        opset_version=call.opset,
        input_names=[port.name for port in ports],
        output_names=_declared_outputs(call),
        dynamic_axes=axes if call.dynamic else None,
    )


def _by_dynamo(torch: Any, net: Any, call: ExportCall, path: str) -> None:
    """``torch.onnx.export(dynamo=True)``: torch.export. A dimension of 1 would be taken as fixed, so examples have
    two.
    """
    dynamic = tuple(
        {i: torch.export.Dim.DYNAMIC for i, size in enumerate(port.shape) if isinstance(size, str)}
        for port in call.model.inputs
    )
    copies = 2 if call.dynamic else 1
    torch.onnx.export(
        net,
        tuple(_examples(torch, call, copies)),
        path,
        dynamo=True,
        opset_version=call.opset,
        input_names=[port.name for port in call.model.inputs],
        output_names=_declared_outputs(call),
        external_data=False,
        verbose=False,
        dynamic_shapes=dynamic if call.dynamic else None,
    )


def _examples(torch: Any, call: ExportCall, copies: int) -> list[Any]:
    import numpy as np

    return [torch.from_numpy(np.concatenate([x] * copies) if copies > 1 else x.copy()) for x in call.example]


def load_weights(torch: Any, net: Any, path: str) -> None:
    """Give a module the state that a file holds by name."""
    import numpy as np

    with np.load(path, allow_pickle=False) as stored:
        net.load_state_dict({name: torch.from_numpy(stored[name]) for name in stored.files})


def _condition(torch: Any, net: Any, call: ModelCall) -> None:
    """Seeded scales, shifts and biases; statistics of every BatchNorm from a pass over seeded inputs."""
    weights = conditioning.Weights(call.seed)
    norms = [
        (name, module)
        for name, module in net.named_modules()
        if isinstance(module, torch.nn.modules.batchnorm._BatchNorm)
    ]
    with torch.no_grad():
        for name, module in norms:
            if module.affine:
                module.weight.copy_(torch.from_numpy(weights.scale(name + ".weight", module.weight.numpy())))
                module.bias.copy_(torch.from_numpy(weights.shift(name + ".bias", module.bias.numpy())))
        drawn = {id(parameter) for _, module in norms for parameter in (module.weight, module.bias)}
        for name, parameter in net.named_parameters():
            if id(parameter) not in drawn:
                draw = weights.bias if name.endswith("bias") else weights.vector
                parameter.copy_(torch.from_numpy(draw(name, parameter.numpy())))
        if not norms:
            return
        for _, module in norms:
            module.train().reset_running_stats()
            module.momentum = None  # the plain mean over what it sees
        passes = conditioning_inputs.passes(call.model, call.seed)
        if call.model.spec.get("takes") == "list":
            net([torch.from_numpy(image) for (image,) in passes])
        else:
            for inputs in passes:
                net(*(torch.from_numpy(x) for x in inputs))
        net.eval()


def _perturb(torch: Any, net: Any, perturbation: conditioning.Perturbation) -> None:
    with torch.no_grad():
        for weight in net.parameters():
            weight.copy_(torch.from_numpy(perturbation(weight.numpy())))


def _declared_outputs(call: ExportCall) -> Any:
    return [port.name for port in call.model.outputs] or None


def _flat(result: Any) -> list[Any]:
    """Tensors of a tensor, or of tuples, lists and dicts of them, as numpy arrays in their order."""
    if isinstance(result, dict):
        return [array for value in result.values() for array in _flat(value)]
    if isinstance(result, (tuple, list)):
        return [array for value in result for array in _flat(value)]
    return [result.detach().cpu().numpy()]
