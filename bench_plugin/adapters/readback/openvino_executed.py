"""The layers that OpenVINO executes, and the contractions of a model that none of them shows by its kind."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from bench_plugin.agent.toolkit import versions

ADAPTER = {
    "name": "openvino_executed",
    "kind": "tool",
    "toolchain": "openvino",
    "title": "Layers that OpenVINO executes",
    "distribution": "openvino",
    "operations": [],
}

# Layers that execute a contraction, one each, and the operators that they come from.
HEAVY = frozenset({"Convolution", "Deconvolution", "FullyConnected", "MatMul", "RNNSeq", "RNNCell", "LSTMSequence"})
CONTRACTIONS = frozenset(
    {"Convolution", "GroupConvolution", "ConvolutionBackpropData", "GroupConvolutionBackpropData", "MatMul"}
    | {"LSTMSequence", "GRUSequence", "RNNSequence", "LSTMCell", "GRUCell", "RNNCell"}
)
# Layers whose inner graphs the executed graph does not show.
BODIES = frozenset({"TensorIterator", "Loop", "If"})
INTEGERS = frozenset({"i8", "u8"})


class Layer(NamedTuple):
    """A layer as it is executed; ``names`` are those of the operators that it was made of.

    ``precision`` is that of its weights where these are narrower than what it computes in.
    """

    kind: str
    primitive: str
    precision: str
    names: frozenset[str]

    @property
    def in_integers(self) -> bool:
        """Whether it computes in integers, by the kernel's name, which ends with what that computes in."""
        return self.precision in INTEGERS and not self.primitive.endswith(("f32", "bf16", "f16"))


class Adapter:
    """Remembers nothing; the adapter of the compiler takes the functions."""

    def versions(self) -> dict[str, str]:
        """Versions of the distributions that take part."""
        return versions.installed("openvino")

    def reset(self) -> None:
        """Nothing to forget."""


def layers(compiled: Any) -> Iterator[Layer]:
    """The layers of a compiled model."""
    for layer in compiled.get_runtime_model().get_ordered_ops():
        said = layer.get_rt_info()
        kind, primitive, precision, names = (
            str(said[key].value) for key in ("layerType", "primitiveType", "runtimePrecision", "originalLayersNames")
        )
        yield Layer(kind, primitive, precision, frozenset(names.split(",")))


def contractions(model: Any, executed: list[Layer]) -> list[tuple[str, bool]]:
    """The kind of each contraction that is executed, and whether it runs in integers.

    Those that are part of a larger layer (the products of an attention) run in that layer's precision: they are the
    operators of the model that are left where some layer names one of them. Those in the body of a Loop or an If are in
    floating point where nothing in it is quantised; else nothing is known of them.
    """
    heavy = [layer for layer in executed if layer.kind in HEAVY]
    own = [(layer.kind, layer.in_integers) for layer in heavy]
    operators = [op for op in model.get_ops() if op.get_type_name() in CONTRACTIONS]
    named = {op.get_friendly_name() for op in operators}
    seen = {name for layer in heavy for name in layer.names}
    fused = [layer for layer in executed if layer.kind not in HEAVY and layer.names & (named - seen)]
    if fused:
        whole = all(layer.in_integers for layer in fused)
        own += [(f"part of {fused[0].kind}", whole)] * (len(operators) - len(heavy))
    if any(layer.kind in BODIES for layer in executed):
        own += [(op.get_type_name(), False) for op in _inside(model)]
    return own


def _inside(model: Any) -> Iterator[Any]:
    """The contractions in the bodies of a model in which nothing is quantised."""
    for op in model.get_ops():
        for body in _bodies(op):
            inner = body.get_ops()
            if not any(one.get_type_name() == "FakeQuantize" for one in inner):
                yield from (one for one in inner if one.get_type_name() in CONTRACTIONS)
            yield from _inside(body)


def _bodies(op: Any) -> list[Any]:
    kind = op.get_type_name()
    if kind in ("Loop", "TensorIterator"):
        return [op.get_function()]
    return [op.get_function(index) for index in range(2)] if kind == "If" else []
