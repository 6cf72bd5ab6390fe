"""How many terms the sums of an operator have, and what their rounding in float32 may change (docs/operators.md)."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from bench_plugin.agent.toolkit import versions

ADAPTER = {
    "name": "onnx_terms",
    "kind": "tool",
    "toolchain": "onnxruntime",
    "title": "Terms of the sums of ONNX operators",
    "distribution": "onnx",
    "operations": [],
}

UNIT = 2.0**-24  # the unit roundoff of float32
FEW = 64  # up to so many terms the rounding of the inputs, 16 times, covers that of the sum: 16 = 2 sqrt(64)
SHARE = 1 / 8  # the rule takes 16 times what is found here, and a sum of n terms may be wrong by 2 sqrt(n) u S
POSITIVE = "SoftmaxCrossEntropyLoss"  # it adds what it makes of its inputs, -log(probability), which has one sign
LOSSES = ("NegativeLogLikelihoodLoss", POSITIVE)


class Adapter:
    """Remembers nothing; the adapters that use this file take its functions."""

    def versions(self) -> dict[str, str]:
        """Versions of the distributions that take part."""
        return versions.installed("onnx", "numpy")

    def reset(self) -> None:
        """Nothing to forget."""


def terms(node: Any, inputs: Sequence[Any], output: Any) -> int:
    """The number of terms of the longest sum that one element of ``output`` [...] is; 1 for what is no sum.

    ``node`` is a NodeProto, ``inputs`` are its arrays [...], None for one that is left out.
    """
    count = _COUNTS.get(node.op_type)
    return max(1, int(count(_attributes(node), inputs, output))) if count else 1


def watched(evaluator: Any, seen: Callable[[int], None], generator: Any = None) -> None:
    """Let the sums of a ReferenceEvaluator call ``seen`` with the number of their terms.

    With a numpy ``generator``, each of them also adds what the rounding of its terms may change to its result.
    """
    for node in evaluator.rt_nodes_:
        if node.op_type in _COUNTS:
            node.run = _watching(node, node.run, seen, generator)


def _watching(node: Any, run: Callable[..., Any], seen: Callable[[int], None], generator: Any) -> Callable[..., Any]:
    import numpy as np

    def summed(*inputs: Any, **options: Any) -> Any:
        outputs = run(*inputs, **options)
        count = terms(node.onnx_node, inputs, outputs[0])
        seen(count)
        if generator is None or count <= FEW or getattr(outputs[0], "dtype", None) != "float64":
            return outputs
        sizes = outputs[0] if node.op_type == POSITIVE else run(*map(_magnitude, inputs), **options)[0]
        signs = generator.integers(0, 2, size=outputs[0].shape) * 2 - 1
        return (np.asarray(outputs[0] + signs * (SHARE * math.sqrt(count) * UNIT) * abs(sizes)), *outputs[1:])

    return summed


def _magnitude(value: Any) -> Any:
    return abs(value) if getattr(value, "dtype", None) == "float64" else value


def _attributes(node: Any) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for one in node.attribute:
        if one.type == one.INT:
            found[one.name] = one.i
        elif one.type == one.INTS:
            found[one.name] = list(one.ints)
        elif one.type == one.STRING:
            found[one.name] = one.s.decode()
    return found


def _reduced(_: dict[str, Any], inputs: Sequence[Any], output: Any) -> Any:
    return inputs[0].size / max(1, output.size)


def _window(attributes: dict[str, Any], *_: Any) -> Any:
    return math.prod(attributes["kernel_shape"])


def _gemm(attributes: dict[str, Any], inputs: Sequence[Any], _: Any) -> Any:
    return float(inputs[0].shape[0 if attributes.get("transA") else 1] + (len(inputs) > 2))


def _convolved(_: dict[str, Any], inputs: Sequence[Any], __: Any) -> Any:
    return math.prod(inputs[1].shape[1:]) + (len(inputs) > 2)


def _transposed(attributes: dict[str, Any], inputs: Sequence[Any], _: Any) -> Any:
    channels = inputs[1].shape[0] / (attributes.get("group") or 1)
    return channels * math.prod(inputs[1].shape[2:]) + (len(inputs) > 2)


def _einsum(attributes: dict[str, Any], inputs: Sequence[Any], output: Any) -> Any:
    """The product of the sizes of all labels that the result lacks: every element of it is a sum over them."""
    sizes: dict[str, int] = {}
    left = attributes["equation"].replace(" ", "").partition("->")[0]
    for labels, value in zip(left.split(","), inputs):
        before, dots, after = labels.partition("...")
        shape = value.shape
        sizes.update(zip(before, shape))
        if dots and len(shape) > len(before) + len(after):
            spread = shape[len(before) : len(shape) - len(after)]
            sizes.update(("...%d" % (len(spread) - place), size) for place, size in enumerate(spread))
        sizes.update(zip(after, shape[len(shape) - len(after) :]))
    return math.prod(sizes.values()) / max(1, output.size)


def _along_axis(_: dict[str, Any], inputs: Sequence[Any], __: Any) -> Any:
    return float(inputs[0].shape[int(inputs[1].reshape(-1)[0])])


def _operands(_: dict[str, Any], inputs: Sequence[Any], __: Any) -> Any:
    return len(inputs)


def _block(_: dict[str, Any], inputs: Sequence[Any], __: Any) -> Any:
    return math.prod(int(size) for size in inputs[2])


def _loss(attributes: dict[str, Any], inputs: Sequence[Any], _: Any) -> Any:
    """The samples that are averaged or added up; their log-probabilities have one sign."""
    return 1 if attributes.get("reduction", "mean") == "none" else inputs[1].size


_COUNTS: dict[str, Callable[[dict[str, Any], Sequence[Any], Any], Any]] = {
    **dict.fromkeys(("ReduceL1", "ReduceL2", "ReduceMean", "ReduceProd", "ReduceSum", "ReduceSumSquare"), _reduced),
    **dict.fromkeys(("GlobalAveragePool", "GlobalLpPool"), _reduced),
    **dict.fromkeys(("AveragePool", "LpPool"), _window),
    **dict.fromkeys(("CumSum", "CumProd"), _along_axis),
    **dict.fromkeys(("Mean", "Sum"), _operands),
    **dict.fromkeys(LOSSES, _loss),
    "MatMul": lambda _, inputs, __: inputs[0].shape[-1], "Gemm": _gemm, "Conv": _convolved,
    "ConvTranspose": _transposed, "Einsum": _einsum, "Col2Im": _block, "Range": lambda _, __, output: output.size,
}  # fmt: skip
