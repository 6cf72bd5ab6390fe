"""What ExecuTorch's quantiser wrote: the layers of the quantised program that was lowered, in float64.

The program (``torch.export``) rounds with operators of its own, between which its layers are computed:

    dequantize_per_tensor, dequantize_per_channel (weights) -> conv2d, relu -> quantize_per_tensor

XNNPACK computes what stands between two of them in one kernel of integers. ``model.pte`` is what the program is lowered
to; the same program with its integers as further outputs is lowered in the same way, and has to give the same results.
"""

from __future__ import annotations

import importlib
import operator
from typing import Any

from bench_plugin.adapters.readback.executorch import executorch_operators
from bench_plugin.agent.adapter import Unsupported
from bench_plugin.agent.toolkit import versions
from bench_plugin.agent.toolkit.rebuilding import Layers, Unread

ADAPTER = {
    "name": "executorch_layers",
    "kind": "tool",
    "toolchain": "executorch",
    "title": "ExecuTorch's layers, read back",
    "distribution": "torch",
    "distributions": ["torchao"],
    "operations": [],
    "uses": ["executorch_operators"],
}

# The smallest step that the quantiser gives a range of the calibration's (get_symmetric_quantization_config). Its
# observers are histograms, which may leave out what is rare; those of operators that move values are shared.
LEAST = 2.0**-12
QUANTISE, DEQUANTISE, DEQUANTISE_CHANNELS = "quantize_per_tensor", "dequantize_per_tensor", "dequantize_per_channel"


class Adapter:
    """Remembers nothing; the adapter of the compiler takes the functions."""

    def versions(self) -> dict[str, str]:
        """Versions of the distributions that take part."""
        return versions.installed("torch", "torchao", "numpy")

    def reset(self) -> None:
        """Nothing to forget."""


def rebuilt(program: Any) -> tuple[Layers, Any]:
    """The layers of a quantised program, and its module with the tensors that they need as further outputs.

    Raises Unsupported for a program without a layer that can be read back.
    """
    wanted: dict[str, int] = {}
    reader = Reader(program, wanted)
    reader.read_all()
    if not any(row.scale is not None for row in reader.layers.results):
        raise Unsupported("no quantised layer of the program could be read back")
    return reader.layers, _exposed(program, list(wanted))


def _exposed(program: Any, names: list[str]) -> Any:
    """The module of a program with the results of these nodes as further outputs, behind its own ones.

    Integers are dequantised for that: XNNPACK takes no tensor as an output that it is given, too. The module's nodes
    are those of the program in the same order, some under other names; parameters are none of its inputs.
    """
    module = program.module()
    graph, pytree = module.graph, importlib.import_module("torch.utils._pytree")
    own = set(program.graph_signature.user_inputs)
    before = [node for node in program.graph.nodes if node.op == "call_function" or node.name in own]
    after = [node for node in graph.nodes if node.op in ("call_function", "placeholder")]
    if [str(node.target) for node in before if node.op != "placeholder"] != [
        str(node.target) for node in after if node.op != "placeholder"
    ]:
        raise Unsupported("the module of the program has other nodes than the program")
    known = {one.name: other for one, other in zip(before, after)}
    end = graph.output_node()
    with graph.inserting_before(end):
        end.args = (tuple(_dequantised(graph, known[name]) for name in names),)
    spec = pytree.tree_structure(tuple(range(len(names))))
    graph._codegen.pytree_info = graph._codegen.pytree_info._replace(out_spec=spec)
    module.recompile()
    return module


def _dequantised(graph: Any, node: Any) -> Any:
    """The real values of a node's integers; any other node as it is."""
    if operator_of(node) != QUANTISE:
        return node
    torch = importlib.import_module("torch")
    operation = torch.ops.quantized_decomposed.dequantize_per_tensor.default
    return graph.call_function(operation, (node, *node.args[1:]))


def operator_of(node: Any) -> str:
    """``aten.conv2d.default`` is conv2d."""
    parts = str(node.target).split(".")
    return parts[1] if len(parts) > 2 else str(getattr(node.target, "__name__", node.target))


class Reader:
    """Reads the nodes of a program into layers, in their order.

    ``wanted`` has the number of the output that exposes each node, by its name; the model's own outputs come first.
    What is asked for beside them gets the next numbers.
    """

    def __init__(self, program: Any, wanted: dict[str, int]) -> None:
        self.layers = Layers()
        self.layers.complete = True
        self._program = program
        self._wanted = wanted
        self._real: dict[str, str] = {}
        self._fixed: dict[str, Any] = {}
        self._steps: dict[str, Any] = {}
        self._scales: dict[str, float] = {}
        self._makers: dict[str, str] = {}
        self._parts: dict[str, list[str]] = {}
        self._ends = list(program.graph.output_node().args[0])
        for node in self._ends:
            self._number(node)

    def read_all(self) -> None:
        """Read every node of the program."""
        self._read_constants()
        for node in self._program.graph.nodes:
            if node.op == "placeholder" and node.name not in self._fixed:
                self._real[node.name] = self.layers.floats(node.name, self._number(node))
            elif node.op == "call_function":
                self._read(node)
        for node in self._ends:
            if operator_of(node) != DEQUANTISE and node.name in self._makers:
                self.layers.made_floats(self._real[node.name], self._number(node), self._makers[node.name])

    def real(self, node: Any) -> str:
        """The real values of an argument, a node or a number. Raises Unread for several results at once."""
        if not hasattr(node, "name"):
            return self.layers.constant(float(node))
        if node.name in self._real:
            return self._real[node.name]
        if node.name in self._fixed:
            if node.name in self._steps and self._fixed[node.name].size > 1:
                self.layers.complete = False  # rounded, and not compared
            return self.layers.constant(self._fixed[node.name])
        raise Unread(f"a value of {operator_of(node)}")

    def constant(self, node: Any) -> Any:
        """The values of an argument that no input decides, as float64. Raises Unread for any other."""
        if node.name not in self._fixed:
            raise Unread("a parameter that is computed")
        return self._fixed[node.name]

    def weight(self, node: Any, layer: str, *, observed: bool = False) -> str:
        """The real values of weights, with their steps where they are quantised; compared with those of the file.

        ``observed`` ones have a range as activations have it.
        """
        if node.name not in self._fixed:
            return self.real(node)
        if node.name in self._steps:
            values, steps = self._fixed[node.name], self._steps[node.name]
            return self.layers.quantised("weight", layer, values, steps, observed=observed)
        return self.floating(node, layer)

    def bias(self, node: Any, layer: str, source: Any, weights: Any) -> str:
        """The real values of a bias, which XNNPACK's kernels round to steps of both scales; empty without one."""
        if node is None:
            return ""
        numpy, values = importlib.import_module("numpy"), self.constant(node)
        scale = self._scales.get(source.name)
        if scale is None or weights.name not in self._steps:
            return self.layers.floating("bias", layer, values)
        step = scale * self._steps[weights.name].reshape(len(values), -1)[:, 0]
        return self.layers.quantised("bias", layer, numpy.rint(values / step) * step, step)

    def floating(self, node: Any, layer: str) -> str:
        """A constant that stayed in floating point; compared with those of the file."""
        return self.layers.floating("weight", layer, self.constant(node))

    def operand(self, node: Any, layer: str) -> str:
        """The real values of one side of an elementwise operator; a constant is compared with those of the file."""
        if hasattr(node, "name") and node.name in self._fixed and self._fixed[node.name].size > 1:
            return self.weight(node, layer, observed=True)
        return self.real(node)

    def _read_constants(self) -> None:
        said = self._program.graph_signature
        stored = {**self._program.state_dict, **self._program.constants}
        for names in (said.inputs_to_parameters, said.inputs_to_buffers, said.inputs_to_lifted_tensor_constants):
            for node, name in names.items():
                values = stored[name].detach().numpy()
                self._fixed[node] = values.astype("float64") if values.dtype.kind == "f" else values

    def _number(self, node: Any) -> int:
        return self._wanted.setdefault(node.name, len(self._wanted))

    def _read(self, node: Any) -> None:
        name = operator_of(node)
        if node.target is operator.getitem:
            self._real[node.name] = self._parts[node.args[0].name][node.args[1]]
            self._makers[node.name] = self._makers[node.args[0].name]
        elif name == QUANTISE:
            self._quantised(node)
        elif name == DEQUANTISE:
            self._dequantised(node)
        elif name == DEQUANTISE_CHANNELS:
            self._weights(node)
        else:
            self._translated(node, name)

    def _translated(self, node: Any, name: str) -> None:
        self._makers[node.name] = name
        translate = executorch_operators.TRANSLATIONS.get(name)
        try:
            if translate is None:
                raise Unread("no translation")
            found = list(translate(self, node))
        except Unread as why:
            self.layers.unread.append(f"{name}: {why}")
            self._given(node)
            return
        self._real[node.name], self._parts[node.name] = found[0], found

    def _given(self, node: Any) -> None:
        """Let the results of a node that is not read be given, as the program makes them."""
        made = node.meta.get("val")
        if not isinstance(made, (list, tuple)):
            self._real[node.name] = self.layers.floats(node.name, self._number(node))
            return
        users = {user.args[1]: user for user in node.users}
        self._parts[node.name] = [
            self.layers.floats(users[place].name, self._number(users[place])) if place in users else ""
            for place in range(len(made))
        ]

    def _quantised(self, node: Any) -> None:
        source, scale, zero, low, high = node.args[:5]
        layer = self._makers.get(source.name, QUANTISE)
        self.layers.made_integers(
            self.real(source), self._number(node), layer, float(scale), int(zero), (int(low), int(high)),
            calibrated=float(scale) > LEAST, shared=True, narrowed=True,
        )  # fmt: skip

    def _dequantised(self, node: Any) -> None:
        source, scale, zero = node.args[:3]
        if source.name in self._fixed:
            values, step = self._fixed[source.name].astype("float64"), float(scale)
            self._fixed[node.name] = (values - int(zero)) * step
            self._steps[node.name] = importlib.import_module("numpy").full(values.shape, step)
            return
        self._scales[node.name] = float(scale)
        if source.name not in self._real:
            self._real[source.name] = self.layers.on_grid(source.name, self._number(source), float(scale), int(zero))
        self._real[node.name] = self._real[source.name]

    def _weights(self, node: Any) -> None:
        source, scales, zeros, axis = node.args[:4]
        values, rank = self.constant(source).astype("float64"), self.constant(source).ndim
        shape = [-1 if place == axis else 1 for place in range(rank)]
        step = self.constant(scales).reshape(shape)
        self._fixed[node.name] = (values - self.constant(zeros).reshape(shape)) * step
        self._steps[node.name] = importlib.import_module("numpy").broadcast_to(step, values.shape)
