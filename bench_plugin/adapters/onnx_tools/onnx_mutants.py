"""The mutants of an ONNX file, each run in ONNX Runtime, by which a model is judged mutation-sensitive."""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable
from typing import Any, Optional

from bench_plugin.agent.adapter import Reply
from bench_plugin.agent.contract import MutateCall, processors
from bench_plugin.agent.toolkit import samples, versions

ADAPTER = {
    "name": "onnx_mutants",
    "kind": "tool",
    "toolchain": "onnxruntime",
    "title": "Mutants",
    "distribution": "onnxruntime",
    "distributions": ["onnx"],
    "operations": ["mutate"],
    "errors": [{"package": "onnx"}, {"package": "onnxruntime"}],
}

CHANNELS = ("channel zeroed", "channels swapped")
TURNS = 4  # a channel that these inputs do not excite makes no difference: others are tried, the largest first
LAYERS = ("Conv", "Gemm", "MatMul", "ConvTranspose")
Undo = Callable[[], None]


class Adapter:
    """Remembers nothing."""

    def versions(self) -> dict[str, str]:
        """Versions of the distributions that take part."""
        return versions.installed("onnxruntime", "onnx", "numpy")

    def reset(self) -> None:
        """Nothing to forget."""

    def mutate(self, call: MutateCall) -> Reply:
        """Outputs ``<mutant>:out<i>`` [n, ...] of every mutant that applies, on the first samples."""
        call.stage("build")
        onnx = importlib.import_module("onnx")
        count, batched = call.samples, call.batched
        given = {name: values[:count] for name, values in call.inputs.items()}
        path = call.files["model.onnx"]
        # Weights beside the file stay there, but for the one that is changed: a mutant in memory has at most 2 GiB.
        graph = _Graph(onnx, onnx.load(path, load_external_data=False), os.path.dirname(path))
        arrays: dict[str, Any] = {}
        rows: list[dict[str, str]] = []
        original = _run(graph, given, batched)
        for name, mutate in MUTANTS.items():
            for turn in range(TURNS):
                applied = mutate(graph, turn)
                if applied is None:
                    break
                site, undo = applied
                results = _run(graph, given, batched)
                undo()
                if name not in CHANNELS or not _equal(results, original):
                    break
            if applied is not None:
                arrays.update({f"{name}:{key}": y for key, y in results.items()})
                rows.append({"name": name, "site": site})
        misread = {name: _misread(values) for name, values in given.items()}
        if any(values is not given[name] for name, values in misread.items()):
            results = _run(graph, misread, batched)
            arrays.update({f"nhwc read as nchw:{key}": y for key, y in results.items()})
            rows.append({"name": "nhwc read as nchw", "site": "inputs"})
        return Reply({"mutants": rows, "samples": count}, samples.blobs(arrays))


class _Graph:
    """A model whose weights and attributes can be changed and put back."""

    def __init__(self, onnx: Any, model: Any, folder: str) -> None:
        self.onnx = onnx
        self.model = model
        self.folder = folder
        self.weights = {tensor.name: tensor for tensor in model.graph.initializer}

    def nodes(self, *types: str) -> list[Any]:
        return [node for node in self.model.graph.node if node.op_type in types]

    def layers(self) -> list[tuple[Any, Any]]:
        """Nodes with a weight of their own, and that weight."""
        found = [(node, self.weights.get(node.input[1])) for node in self.nodes(*LAYERS)]
        return [(node, weight) for node, weight in found if weight is not None and weight.data_type == 1]

    def middle(self) -> tuple[Any, Any] | None:
        layers = self.layers()
        return layers[len(layers) // 2] if layers else None

    def change(self, tensor: Any, change: Callable[[Any], Any]) -> Undo:
        before = tensor.SerializeToString()
        values = self.onnx.numpy_helper.to_array(tensor, base_dir=self.folder).copy()
        tensor.CopyFrom(self.onnx.numpy_helper.from_array(change(values), tensor.name))
        return lambda: _restore(tensor, before)

    def attribute(self, node: Any, name: str, value: Any) -> Undo:
        before = node.SerializeToString()
        kept = [one for one in node.attribute if one.name != name]
        del node.attribute[:]
        node.attribute.extend([*kept, self.onnx.helper.make_attribute(name, value)])
        return lambda: _restore(node, before)

    def value(self, node: Any, name: str, default: Any) -> Any:
        found = (self.onnx.helper.get_attribute_value(one) for one in node.attribute if one.name == name)
        return next(found, default)


def _restore(message: Any, before: bytes) -> None:
    message.Clear()
    message.ParseFromString(before)


Mutated = Optional[tuple[str, Undo]]


def _scaled(graph: _Graph, turn: int) -> Mutated:
    return _on_middle(graph, lambda weight, axis: weight * type(weight.flat[0])(1.01))


def _zeroed(graph: _Graph, turn: int) -> Mutated:
    def zero(weight: Any, axis: int) -> Any:
        moved = _moved(weight, axis)
        moved[_largest(moved, turn)] = 0
        return weight

    return _on_middle(graph, zero)


def _swapped(graph: _Graph, turn: int) -> Mutated:
    def swap(weight: Any, axis: int) -> Any:
        moved = _moved(weight, axis)
        pair = [_largest(moved, 0), _largest(moved, 1 + turn)]
        moved[pair] = moved[pair[::-1]]
        return weight

    middle = graph.middle()
    return _on_middle(graph, swap) if middle is not None and min(middle[1].dims[:2]) > 1 else None


def _classes_swapped(graph: _Graph, turn: int) -> Mutated:
    layers = graph.layers()
    if not layers:
        return None
    node, weight = layers[-1]
    axis = _output_axis(graph, node)
    if weight.dims[axis] < 2:
        return None

    def swap(values: Any) -> Any:
        moved = _moved(values, axis)
        moved[[0, 1]] = moved[[1, 0]]
        return values

    return _site(node), graph.change(weight, swap)


def _bias_dropped(graph: _Graph, turn: int) -> Mutated:
    biased = [node for node in graph.nodes("Conv", "Gemm") if len(node.input) > 2 and node.input[2] in graph.weights]
    if not biased:
        weights = {node.output[0] for node, _ in graph.layers()}
        adds = [node for node in graph.nodes("Add") if any(name in weights for name in node.input)]
        biased = [node for node in adds if any(name in graph.weights for name in node.input)]
    if not biased:
        return None
    node = biased[len(biased) // 2]
    bias = next(graph.weights[name] for name in reversed(node.input) if name in graph.weights)
    return _site(node), graph.change(bias, lambda values: values * 0)


def _epsilon(graph: _Graph, turn: int) -> Mutated:
    norms = [node for node in graph.nodes("BatchNormalization") if graph.value(node, "epsilon", 1e-5) < 5e-4]
    if not norms:
        return None
    undoes = [graph.attribute(node, "epsilon", 1e-3) for node in norms]

    def undo() -> None:
        for one in undoes:
            one()

    return f"{len(norms)} nodes", undo


def _count_include_pad(graph: _Graph, turn: int) -> Mutated:
    pools = [node for node in graph.nodes("AveragePool") if any(graph.value(node, "pads", []))]
    if not pools:
        return None
    turned = 1 - int(graph.value(pools[0], "count_include_pad", 0))
    return _site(pools[0]), graph.attribute(pools[0], "count_include_pad", turned)


def _same_lower(graph: _Graph, turn: int) -> Mutated:
    """Padding that is uneven, put on the other side (SAME_UPPER for SAME_LOWER)."""
    for node in graph.nodes("Conv", "MaxPool", "AveragePool"):
        auto = graph.value(node, "auto_pad", b"NOTSET")
        if auto in (b"SAME_UPPER", b"SAME_LOWER"):
            other = "SAME_LOWER" if auto == b"SAME_UPPER" else "SAME_UPPER"
            return _site(node), graph.attribute(node, "auto_pad", other)
        pads = list(graph.value(node, "pads", []))
        half = len(pads) // 2
        if pads[:half] != pads[half:]:
            return _site(node), graph.attribute(node, "pads", pads[half:] + pads[:half])
    return None


def _gelu(graph: _Graph, turn: int) -> Mutated:
    for node in graph.nodes("Gelu"):
        other = "none" if graph.value(node, "approximate", b"none") == b"tanh" else "tanh"
        return _site(node), graph.attribute(node, "approximate", other)
    return None


def _resize(graph: _Graph, turn: int) -> Mutated:
    for node in reversed(graph.nodes("Resize")):  # the last: what is resized from a single pixel has no alignment
        align = graph.value(node, "coordinate_transformation_mode", b"half_pixel") == b"align_corners"
        mode = "half_pixel" if align else "align_corners"
        return _site(node), graph.attribute(node, "coordinate_transformation_mode", mode)
    return None


MUTANTS: dict[str, Callable[[_Graph, int], Mutated]] = {
    "batchnorm eps 1e-3": _epsilon,
    "bias dropped": _bias_dropped,
    "channel zeroed": _zeroed,
    "channels swapped": _swapped,
    "classes swapped": _classes_swapped,
    "weights x 1.01": _scaled,
    "count_include_pad": _count_include_pad,
    "same upper or lower": _same_lower,
    "gelu erf or tanh": _gelu,
    "resize alignment": _resize,
}


def _largest(weight: Any, rank: int) -> int:
    """The channel (axis 0) with the largest weights, or the next ones after it."""
    import numpy as np

    norms = (weight.reshape(len(weight), -1) ** 2).sum(axis=1)
    return int(np.argsort(-norms, kind="stable")[rank % len(norms)])


def _equal(results: dict[str, Any], original: dict[str, Any]) -> bool:
    return all((results[name] == y).all() for name, y in original.items())


def _on_middle(graph: _Graph, change: Callable[[Any, int], Any]) -> Mutated:
    middle = graph.middle()
    if middle is None:
        return None
    node, weight = middle
    axis = _output_axis(graph, node)
    return _site(node), graph.change(weight, lambda values: change(values, axis))


def _output_axis(graph: _Graph, node: Any) -> int:
    """Which axis of the weight counts outputs."""
    if node.op_type == "Gemm":
        return 0 if graph.value(node, "transB", 0) else 1
    return {"Conv": 0, "ConvTranspose": 1}.get(node.op_type, -1)


def _moved(values: Any, axis: int) -> Any:
    import numpy as np

    return np.moveaxis(values, axis, 0)


def _misread(values: Any) -> Any:
    """Images [..., C, H, W] whose memory is read as if it were [..., H, W, C]; other inputs as they are."""
    import numpy as np

    if values.ndim < 4 or values.dtype.kind != "f" or 1 in (values.shape[-3], values.shape[-1]):
        return values
    return np.ascontiguousarray(np.moveaxis(values, -3, -1)).reshape(values.shape)


def _site(node: Any) -> str:
    return f"{node.op_type} {node.name or node.output[0]}"


def _run(graph: _Graph, given: dict[str, Any], batched: bool) -> dict[str, Any]:
    runtime = importlib.import_module("onnxruntime")
    options = runtime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = processors()
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")  # other agents work beside
    options.add_session_config_entry("session.model_external_initializers_file_folder_path", graph.folder)
    session = runtime.InferenceSession(graph.model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    order = [row.name for row in session.get_inputs() if row.name in given]
    results = samples.one_by_one(
        lambda xs: list(session.run(None, dict(zip(order, xs)))), [given[name] for name in order], batched
    )
    return samples.joined(results, samples.numbered(len(results[0])), batched)
