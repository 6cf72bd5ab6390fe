"""An ONNX graph whose nodes, weights and attributes can be changed and put back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Optional

from bench_plugin.agent.toolkit import versions

ADAPTER = {
    "name": "onnx_editing",
    "kind": "tool",
    "toolchain": "onnxruntime",
    "title": "Changes of ONNX graphs",
    "distribution": "onnx",
    "operations": [],
}

FLOAT, HALF = 1, 10
FLOATS = (FLOAT, HALF, 11, 16)  # TensorProto: float32, float16, float64, bfloat16
RECURRENT = ("LSTM", "GRU", "RNN")
LAYERS = ("Conv", "Gemm", "MatMul", "ConvTranspose", *RECURRENT)
Undo = Callable[[], None]
Mutated = Optional[tuple[str, Undo]]


class Adapter:
    """Remembers nothing; the adapters that use this file take its functions."""

    def versions(self) -> dict[str, str]:
        """Versions of the distributions that take part."""
        return versions.installed("onnx", "numpy")

    def reset(self) -> None:
        """Nothing to forget."""


class Graph:
    """A model whose nodes, weights and attributes can be changed and put back.

    ``model`` is loaded without its external data, which lies in ``folder``.
    """

    def __init__(self, onnx: Any, model: Any, folder: str) -> None:
        self.onnx = onnx
        self.model = model
        self.folder = folder
        self.weights = {tensor.name: tensor for tensor in model.graph.initializer}
        self._types: dict[str, int] | None = None

    def nodes(self, *types: str) -> list[Any]:
        """The nodes of these operators, in the order of the graph."""
        return [node for node in self.model.graph.node if node.op_type in types]

    def types(self) -> dict[str, int]:
        """The element types of the tensors of the file (TensorProto.DataType) that ONNX's shape inference knows."""
        if self._types is None:
            graph = self.onnx.shape_inference.infer_shapes(self.model).graph
            values = (*graph.input, *graph.value_info, *graph.output)
            self._types = {value.name: int(value.type.tensor_type.elem_type) for value in values}
        return self._types

    def layers(self) -> list[tuple[Any, Any]]:
        """Nodes with a weight of their own, and that weight."""
        return [(node, weight) for node, weight in self.scaled() if node.op_type in LAYERS]

    def scaled(self) -> list[tuple[Any, Any]]:
        """Nodes with a weight of their own, and that weight; of one in blocks of few bits their scales."""
        places = dict.fromkeys(LAYERS, 1) | {"MatMulNBits": 2}
        found = [(node, self.weights.get(node.input[places[node.op_type]])) for node in self.nodes(*places)]
        return [(node, weight) for node, weight in found if weight is not None and weight.data_type in (FLOAT, HALF)]

    def middle(self) -> tuple[Any, Any] | None:
        """The layer in the middle of the graph, or None."""
        layers = self.layers()
        return layers[len(layers) // 2] if layers else None

    def bias(self) -> tuple[Any, Any] | None:
        """The biased layer in the middle, or an Add behind a layer, and its bias; None where there is no bias."""
        biased = [node for node in self.nodes("Conv", "Gemm") if len(node.input) > 2 and node.input[2] in self.weights]
        if not biased:
            made = {node.output[0] for node, _ in self.layers()}
            adds = [node for node in self.nodes("Add") if any(name in made for name in node.input)]
            biased = [node for node in adds if any(name in self.weights for name in node.input)]
        if not biased:
            return None
        node = biased[len(biased) // 2]
        return node, next(self.weights[name] for name in reversed(node.input) if name in self.weights)

    def values(self, tensor: Any) -> Any:
        """The values of a weight as an array [...] of its own type."""
        return self.onnx.numpy_helper.to_array(tensor, base_dir=self.folder)

    def change(self, tensor: Any, change: Callable[[Any], Any]) -> Undo:
        """Put ``change`` of a copy of the weight's values in place of them."""
        before = tensor.SerializeToString()
        tensor.CopyFrom(self.onnx.numpy_helper.from_array(change(self.values(tensor).copy()), tensor.name))
        return lambda: restored(tensor, before)

    def attribute(self, node: Any, name: str, value: Any) -> Undo:
        """Set an attribute of a node."""
        before = node.SerializeToString()
        kept = [one for one in node.attribute if one.name != name]
        del node.attribute[:]
        node.attribute.extend([*kept, self.onnx.helper.make_attribute(name, value)])
        return lambda: restored(node, before)

    def value(self, node: Any, name: str, default: Any) -> Any:
        """The value of an attribute of a node."""
        found = (self.onnx.helper.get_attribute_value(one) for one in node.attribute if one.name == name)
        return next(found, default)

    def rewired(self, change: Callable[[list[Any]], list[Any]]) -> Undo:
        """Put ``change`` of copies of all nodes in place of the nodes."""
        nodes = self.model.graph.node
        before = [node.SerializeToString() for node in nodes]
        changed = change([_node(self.onnx, one) for one in before])
        del nodes[:]
        nodes.extend(changed)

        def undo() -> None:
            del nodes[:]
            nodes.extend(_node(self.onnx, one) for one in before)

        return undo


def _node(onnx: Any, data: bytes) -> Any:
    node = onnx.NodeProto()
    node.ParseFromString(data)
    return node


def restored(message: Any, before: bytes) -> None:
    """Put a message of protobuf back to what it was serialised as."""
    message.Clear()
    message.ParseFromString(before)


def together(undoes: list[Undo]) -> Undo:
    """One function that undoes several changes."""

    def undo() -> None:
        for one in undoes:
            one()

    return undo


def site_of(node: Any) -> str:
    """A node as results name it: its operator, and its name or that of its first output."""
    return f"{node.op_type} {node.name or node.output[0]}"
