"""The blocks of a .bin file, hand-made for each of ncnn's layers, and what cannot be read."""

from __future__ import annotations

import struct

import numpy as np
import pytest

from bench_plugin.adapters.readback.ncnn_weights import rebuilt
from bench_plugin.agent.adapter import Unsupported

HALF = b"\x47\x6b\x30\x01"
LAST = "InnerProduct last 1 1 a b 0=2 1=0 2=6"  # of two outputs, whose weights tell whether all before was passed over
LAST_WEIGHTS = np.arange(6, dtype="float16").reshape(2, 3) + 1

# A layer's line, and its blocks as ncnn's table of weights has them: "h" may be stored in float16, "f" may not.
LAYERS = [
    ("Convolution c 1 1 a b 0=4 1=3 11=2 5=1 6=72", [("h", 72), ("f", 4)]),
    ("Convolution c 1 1 a b 0=4 1=3 5=0 6=108", [("h", 108)]),
    ("Convolution c 2 1 a w b 0=4 1=3 5=0 6=0 19=1", []),
    ("Convolution1D c 1 1 a b 0=4 1=3 5=1 6=24", [("h", 24), ("f", 4)]),
    ("Convolution3D c 1 1 a b 0=2 1=3 11=3 21=3 5=1 6=54", [("h", 54), ("f", 2)]),
    ("ConvolutionDepthWise c 1 1 a b 0=4 1=3 11=3 5=1 6=36 7=4", [("h", 36), ("f", 4)]),
    ("Deconvolution d 1 1 a b 0=4 1=2 11=2 5=1 6=48 18=1 19=1", [("h", 48), ("f", 4)]),
    ("InnerProduct i 1 1 a b 0=5 1=1 2=15", [("h", 15), ("f", 5)]),
    ("Embed e 1 1 a b 0=4 1=7 2=0 3=28", [("h", 28)]),
    ("Gemm g 1 1 a b 2=0 3=1 4=0 5=1 6=1 7=6 8=5 9=3 10=4", [("h", 15), ("h", 5)]),
    ("Gemm g 1 1 a b 2=0 3=0 4=1 5=0 6=1 7=6 8=5 9=3 10=3", [("h", 18), ("h", 30)]),
    ("Gemm g 2 1 a w b 2=0 3=1", []),
    ("LSTM l 1 1 a b 0=3 1=120 2=2", [("h", 120), ("h", 24), ("h", 72)]),
    ("LSTM l 1 1 a b 0=2 1=60 2=0 3=3", [("h", 60), ("h", 12), ("h", 24), ("h", 6)]),
    ("GRU u 1 1 a b 0=3 1=45 2=0", [("h", 45), ("h", 12), ("h", 27)]),
    ("RNN r 1 1 a b 0=3 1=15 2=0", [("h", 15), ("h", 3), ("h", 9)]),
    (
        "MultiHeadAttention m 1 1 a b 0=4 1=2 2=16 3=3 4=5",
        [("h", 16), ("f", 4), ("h", 12), ("f", 4), ("h", 20), ("f", 4), ("h", 16), ("f", 4)],
    ),
    ("MemoryData m 0 1 b 0=3 1=2", [("f", 6)]),
    ("MemoryData m 0 1 b 0=3 1=2 2=2 21=0", [("h", 12)]),
    ("BatchNorm n 1 1 a b 0=3", [("f", 3), ("f", 3), ("f", 3), ("f", 3)]),
    ("Bias n 1 1 a b 0=3", [("f", 3)]),
    ("GroupNorm n 1 1 a b 0=2 1=4 2=1.000000e-05 3=1", [("f", 4), ("f", 4)]),
    ("GroupNorm n 1 1 a b 0=2 1=4 3=0", []),
    ("InstanceNorm n 1 1 a b 0=4", [("f", 4), ("f", 4)]),
    ("LayerNorm n 1 1 a b 0=4 1=1e-5 2=1", [("f", 4), ("f", 4)]),
    ("LayerNorm n 1 1 a b 0=4 1=1e-5 2=0", []),
    ("RMSNorm n 1 1 a b 0=4 1=1e-5 2=1", [("f", 4)]),
    ("Normalize n 1 1 a b 0=1 3=4", [("f", 4)]),
    ("PReLU p 1 1 a b 0=3", [("f", 3)]),
    ("Scale s 1 1 a b 0=3 1=1", [("f", 3), ("f", 3)]),
    ("Scale s 2 1 a k b 0=-233", []),
    ("Pooling p 1 1 a b 0=1 1=2 -23310=2,0.0,6.0", []),
    ('Reshape r 1 1 a b 6="0w,-1"', []),
]


def half(values: np.ndarray) -> bytes:
    """A block in float16, which ends at a multiple of four bytes."""
    raw = values.astype("<f2").tobytes()
    return HALF + raw + bytes(-len(raw) % 4)


def graph(*lines: str) -> str:
    return "\n".join(["7767517", f"{len(lines)} {len(lines)}", *lines, ""])


@pytest.mark.parametrize("stored", ["half", "single"])
@pytest.mark.parametrize(
    ("line", "blocks"), LAYERS, ids=[f"{line.split()[0]}-{n}" for n, (line, _) in enumerate(LAYERS)]
)
def test_the_blocks_of_each_layer_are_passed_over(line: str, blocks: list[tuple[str, int]], stored: str) -> None:
    content = b""
    for kind, count in blocks:
        values = np.arange(count) + 1.0
        single = (bytes(4) if kind == "h" else b"") + values.astype("<f4").tobytes()
        content += half(values) if kind == "h" and stored == "half" else single
    found = rebuilt(graph(line, LAST), content + half(LAST_WEIGHTS))
    values = [found.values[one.name] for one in found.constants]
    assert (values[-1] == LAST_WEIGHTS).all() and found.constants[-1].layer == "last"
    halves = [count for kind, count in blocks if kind == "h" and stored == "half"]
    assert [one.size for one in values[:-1]] == halves
    assert all((one.reshape(-1) == np.arange(one.size) + 1).all() for one in values[:-1])


def test_the_shapes_are_those_of_the_products() -> None:
    lines = ["Gemm g 1 1 a b 2=0 3=0 4=0 5=1 6=0 8=5 9=3", "Embed e 1 1 a b 0=4 1=7 2=0 3=28"]
    found = rebuilt(graph(*lines, LAST), half(np.ones(15)) + half(np.ones(28)) + half(LAST_WEIGHTS))
    assert [found.values[one.name].shape for one in found.constants] == [(3, 5), (7, 4), (2, 3)]


def test_subnormal_numbers_are_zero_and_may_have_been_any() -> None:
    least = 2.0**-14
    found = rebuilt(graph(LAST), half(np.array([least, least / 2, -least / 4, 0, 1, -3])))
    (constant,) = found.constants
    assert found.values[constant.name].reshape(-1).tolist() == [least, 0, 0, 0, 1, -3]
    steps = found.reply().arrays[f"step:{constant.name}"]
    assert np.frombuffer(steps.data, "<f8").tolist() == [2**-23, 2**-13, 2**-13, 2**-13, 2**-9, 2**-8]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (half(LAST_WEIGHTS) + bytes(8), "the weights of these layers have 16 bytes, the file 24"),
        (struct.pack("<I", 0x000D4B38) + bytes(8), "the weights of last are stored as kind 0xd4b38"),
        (bytes(4) + LAST_WEIGHTS.astype("<f4").tobytes(), "no weights in float16 in the artefact"),
    ],
)
def test_what_cannot_be_read_is_refused(content: bytes, message: str) -> None:
    with pytest.raises(Unsupported, match=message):
        rebuilt(graph(LAST), content)
