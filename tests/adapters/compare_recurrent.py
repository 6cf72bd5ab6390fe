"""Runs recurrent layers in the float64 evaluator and in ONNX Runtime, with every attribute: prints what differs.

Executed by the interpreter of the onnxruntime toolchain: ``python compare_recurrent.py``.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator
from typing import Any

import numpy as np
import onnx
import onnxruntime
from onnx import helper, numpy_helper

from bench_plugin.adapters.onnx_tools import onnx_float64
from bench_plugin.agent.arrays import from_numpy, to_numpy
from bench_plugin.agent.contract import EvaluateCall, Place

GATES = {"RNN": 1, "GRU": 3, "LSTM": 4}
STEPS, BATCH, WIDTH, HIDDEN = 6, 3, 4, 5
LENGTHS = np.array([6, 2, 4], dtype=np.int32)
SIGMOID = {"GRU": ["HardSigmoid", "Softsign"], "LSTM": ["HardSigmoid", "Relu", "Softsign"], "RNN": ["LeakyRelu"]}


def cases() -> Iterator[tuple[str, dict[str, Any], bool]]:
    """Operator, attributes, and whether the sequences have lengths of their own."""
    for operator in GATES:
        for direction in ("forward", "reverse", "bidirectional"):
            for lengths in (False, True):
                yield operator, {"direction": direction}, lengths
        count = len(SIGMOID[operator])
        factors = {"activation_alpha": [0.3], "activation_beta": [0.4]} if count > 1 else {"activation_alpha": [0.3]}
        yield operator, {"activations": SIGMOID[operator], **factors}, True
        yield operator, {"activations": SIGMOID[operator] * 2, "direction": "bidirectional"}, False
        yield operator, {"clip": 0.5}, True
    yield "GRU", {"linear_before_reset": 1, "direction": "bidirectional"}, True
    yield "LSTM", {"input_forget": 1}, False


def main() -> int:
    """1 when a result differs; prints how many were compared."""
    adapter = onnx_float64.Adapter()
    rng = np.random.default_rng(0)
    count = wrong = 0
    with tempfile.TemporaryDirectory() as scratch:
        path = os.path.join(scratch, "one.onnx")
        for operator, attributes, lengths in cases():
            onnx.save(_model(operator, attributes, lengths, rng), path)
            x = rng.standard_normal((STEPS, BATCH, WIDTH)).astype("float32")
            wanted = onnxruntime.InferenceSession(path).run(None, {"x": x})
            place = Place(scratch, {"model.onnx": path}, {"in:x": from_numpy(x[None])}, lambda stage: None)
            found = adapter.evaluate(EvaluateCall(batched=False).at(place)).arrays
            for number, want in enumerate(wanted):
                have = to_numpy(found[f"out{number}"])[0]
                count += 1
                if have.dtype != np.float64 or have.shape != want.shape or not np.allclose(have, want, atol=2e-6):
                    wrong += 1
                    print("DIFFERS", operator, attributes, "lengths" if lengths else "", f"out{number}")
    print(f"{count} compared, {wrong} differ")
    return 1 if wrong else 0


def _model(operator: str, attributes: dict[str, Any], lengths: bool, rng: Any) -> Any:
    """One layer with biases, states at the beginning, and peepholes; its weights are stored."""
    directions = 2 if attributes.get("direction") == "bidirectional" else 1
    rows = GATES[operator] * HIDDEN
    shapes = {"w": (rows, WIDTH), "r": (rows, HIDDEN), "b": (2 * rows,), "h": (BATCH, HIDDEN)}
    if operator == "LSTM":
        shapes |= {"c": (BATCH, HIDDEN), "p": (3 * HIDDEN,)}
    values = {name: rng.standard_normal((directions, *shape)).astype("float32") for name, shape in shapes.items()}
    names = ["x", "w", "r", "b", "lengths" if lengths else "", *list(shapes)[3:]]
    tensors = [numpy_helper.from_array(value, name) for name, value in (*values.items(), ("lengths", LENGTHS))]
    outputs = ["y", "yh", "yc"][: 3 if operator == "LSTM" else 2]
    graph = helper.make_graph(
        [helper.make_node(operator, names, outputs, hidden_size=HIDDEN, **attributes)], "one",
        [helper.make_tensor_value_info("x", 1, [STEPS, BATCH, WIDTH])],
        [helper.make_tensor_value_info(name, 1, None) for name in outputs], tensors,
    )  # fmt: skip
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


if __name__ == "__main__":
    sys.exit(main())
