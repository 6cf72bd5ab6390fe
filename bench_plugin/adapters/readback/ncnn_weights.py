"""The weights of ncnn's files that are stored in float16, read back without ncnn.

A .param file has a line per layer. The .bin file has the weights of these layers one after the other, without names or
sizes: which there are, and how large, follows from the layer's type and its parameters, as in ncnn's load_model of each
layer (ncnn's operation-param-weight-table.md). Weights of one kind have a tag in front that says how they are stored.
"""

from __future__ import annotations

import importlib
import math
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from bench_plugin.agent.adapter import Unsupported
from bench_plugin.agent.toolkit import versions
from bench_plugin.agent.toolkit.rebuilding import Layers

ADAPTER = {
    "name": "ncnn_weights",
    "kind": "tool",
    "toolchain": "ncnn",
    "title": "Weights of ncnn's files read back",
    "distribution": "ncnn",
    "operations": [],
}

HALVES, SINGLES = 0x01306B47, 0  # the tags of weights in float16 and in float32
LEAST = 2.0**-14  # the smallest number of float16 that ncnn takes as more than zero

Parameters = Mapping[int, int]


class Block(NamedTuple):
    """Weights of a layer in the order of the file, [...]; ``tagged`` ones say how they are stored."""

    shape: tuple[int, ...]
    tagged: bool


class Adapter:
    """Remembers nothing; the adapter of the compiler takes the functions."""

    def versions(self) -> dict[str, str]:
        """Versions of the distributions that take part."""
        return versions.installed("numpy")

    def reset(self) -> None:
        """Nothing to forget."""


def rebuilt(graph: str, content: bytes) -> Layers:
    """The weights in float16 of a .bin file; ``graph`` is the text of its .param file.

    Raises Unsupported where there are none, and where a layer's weights are of a kind that is not known.
    """
    layers = Layers()
    at = 0
    for name, block in _blocks(graph):
        count = math.prod(block.shape)
        tag = int.from_bytes(content[at : at + 4], "little") if block.tagged else SINGLES
        if tag not in (HALVES, SINGLES):
            raise Unsupported(f"the weights of {name} are stored as kind {tag:#x}")
        at += 4 * block.tagged
        if tag == HALVES:
            layers.quantised("weight", name, *_halves(content[at : at + 2 * count], block.shape))
        at += -(-2 * count // 4) * 4 if tag == HALVES else 4 * count
    if at != len(content):
        raise Unsupported(f"the weights of these layers have {at} bytes, the file {len(content)}")
    if not layers.constants:
        raise Unsupported("no weights in float16 in the artefact")
    return layers


def _halves(raw: bytes, shape: tuple[int, ...]) -> tuple[Any, Any]:
    """Real values in this shape, and steps of which they are at most half a one off.

    Subnormal numbers are zero to ncnn. Others may be a whole number of float16 off: no rule binds a storage option to a
    way of rounding.
    """
    numpy = importlib.import_module("numpy")
    values = numpy.frombuffer(raw, "<f2").reshape(shape)
    small = numpy.abs(values) < LEAST
    steps = numpy.where(small, 2 * LEAST, 2 * numpy.spacing(numpy.abs(values)).astype("float64"))
    return numpy.where(small, 0.0, values.astype("float64")), steps


def _blocks(graph: str) -> Iterator[tuple[str, Block]]:
    """The blocks of all layers in the order of the file, with the layers' names."""
    for line in graph.splitlines()[2:]:
        if not line.strip():
            continue
        kind, name, inputs, outputs, *words = line.split()
        said = [word.partition("=") for word in words[int(inputs) + int(outputs) :]]
        numbers = [(key, value) for key, _, value in said if int(key) >= 0 and not value.startswith('"')]  # no formulas
        given = {int(key): _number(value) for key, value in numbers}
        for block in WEIGHTS.get(kind, _none)(given):
            if math.prod(block.shape):
                yield name, block


def _number(text: str) -> int:
    return int(float(text)) if "." in text or "e" in text else int(text)


def _tagged(*shape: int) -> Block:
    return Block(shape, tagged=True)


def _plain(*sizes: int) -> list[Block]:
    return [Block((size,), tagged=False) for size in sizes]


def _none(given: Parameters) -> list[Block]:
    return []


def _convolution(given: Parameters) -> list[Block]:
    """[outputs, inputs, spatial dimensions together]; weights that are an input have no size."""
    outputs, size = given.get(0, 0), given.get(6, 0)
    window = given.get(1, 0) * given.get(11, given.get(1, 0)) * given.get(21, 1)
    weights = _tagged(outputs, size // (outputs * window), window)
    return [weights, *_plain(outputs if given.get(5, 0) else 0)]


def _line_convolution(given: Parameters) -> list[Block]:
    return _convolution({**given, 11: 1})


def _volume_convolution(given: Parameters) -> list[Block]:
    return _convolution({**given, 21: given.get(21, given.get(1, 0))})


def _inner_product(given: Parameters) -> list[Block]:
    outputs = given.get(0, 0)
    return [_tagged(outputs, given.get(2, 0) // outputs), *_plain(outputs if given.get(1, 0) else 0)]


def _embed(given: Parameters) -> list[Block]:
    outputs = given.get(0, 0)
    return [_tagged(given.get(3, 0) // outputs, outputs), *_plain(outputs if given.get(2, 0) else 0)]


def _gemm(given: Parameters) -> list[Block]:
    rows, columns, inner = (given.get(key, 0) for key in (7, 8, 9))
    blocks = []
    if given.get(4, 0):
        blocks.append(_tagged(*((inner, rows) if given.get(2, 0) else (rows, inner))))
    if given.get(5, 0):
        blocks.append(_tagged(*((columns, inner) if given.get(3, 0) else (inner, columns))))
    if given.get(6, 0):
        shapes = {0: (1,), 1: (rows,), 2: (rows,), 3: (rows, columns), 4: (columns,)}
        blocks.append(_tagged(*shapes.get(given.get(10, 0), (0,))))
    return blocks


def _recurrent(gates: int, biases: int) -> Callable[[Parameters], list[Block]]:
    """Weights of the input and of the state by direction, with a projection of the state where it has one (LSTM)."""

    def blocks(given: Parameters) -> list[Block]:
        outputs, size = given.get(0, 0), given.get(1, 0)
        hidden, directions = given.get(3, outputs) if gates == 4 else outputs, 2 if given.get(2, 0) == 2 else 1
        of_input = _tagged(directions, hidden * gates, size // (directions * hidden * gates))
        bias, of_state = _tagged(directions, biases, hidden), _tagged(directions, hidden * gates, outputs)
        projected = [_tagged(directions, outputs, hidden)] if hidden != outputs else []
        return [of_input, bias, of_state, *projected]

    return blocks


def _attention(given: Parameters) -> list[Block]:
    """The weights and biases of queries, keys, values and outputs."""
    width, size = given.get(0, 0), given.get(2, 0)
    queries = size // width
    inner = [(width, queries), (width, given.get(3, width)), (width, given.get(4, width)), (queries, width)]
    return [block for shape in inner for block in (_tagged(*shape), *_plain(shape[0]))]


def _memory(given: Parameters) -> list[Block]:
    shape = tuple(size for size in (given.get(key, 0) for key in (2, 11, 1, 0)) if size)
    return [Block(shape or (0,), tagged=given.get(21, 1) == 0)]


WEIGHTS: Mapping[str, Callable[[Parameters], list[Block]]] = {
    **dict.fromkeys(
        ("Convolution", "ConvolutionDepthWise", "Deconvolution", "DeconvolutionDepthWise", "DeformableConv2D"),
        _convolution,
    ),
    **dict.fromkeys(
        ("Convolution1D", "ConvolutionDepthWise1D", "Deconvolution1D", "DeconvolutionDepthWise1D"), _line_convolution
    ),
    **dict.fromkeys(
        ("Convolution3D", "ConvolutionDepthWise3D", "Deconvolution3D", "DeconvolutionDepthWise3D"), _volume_convolution
    ),
    "InnerProduct": _inner_product,
    "Embed": _embed,
    "Gemm": _gemm,
    "LSTM": _recurrent(4, 4),
    "GRU": _recurrent(3, 4),
    "RNN": _recurrent(1, 1),
    "MultiHeadAttention": _attention,
    "MemoryData": _memory,
    "BatchNorm": lambda given: _plain(*[given.get(0, 0)] * 4),
    "Bias": lambda given: _plain(given.get(0, 0)),
    "GroupNorm": lambda given: _plain(*[given.get(1, 0)] * 2 * given.get(3, 1)),
    "InstanceNorm": lambda given: _plain(*[given.get(0, 0)] * 2 * given.get(2, 1)),
    "LayerNorm": lambda given: _plain(*[given.get(0, 0)] * 2 * given.get(2, 1)),
    "RMSNorm": lambda given: _plain(*[given.get(0, 0)] * given.get(2, 1)),
    "Normalize": lambda given: _plain(given.get(3, 0)),
    "PReLU": lambda given: _plain(given.get(0, 0)),
    "Scale": lambda given: [] if given.get(0, 0) < 0 else _plain(given.get(0, 0), given.get(0, 0) * given.get(1, 0)),
}  # fmt: skip
