"""TFLite's int8: transposed convolutions are read back with their weights, and a wrong weight or bias is a mismatch."""

from __future__ import annotations

import pytest

from tests.project import Project
from tests.read_back_tflite import CONVOLVED, both, is_read_in_full, planted

REST = """
known["t"] = rng.normal(0, 0.4, (8, 5, 3, 3)).astype("float32")
known["one"] = rng.normal(0, 0.4, (8, 5, 1, 1)).astype("float32")
known["b"] = rng.normal(0, 1, 5).astype("float32")

def transposed(weights, size, **attributes):
    return [h.make_node("ConvTranspose", ["a", weights, "b"], ["k"], kernel_shape=[size, size], **attributes)]

NODES = {
    "plain": transposed("t", 3, strides=[2, 2]),
    "padded": transposed("t", 3, strides=[2, 2], pads=[1, 1, 1, 1], output_padding=[1, 1]),
    "gaps": transposed("one", 1, strides=[2, 2]),
}
"""
SCRIPT = CONVOLVED.replace("REST", REST)
SMALLER = """
    buffer = model.buffers[graph.tensors[int(node.inputs[1])].buffer]
    values = numpy.array(buffer.data, "uint8").view("int8").reshape(5, -1)
    values[0] = values[0] * 0.9
    buffer.data = values.reshape(-1).view("uint8")
    changed += 1
"""
DROPPED = """
    buffer = model.buffers[graph.tensors[int(node.inputs[3])].buffer]
    buffer.data = numpy.zeros(len(buffer.data), "uint8")
    changed += 1
"""


@pytest.mark.parametrize("kind", ["plain", "padded", "gaps"])
def test_a_transposed_convolution_is_read_back(project: Project, kind: str) -> None:
    for row in both(project, SCRIPT, kind):
        is_read_in_full(row, "TRANSPOSE_CONV")
        assert row["numbers"]["converter"]["constants"] == row["numbers"]["converter"]["compared"]


@pytest.mark.parametrize("body", [SMALLER, DROPPED], ids=["weights smaller", "bias dropped"])
def test_wrong_constants_of_it_are_a_mismatch(project: Project, body: str) -> None:
    row = planted(project, SCRIPT, "plain", "TRANSPOSE_CONV", body)
    assert row["status"] == "mismatch", row
    assert "converter" in row["reason"], row["reason"]
