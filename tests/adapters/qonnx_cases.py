"""QONNX files and what stands in their place, in an environment with onnx and numpy: prints JSON.

``python qonnx_cases.py FOLDER``: every case is written to FOLDER as ``<name>.onnx`` and, rewritten, as
``<name>.qcdq.onnx``; ``off`` is the largest difference of the rewritten file from the formula of Quant, ``expected``
its result.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any

import numpy as np
import onnx
from onnx import helper, numpy_helper
from onnx.reference import ReferenceEvaluator

from bench_plugin.adapters.characterise.few_bits import qonnx_files
from bench_plugin.agent.adapter import Unsupported
from bench_plugin.agent.contract import Place, PrepareCall

DOMAIN = "qonnx.custom_op.general"
X = np.random.default_rng(5).uniform(-3, 3, (4, 6)).astype(np.float32)
W = np.random.default_rng(6).standard_normal((6, 5)).astype(np.float32)


def quant(x: Any, scale: Any, zero: float, bits: int, signed: int, narrow: int) -> Any:
    """The formula of Quant with rounding to the nearest."""
    low = -(2 ** (bits - 1)) + narrow if signed else 0
    high = 2 ** (bits - 1) - 1 if signed else 2**bits - 1 - narrow
    return (np.rint(np.clip(x / scale + zero, low, high)) - zero) * scale


def model_of(weights: tuple[Any, ...], inputs: tuple[Any, ...], rounding: str = "ROUND") -> tuple[Any, Any]:
    """A layer with Quant at its weights and at its input, and what it computes of X."""
    tensors = [numpy_helper.from_array(W, "w")]
    nodes = []
    for name, parts in (("x", inputs), ("w", weights)):
        scale, zero, bits, signed, narrow = parts
        values = (np.asarray(scale, np.float32), np.float32(zero), np.float32(bits))
        names = [f"{name}_{part}" for part in ("scale", "zero", "bits")]
        tensors += [numpy_helper.from_array(np.asarray(value), one) for value, one in zip(values, names, strict=True)]
        nodes.append(
            helper.make_node(
                "Quant", [name, *names], [f"{name}_q"], f"quant_{name}", domain=DOMAIN, signed=signed, narrow=narrow,
                rounding_mode=rounding,
            )
        )  # fmt: skip
    nodes.append(helper.make_node("MatMul", ["x_q", "w_q"], ["y"]))
    graph = helper.make_graph(
        nodes, "g", [helper.make_tensor_value_info("x", 1, [4, 6])], [helper.make_tensor_value_info("y", 1, [4, 5])],
        tensors,
    )  # fmt: skip
    sets = [helper.make_opsetid("", 13), helper.make_opsetid(DOMAIN, 1)]
    found = helper.make_model(graph, opset_imports=sets, ir_version=8)
    return found, quant(X.astype(np.float64), *inputs) @ quant(W.astype(np.float64), *weights)


CHANNELS = np.linspace(0.1, 0.9, 5)[None]
CASES = {
    **{f"{bits} bits": model_of((0.25, 0, bits, 1, 0), (0.125, 0, bits, 1, 1)) for bits in range(2, 9)},
    "unsigned": model_of((CHANNELS, 0, 3, 1, 1), (0.25, 2, 4, 0, 0)),
    "eight unsigned": model_of((CHANNELS, 0, 8, 1, 0), (0.03125, 128, 8, 0, 0)),
    "nine bits": model_of((0.25, 0, 9, 1, 0), (0.125, 0, 4, 1, 0)),
    "floor": model_of((0.25, 0, 4, 1, 0), (0.125, 0, 4, 1, 0), "FLOOR"),
}


def main(folder: str) -> None:
    """Print what became of every case."""
    found: dict[str, Any] = {}
    for name, (model, expected) in CASES.items():
        source, target = (os.path.join(folder, f"{name}{end}.onnx") for end in ("", ".qcdq"))
        onnx.save(model, source)
        call = PrepareCall(graph="qcdq").at(Place(folder, {}, {}, lambda stage: None))
        try:
            said = qonnx_files.converted(call, source, target)
        except Unsupported as error:
            found[name] = {"refused": str(error)}
            continue
        made = onnx.load(target)
        onnx.checker.check_model(made, full_check=True)
        for one in made.opset_import:
            one.version = max(one.version, 21)  # the evaluator's quantisation begins there
        result = ReferenceEvaluator(made).run(None, {"x": X})[0]
        found[name] = {
            **said, "off": float(np.abs(result - expected).max()), "expected": expected.tolist(),
            "domains": sorted({node.domain for node in made.graph.node}),
        }  # fmt: skip
    print(json.dumps({"x": X.tolist(), "cases": found}))


if __name__ == "__main__":
    main(sys.argv[1])
