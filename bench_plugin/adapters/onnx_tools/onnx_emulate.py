"""The emulation of a precision: a file evaluated in float64, with every result rounded to that precision."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from typing import Any

from bench_plugin.adapters.onnx_tools import onnx_float64, onnx_operators
from bench_plugin.adapters.onnx_tools.shared import onnx_sums
from bench_plugin.agent.adapter import Reply
from bench_plugin.agent.contract import EmulateCall
from bench_plugin.agent.toolkit import samples, versions

ADAPTER = {
    "name": "onnx_emulate",
    "kind": "tool",
    "toolchain": "onnxruntime",
    "title": "Emulated precisions",
    "distribution": "onnx",
    "operations": ["emulate"],
    "uses": ["onnx_float64", "onnx_operators", "onnx_sums"],
    "errors": [{"package": "onnx"}],
}

DOUBLE = 11
CONTRACTIONS = ("Conv", "ConvTranspose", "Gemm", "MatMul")
# name -> (rounding of weights, rounding of every result, rounding of a contraction's operands)
EMULATIONS = {
    "fp32": ("float32", "float32", ""),
    "tf32": ("float32", "float32", "tf32"),
    "w16": ("float16", "float32", ""),
    "fp16": ("float16", "float16", ""),
    "wbf16": ("bfloat16", "float32", ""),
    "bf16": ("bfloat16", "bfloat16", ""),
}
SUMS = "-sums"  # behind the name of an emulation whose terms are summed in its own type
# Of files that round to integers as they run: the emulation of fp32 with every value that is divided by a scale moved
# by two ulps, so that each integer that float32 may round to either side is rounded to both.
NUDGES = {"fp32-up": 1 + 2.0**-22, "fp32-down": 1 - 2.0**-22}
DYNAMIC = "DynamicQuantizeLinear"


class Adapter:
    """Remembers nothing."""

    def versions(self) -> dict[str, str]:
        """Versions of the distributions that take part."""
        return versions.installed("onnx", "numpy")

    def reset(self) -> None:
        """Nothing to forget."""

    def emulate(self, call: EmulateCall) -> Reply:
        """Outputs ``<emulation>:out0`` ... of the first samples under each emulation, and under NUDGES."""
        call.stage("reference")
        onnx = importlib.import_module("onnx")
        given = {name: values[: call.samples] for name, values in call.inputs.items()}
        arrays = {}
        source = onnx.load(call.files["model.onnx"])
        nudges = NUDGES if any(node.op_type == DYNAMIC for node in source.graph.node) else {}
        for name in (call.sums + SUMS,) if call.sums else (*EMULATIONS, *nudges):
            model = onnx_float64.promoted(onnx, onnx.load(call.files["model.onnx"]), narrow=True)
            kept = name.removesuffix(SUMS)
            _rounded(onnx, model.graph, EMULATIONS[kept if kept in EMULATIONS else "fp32"], sums=kept != name)
            if name in nudges:
                _nudged(onnx, model.graph, nudges[name])
            model.opset_import.append(onnx.helper.make_opsetid(onnx_sums.DOMAIN, 1))
            arrays.update(samples.blobs(_evaluated(onnx, model, given, call.batched), name + ":"))
        return Reply({"samples": call.samples}, arrays)


def _evaluated(onnx: Any, model: Any, given: dict[str, Any], batched: bool) -> dict[str, Any]:
    reference = importlib.import_module("onnx.reference")
    operators = onnx_operators.fast_operators(onnx)
    plain = next(one for one in operators if one.__name__ == DYNAMIC)
    operators = [*operators, _round_operator(), *onnx_sums.operators(), _nudged_operator(plain)]
    evaluator = reference.ReferenceEvaluator(model, new_ops=operators)
    order = [name for name in evaluator.input_names if name in given]

    def run(xs: Sequence[Any]) -> list[Any]:
        return list(evaluator.run(None, dict(zip(order, xs))))

    doubled = [onnx_float64.doubled(given[name]) for name in order]
    results = samples.one_by_one(run, doubled, batched)
    return samples.joined(results, samples.numbered(len(results[0])), batched)


def _round_operator() -> Any:
    base = importlib.import_module("onnx.reference.op_run").OpRun

    class Round(base):  # type: ignore[misc, valid-type]
        op_domain = onnx_sums.DOMAIN

        def _run(self, x: Any, format: str = "") -> tuple[Any]:
            return (ROUNDINGS[format](x) if getattr(x, "dtype", None) == "float64" else x,)

    return Round


def _nudged_operator(plain: Any) -> Any:
    """DynamicQuantizeLinear, whose values are multiplied by a factor before they are divided by the scale."""
    base = importlib.import_module("onnx.reference.op_run").OpRun

    class DynamicQuantizeLinear(base):  # type: ignore[misc, valid-type]
        op_domain = onnx_sums.DOMAIN

        def _run(self, x: Any, factor: float = 1.0) -> tuple[Any, Any, Any]:
            import numpy as np

            steps, scale, zero = plain._run(self, x)
            moved = np.rint(np.asarray(x, dtype=np.float64) * factor / scale) + zero.astype(np.float64)
            return np.clip(moved, 0, 255).astype(steps.dtype), scale, zero

    return DynamicQuantizeLinear


def _nudged(onnx: Any, graph: Any, factor: float) -> None:
    for node in graph.node:
        if node.op_type == DYNAMIC:
            node.domain = onnx_sums.DOMAIN
            node.attribute.append(onnx.helper.make_attribute("factor", factor))


def _rounded(onnx: Any, graph: Any, rounding: tuple[str, str, str], *, sums: bool = False) -> None:
    """Round weights in place, and put a rounding behind every result of the top-level graph.

    With ``sums`` terms are added in the type of the results, too.
    """
    weights, results, operands = rounding
    for tensor in graph.initializer:
        if tensor.data_type == DOUBLE:
            values = ROUNDINGS[weights](onnx.numpy_helper.to_array(tensor))
            tensor.CopyFrom(onnx.numpy_helper.from_array(values, tensor.name))
    nodes = []
    for index, node in enumerate(graph.node):
        if operands and node.op_type in CONTRACTIONS:
            for place, name in enumerate(node.input[:2]):
                node.input[place] = f"{name}_operand{index}_{place}"
                nodes.append(_round_node(onnx, name, node.input[place], operands))
        made = onnx_sums.summed(onnx, index, node, results) if sums else [node]
        nodes += made
        if node.op_type in ("Shape", "Constant", "ConstantOfShape"):
            continue
        last = made[-1]
        for place, name in enumerate(last.output):
            if name:
                last.output[place] = f"{name}_exact"
                nodes.append(_round_node(onnx, last.output[place], name, results))
    del graph.node[:]
    graph.node.extend(nodes)


def _round_node(onnx: Any, source: str, target: str, format: str) -> Any:
    return onnx.helper.make_node("Round", [source], [target], domain=onnx_sums.DOMAIN, format=format)


def _through(name: str) -> Callable[[Any], Any]:
    def rounded(values: Any) -> Any:
        import numpy as np

        with np.errstate(over="ignore"):
            return values.astype(name).astype("float64")

    return rounded


def _mantissa(bits: int) -> Callable[[Any], Any]:
    """To the nearest float32 with ``bits`` explicit bits of mantissa, ties to even."""

    def rounded(values: Any) -> Any:
        import numpy as np

        single = np.ascontiguousarray(values, dtype=np.float32)
        raw = single.view(np.uint32)
        drop = 23 - bits
        even = (raw >> np.uint32(drop)) & np.uint32(1)
        kept = (raw + np.uint32((1 << (drop - 1)) - 1) + even) & np.uint32(0xFFFFFFFF << drop & 0xFFFFFFFF)
        found = np.where(np.isfinite(single), kept.view(np.float32), single)
        return found.astype("float64").reshape(np.shape(values))

    return rounded


ROUNDINGS = {
    "float32": _through("float32"), "float16": _through("float16"), "bfloat16": _mantissa(7), "tf32": _mantissa(10),
}  # fmt: skip
