"""Sums one by one: results of products, reductions, means and softmax as if their terms were added in a type."""

from __future__ import annotations

import importlib
import itertools
import math
from typing import Any

from bench_plugin.adapters.onnx_tools.shared import onnx_added
from bench_plugin.agent.toolkit import versions

ADAPTER = {
    "name": "onnx_sums",
    "kind": "tool",
    "toolchain": "onnxruntime",
    "title": "Sums of terms one by one",
    "distribution": "onnx",
    "operations": [],
    "uses": ["onnx_added"],
}

DOMAIN = "bench.rounding"
# Of the relative size of a last bit: the standard deviation of rounding numbers whose mantissas are spread evenly by
# their logarithms, (integral of m^-3 from 1 to 2, over ln 2)^0.5 / 12^0.5.
SPREAD = 0.2123
LAST_BITS = {"float32": 2.0**-23, "float16": 2.0**-10, "bfloat16": 2.0**-7}
CHANNELS = {"Conv": 0, "ConvTranspose": 1, "Gemm": -1, "MatMul": -1}  # the axis of the weights that counts outputs
MEANS = ("ReduceMean", "AveragePool", "GlobalAveragePool")
REDUCTIONS = ("ReduceSum", "ReduceL1", "ReduceL2", "ReduceSumSquare", *MEANS)
PARTS = 16  # ends of parts of a product at which the sums in the order of its terms are known
SUMMED = (*CHANNELS, "Einsum", *REDUCTIONS, "Softmax", "LogSoftmax", "InstanceNormalization")


class Adapter:
    """Remembers nothing; the adapters that use this file take its functions."""

    def versions(self) -> dict[str, str]:
        """Versions of the distributions that take part."""
        return versions.installed("onnx", "numpy")

    def reset(self) -> None:
        """Nothing to forget."""


def operators() -> list[Any]:
    """The classes for onnx's evaluator of what ``summed`` adds to a graph."""
    base = importlib.import_module("onnx.reference.op_run").OpRun
    return [_ones(base), _terms(base), _in_order(base), _added(base), _summed(base), _shared(base), _normalised(base)]


def summed(onnx: Any, seed: int, node: Any, format: str) -> list[Any]:
    """The nodes for a node of ``SUMMED``, the last of which gives its result as if it were summed in this type.

    What is rounded is random, by ``seed``. Anything else, and an Einsum of other than two operands, stays as it is.
    """
    if node.op_type not in SUMMED or (node.op_type == "Einsum" and len(node.input) != 2):
        return [node]
    own, result = onnx.helper.make_node, node.output[0]
    node.output[0] = plain = f"{result}_summed"
    said: dict[str, Any] = {"seed": seed, "format": format, "domain": DOMAIN}
    if node.op_type == "InstanceNormalization":
        node.output[0] = result
        epsilon = next((one.f for one in node.attribute if one.name == "epsilon"), 1e-5)
        return [own("NormalisedSum", list(node.input), [result], epsilon=epsilon, **said)]
    if node.op_type in ("Softmax", "LogSoftmax"):
        axis = next((one.i for one in node.attribute if one.name == "axis"), -1)
        return [node, own("SharedSum", [plain], [result], axis=axis, log=int(node.op_type == "LogSoftmax"), **said)]
    squares, terms, order = f"{result}_squares", f"{result}_terms", f"{result}_in_order"
    before, inputs = [*_squares(onnx, node, squares), *_counted(onnx, node, terms)], [plain, squares, terms]
    if node.op_type in ("MatMul", "Gemm"):
        before, inputs = [*before, _ordered(onnx, node, order)], [*inputs, order]
    if node.op_type in REDUCTIONS:
        before, inputs = [*before, _reduced(onnx, node, plain, order, format)], [*inputs, "", order]
    said |= {"mean": int(node.op_type in MEANS), "root": int(node.op_type == "ReduceL2")}
    return [node, *before, own("Summed", inputs, [result], **said)]


def _ordered(onnx: Any, node: Any, name: str) -> Any:
    """The node that gives the mean square of the sums of a product of matrices, in the order of its terms."""
    said = {one.name: onnx.helper.get_attribute_value(one) for one in node.attribute if one.name != "beta"}
    return onnx.helper.make_node("InOrder", list(node.input[:2]), [name], domain=DOMAIN, **said)


def _reduced(onnx: Any, node: Any, result: str, name: str, format: str) -> Any:
    """The node that gives how far a reduction is off that adds its terms in their order."""
    kept = {"axes", "kernel_shape", "strides", "pads", "dilations", "ceil_mode", "auto_pad", "noop_with_empty_axes"}
    said = {one.name: onnx.helper.get_attribute_value(one) for one in node.attribute if one.name in kept}
    inputs = [node.input[0], result, *node.input[1:2]]
    return onnx.helper.make_node(
        "Added", inputs, [name], reduction=node.op_type, format=format, domain=DOMAIN, **said
    )  # fmt: skip


def _squares(onnx: Any, node: Any, name: str) -> list[Any]:
    """The nodes whose last gives the sums, or means, of the squares of the terms."""
    factors = 2 if node.op_type in (*CHANNELS, "Einsum") else 1
    made = onnx.NodeProto()
    made.CopyFrom(node)
    inputs = [f"{name}_{place}" for place in range(factors)]
    kept = [] if factors == 2 else node.input[1:]  # the axes of a reduction; a bias is no product
    del made.input[:]
    made.input.extend([*inputs, *kept])
    made.output[0] = name
    return [*(onnx.helper.make_node("Mul", [one, one], [to]) for one, to in zip(node.input, inputs)), made]


def _counted(onnx: Any, node: Any, name: str) -> list[Any]:
    """The nodes whose last gives the number of terms of each element."""
    make = onnx.helper.make_node
    said = {one.name: one for one in node.attribute}
    if node.op_type == "Einsum":
        ones = [f"{name}_{place}" for place in range(2)]
        made = [make("Ones", [one], [to], domain=DOMAIN) for one, to in zip(node.input, ones)]
        return [*made, make("Einsum", ones, [name], equation=said["equation"].s)]
    if node.op_type == "AveragePool":
        terms = onnx.helper.make_tensor(name, onnx.TensorProto.DOUBLE, [], [math.prod(said["kernel_shape"].ints)])
        return [make("Constant", [], [name], value=terms)]
    if node.op_type not in CHANNELS:
        return [make("Terms", [node.input[0], node.output[0]], [name], domain=DOMAIN)]
    channels = -2 if "transB" in said and said["transB"].i else CHANNELS[node.op_type]
    return [make("Terms", [node.input[1]], [name], channels=channels, domain=DOMAIN)]


def _ones(base: Any) -> Any:
    class Ones(base):  # type: ignore[misc]
        op_domain = DOMAIN

        def _run(self, x: Any) -> tuple[Any]:
            import numpy as np

            return (np.ones_like(x),)

    return Ones


def _terms(base: Any) -> Any:
    class Terms(base):  # type: ignore[misc]
        """Terms of a reduction of ``source`` to ``result``, or of a product with these weights."""

        op_domain = DOMAIN

        def _run(self, source: Any, result: Any = None, channels: int = 0) -> tuple[Any]:
            import numpy as np

            if result is not None:
                return (np.float64(source.size / max(result.size, 1)),)
            matrix = source.shape[-2:]  # of a stack of them each is a product of its own
            terms = source.size if source.ndim == 1 else np.prod(matrix if channels < 0 else source.shape)
            return (np.float64(terms / (source.shape[channels] if source.ndim > 1 else 1)),)

    return Terms


def _in_order(base: Any) -> Any:
    class InOrder(base):  # type: ignore[misc]
        """The mean square of the sums of a product of matrices in the order of its terms, by that of PARTS of them."""

        op_domain = DOMAIN

        def _run(self, a: Any, b: Any, transA: int = 0, transB: int = 0, alpha: float = 1.0) -> tuple[Any]:
            import numpy as np

            if a.ndim < 2 or b.ndim < 2 or a.dtype.kind != "f":
                return (np.float64(0),)
            a, b = (np.swapaxes(x, -1, -2) if swapped else x for x, swapped in ((a, transA), (b, transB)))
            ends = np.unique(np.linspace(0, a.shape[-1], PARTS + 1).astype(int))
            reached, squares = 0.0, 0.0
            for begin, end in itertools.pairwise(ends):
                reached = reached + a[..., begin:end] @ b[..., begin:end, :]
                squares = squares + reached**2
            return (np.float64(alpha) ** 2 * squares / max(1, len(ends) - 1),)

    return InOrder


def _added(base: Any) -> Any:
    class Added(base):  # type: ignore[misc]
        """How far the sum, or mean, of a reduction of x to y is off in the order of its terms; zeros if not known.

        Of ReduceL2 it is the sum beneath the root.
        """

        op_domain = DOMAIN

        def _run(
            self, x: Any, y: Any, axes: Any = None, reduction: str = "", format: str = "", kernel_shape: Any = (),
            strides: Any = (), pads: Any = (), dilations: Any = (), ceil_mode: int = 0, auto_pad: str = "NOTSET",
            noop_with_empty_axes: int = 0,
        ) -> tuple[Any]:  # fmt: skip
            import numpy as np

            if y.dtype.kind != "f" or not x.size:
                return (np.zeros_like(y),)
            if reduction == "GlobalAveragePool":
                terms = onnx_added.reduced(x, range(2, x.ndim))
            elif reduction == "AveragePool":
                if ceil_mode or auto_pad not in ("NOTSET", "VALID") or set(dilations or ()) - {1}:
                    return (np.zeros_like(y),)
                terms = onnx_added.windows(x, list(kernel_shape), list(strides or ()), list(pads or ()))
            elif (axes is not None and np.size(axes)) or not noop_with_empty_axes:
                terms = onnx_added.reduced(x, axes if axes is not None and np.size(axes) else None)
            else:
                return (np.zeros_like(y),)
            if reduction in ("ReduceL1", "ReduceL2", "ReduceSumSquare"):
                terms = np.abs(terms) if reduction == "ReduceL1" else terms**2
            error = onnx_added.error_in_order(terms, format).reshape(y.shape)
            return (error / len(terms) if reduction in MEANS else error,)

    return Added


def _summed(base: Any) -> Any:
    class Summed(base):  # type: ignore[misc]
        """A sum y as if its terms had been added one by one, each sum rounded to a type.

        ``q`` is the sum of the squares of the terms. In a random order of K terms, the k-th sum has the mean square
        (k/K)^2 y^2 + k/K (1 - k/K) q, so that all of them have K (y^2 / 3 + q / 6). Terms that are sorted have larger
        sums: ``order`` is the mean square in the order in which they are, and the larger one counts. The rounding of
        each is a random number of that size, unless ``added``, what that order really loses, is more. Of a ``mean``, y
        and q are K times smaller; of a ``root`` both are the roots of what is meant. Sums of integers stay as they are.
        """

        op_domain = DOMAIN

        def _run(
            self, y: Any, q: Any, terms: Any, order: Any = None, added: Any = None, mean: int = 0, root: int = 0,
            seed: int = 0, format: str = "",
        ) -> tuple[Any]:  # fmt: skip
            import numpy as np

            if y.dtype.kind != "f":
                return (y,)
            total, q = (y**2, q**2) if root else (y, q)
            spread = np.maximum(total**2 / 3 + np.abs(q) / (6 * terms if mean else 6), 0.0 if order is None else order)
            error = SPREAD * LAST_BITS[format] * np.sqrt(terms * spread) * _drawn(self, seed, y.shape)
            error = error if added is None else onnx_added.larger(error, added)
            return (np.sqrt(np.maximum(total + error, 0)) if root else y + error,)

    return Summed


def _shared(base: Any) -> Any:
    class SharedSum(base):  # type: ignore[misc]
        """Terms y that were divided by their sum along the axis, which was added in a narrow type: all err together.

        With ``log`` y are the logarithms of these.
        """

        op_domain = DOMAIN

        def _run(self, y: Any, axis: int = -1, log: int = 0, seed: int = 0, format: str = "") -> tuple[Any]:
            import numpy as np

            shares = np.exp(y) if log else y
            size = np.sqrt(y.shape[axis] * (1 / 3 + (shares**2).sum(axis, keepdims=True) / 6))
            drawn = SPREAD * LAST_BITS[format] * size * _drawn(self, seed, size.shape)
            terms = shares / shares.max(axis, keepdims=True)  # as they are before they are divided: the largest is 1
            lost = onnx_added.error_in_order(np.moveaxis(terms, axis, 0), format)
            lost = onnx_added.larger(drawn, np.expand_dims(lost, axis) / terms.sum(axis, keepdims=True))
            return (y - lost if log else y * (1 - lost),)

    return SharedSum


def _normalised(base: Any) -> Any:
    class NormalisedSum(base):  # type: ignore[misc]
        """InstanceNormalization of [N, C, ...] whose means and variances were added one by one, as in ``Summed``."""

        op_domain = DOMAIN

        def _run(
            self, x: Any, scale: Any, bias: Any, epsilon: float = 1e-5, seed: int = 0, format: str = ""
        ) -> tuple[Any]:
            import numpy as np

            axes = tuple(range(2, x.ndim))
            count = max(1, int(np.prod(x.shape[2:])))

            def added(values: Any) -> Any:
                mean = values.mean(axes, keepdims=True)
                size = np.sqrt(count * mean**2 / 3 + (values**2).mean(axes, keepdims=True) / 6)
                drawn = SPREAD * LAST_BITS[format] * size * _drawn(self, seed, mean.shape)
                in_order = onnx_added.error_in_order(onnx_added.reduced(values, axes), format) / count
                return mean + onnx_added.larger(drawn, in_order.reshape(mean.shape))

            centred = x - added(x)
            along = (1, -1, *[1] * len(axes))
            spread = np.sqrt(np.maximum(added(centred**2), 0) + epsilon)
            return ((centred / spread * scale.reshape(along) + bias.reshape(along)).astype(x.dtype),)

    return NormalisedSum


def _drawn(operator: Any, seed: int, shape: tuple[int, ...]) -> Any:
    """Normal numbers, whose series goes on from sample to sample."""
    import numpy as np

    operator._series = getattr(operator, "_series", None) or np.random.default_rng(seed)
    return operator._series.standard_normal(shape)
