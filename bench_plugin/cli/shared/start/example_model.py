"""The example model of ``bench init``: a small ONNX file, written here because the command needs no onnx.

The file is a protobuf message (onnx.proto, https://onnx.ai/onnx/repo-docs/IR.html). Of the wire format two types of
fields are needed: whole numbers, and runs of bytes, which texts, arrays and nested messages are.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

IR, OPSET = 8, 17
FLOAT = 1  # TensorProto.DataType
NUMBER, BYTES = 0, 2  # types of fields on the wire
FEATURES, HIDDEN, CLASSES = 8, 16, 4


def example_model() -> bytes:
    """An ONNX file with two dense layers, float32 [n, 8] to [n, 4], and seeded weights; always the same bytes."""
    rng = np.random.default_rng(0)
    weights = {
        "w1": _weights(rng, FEATURES, HIDDEN), "b1": _weights(rng, HIDDEN),
        "w2": _weights(rng, HIDDEN, CLASSES), "b2": _weights(rng, CLASSES),
    }  # fmt: skip
    nodes = [
        _node("Gemm", ["x", "w1", "b1"], "h"), _node("Tanh", ["h"], "t"), _node("Gemm", ["t", "w2", "b2"], "y"),
    ]  # fmt: skip
    graph = b"".join(
        [
            *(_bytes(1, node) for node in nodes),
            _bytes(2, b"example"),
            *(_bytes(5, _tensor(name, values)) for name, values in weights.items()),
            _bytes(11, _port("x", FEATURES)),
            _bytes(12, _port("y", CLASSES)),
        ]
    )
    return _number(1, IR) + _bytes(2, b"bench init") + _bytes(7, graph) + _bytes(8, _number(2, OPSET))


def _weights(rng: np.random.Generator, *shape: int) -> npt.NDArray[np.float32]:
    """Normal numbers whose variance keeps the size of what a layer is given."""
    scale = (1 / shape[0]) ** 0.5 if len(shape) > 1 else 0.1
    return (rng.standard_normal(shape) * scale).astype("<f4")


def _node(operator: str, inputs: Sequence[str], output: str) -> bytes:
    """A NodeProto."""
    return (
        b"".join(_bytes(1, name.encode()) for name in inputs)
        + _bytes(2, output.encode())
        + _bytes(4, operator.encode())
    )


def _tensor(name: str, values: npt.NDArray[np.float32]) -> bytes:
    """A TensorProto with the array's bytes, in little-endian order."""
    shape = b"".join(_number(1, size) for size in values.shape)
    return shape + _number(2, FLOAT) + _bytes(8, name.encode()) + _bytes(9, values.tobytes())


def _port(name: str, width: int) -> bytes:
    """A ValueInfoProto: float32 [n, width]."""
    shape = _bytes(1, _bytes(2, b"n")) + _bytes(1, _number(1, width))
    tensor = _number(1, FLOAT) + _bytes(2, shape)
    return _bytes(1, name.encode()) + _bytes(2, _bytes(1, tensor))


def _number(field: int, value: int) -> bytes:
    return _varint(field << 3 | NUMBER) + _varint(value)


def _bytes(field: int, value: bytes) -> bytes:
    return _varint(field << 3 | BYTES) + _varint(len(value)) + value


def _varint(value: int) -> bytes:
    """Seven bits a byte, the lowest first; all but the last have the highest bit set."""
    found = bytearray()
    while value > 0x7F:
        found.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*found, value])
