"""RNN, GRU and LSTM for onnx's reference evaluator, with everything that ONNX lets a file say of them, in numpy."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from bench_plugin.agent.adapter import Unsupported
from bench_plugin.agent.toolkit import versions

ADAPTER = {
    "name": "onnx_recurrent",
    "kind": "tool",
    "toolchain": "onnxruntime",
    "title": "Recurrent layers of the ONNX reference",
    "distribution": "onnx",
    "operations": [],
}

# Functions of one direction in the order of the attribute ``activations``, where a file names none.
USUAL = {"RNN": ("Tanh",), "GRU": ("Sigmoid", "Tanh"), "LSTM": ("Sigmoid", "Tanh", "Tanh")}
# What a function takes of ``activation_alpha`` and ``activation_beta``, and its defaults; None: a file must say it.
ALPHA = {"Affine": None, "LeakyRelu": 0.01, "ThresholdedRelu": 1.0, "ScaledTanh": None, "HardSigmoid": 0.2, "Elu": 1.0}
BETA = {"Affine": None, "ScaledTanh": None, "HardSigmoid": 0.5}


class Adapter:
    """Remembers nothing; the adapters that use this file take its functions."""

    def versions(self) -> dict[str, str]:
        """Versions of the distributions that take part."""
        return versions.installed("onnx", "numpy")

    def reset(self) -> None:
        """Nothing to forget."""


def recurrent_operators(base: Any) -> list[Any]:
    """Classes for the evaluator, whose own ignore ``sequence_lens``, ``activations``, ``clip`` and ``input_forget``.

    ``base`` is the evaluator's OpRun.
    """

    class RNN(base):  # type: ignore[misc]
        op_domain = ""

        def _run(self, x: Any, w: Any, r: Any, b: Any = None, lens: Any = None, h: Any = None, **options: Any) -> Any:
            return _run(self.onnx_node, x, w, r, b, lens, (h,), None, options)

    class GRU(base):  # type: ignore[misc]
        op_domain = ""

        def _run(self, x: Any, w: Any, r: Any, b: Any = None, lens: Any = None, h: Any = None, **options: Any) -> Any:
            return _run(self.onnx_node, x, w, r, b, lens, (h,), None, options)

    class LSTM(base):  # type: ignore[misc]
        op_domain = ""

        def _run(
            self, x: Any, w: Any, r: Any, b: Any = None, lens: Any = None, h: Any = None, c: Any = None, p: Any = None,
            **options: Any,
        ) -> Any:  # fmt: skip
            return _run(self.onnx_node, x, w, r, b, lens, (h, c), p, options)

    return [RNN, GRU, LSTM]


def _run(
    node: Any, x: Any, w: Any, r: Any, b: Any, lens: Any, states: Sequence[Any], p: Any, options: dict[str, Any]
) -> tuple[Any, ...]:
    """The outputs of one node: Y, then the last value of each state, as many as the node names.

    x [steps, batch, in]; w [directions, gates * hidden, in]; states [directions, batch, hidden]. With ``layout`` 1 the
    batch is the first axis of x, of the states and of the outputs.
    """
    import numpy as np

    batch_first = bool(options.get("layout"))
    if batch_first:
        x = np.swapaxes(x, 0, 1)
        states = [None if one is None else np.swapaxes(one, 0, 1) for one in states]
    steps, batch = x.shape[:2]
    directions, hidden = r.shape[0], r.shape[2]
    lengths = np.full(batch, steps) if lens is None else np.asarray(lens)
    functions = _functions(node.op_type, options, directions)
    backward = _text(options.get("direction"), "forward") == "reverse"
    found = []
    for place in range(directions):
        zeros = np.zeros((batch, hidden), x.dtype)
        bias = np.zeros(2 * r.shape[1], x.dtype) if b is None else b[place]
        peepholes = np.zeros(3 * hidden, x.dtype) if p is None else p[place]
        step = _step(node.op_type, w[place], r[place], bias, peepholes, functions[place], options)
        first = tuple(zeros if one is None else one[place] for one in states)
        found.append(_walked(x, lengths, first, step, backward=backward or place == 1))
    whole = np.stack([one[0] for one in found], axis=1)  # [steps, directions, batch, hidden]
    last = [np.stack(parts) for parts in zip(*(one[1] for one in found))]
    if batch_first:
        whole, last = whole.transpose(2, 0, 1, 3), [one.swapaxes(0, 1) for one in last]
    return tuple(one.astype(x.dtype) for one in (whole, *last)[: len(node.output)])


def _walked(x: Any, lengths: Any, states: tuple[Any, ...], step: Callable[..., Any], *, backward: bool) -> Any:
    """All results [steps, batch, hidden] of one direction, and its last states.

    A sequence that is shorter than x ends at its length: its results are zero behind it, and its states stay. Backward
    it begins there.
    """
    import numpy as np

    results = np.zeros((x.shape[0], *states[0].shape), x.dtype)
    places = range(x.shape[0])
    for place in reversed(places) if backward else places:
        alive = (place < lengths)[:, None]
        made = step(x[place], *states)
        states = tuple(np.where(alive, new, old) for new, old in zip(made, states))
        results[place] = np.where(alive, made[0], 0)
    return results, states


def _step(
    kind: str, w: Any, r: Any, bias: Any, peepholes: Any, functions: Sequence[Any], options: dict[str, Any]
) -> Callable[..., Any]:
    """One step of one direction by ONNX's formulas: x [batch, in] and states [batch, hidden] to the next states."""
    import numpy as np

    clip = options.get("clip")
    wb, rb = np.split(bias, 2)

    def limited(values: Any) -> Any:
        return values if not clip else np.clip(values, -clip, clip)

    def rnn(x: Any, h: Any) -> Any:
        return (functions[0](limited(x @ w.T + h @ r.T + wb + rb)),)

    def gru(x: Any, h: Any) -> Any:
        (wz, wr, wh), (rz, rr, rh) = np.split(x @ w.T + wb, 3, 1), np.split(r, 3)
        bz, br, bh = np.split(rb, 3)
        update = functions[0](limited(wz + h @ rz.T + bz))
        reset = functions[0](limited(wr + h @ rr.T + br))
        recurrent = reset * (h @ rh.T + bh) if options.get("linear_before_reset") else (reset * h) @ rh.T + bh
        return ((1 - update) * functions[1](limited(wh + recurrent)) + update * h,)

    def lstm(x: Any, h: Any, c: Any) -> Any:
        i, o, f, new = np.split(x @ w.T + h @ r.T + wb + rb, 4, 1)
        pi, po, pf = np.split(peepholes, 3)
        enter = functions[0](limited(i + pi * c))
        keep = 1 - enter if options.get("input_forget") else functions[0](limited(f + pf * c))
        cell = keep * c + enter * functions[1](limited(new))
        return functions[0](limited(o + po * cell)) * functions[2](cell), cell

    steps: dict[str, Callable[..., Any]] = {"RNN": rnn, "GRU": gru, "LSTM": lstm}
    return steps[kind]


def _functions(kind: str, options: dict[str, Any], directions: int) -> list[list[Callable[[Any], Any]]]:
    """The activation functions of every direction. Raises Unsupported for one that ONNX does not list."""
    usual = USUAL[kind]
    names = [_text(name) for name in options.get("activations") or usual * directions]
    alphas, betas = (iter(options.get(f"activation_{name}") or ()) for name in ("alpha", "beta"))
    made = [_function(name, _taken(name, ALPHA, alphas), _taken(name, BETA, betas)) for name in names]
    return [made[place * len(usual) : (place + 1) * len(usual)] for place in range(directions)]


def _taken(name: str, defaults: dict[str, float | None], given: Iterator[float]) -> float:
    """The next of the numbers that a file gives to the functions that take one, else the function's default."""
    if name not in defaults:
        return 0.0
    value = next(given, defaults[name])
    if value is None:
        raise Unsupported(f"activation {name} without its factors has no float64 reference here")
    return value


def _function(name: str, alpha: float, beta: float) -> Callable[[Any], Any]:
    import numpy as np

    known: dict[str, Callable[[Any], Any]] = {
        "Relu": lambda x: np.maximum(x, 0),
        "Tanh": np.tanh,
        "Sigmoid": lambda x: 1 / (1 + np.exp(-x)),
        "Affine": lambda x: alpha * x + beta,
        "LeakyRelu": lambda x: np.where(x < 0, alpha * x, x),
        "ThresholdedRelu": lambda x: np.where(x > alpha, x, 0),
        "ScaledTanh": lambda x: alpha * np.tanh(beta * x),
        "HardSigmoid": lambda x: np.clip(alpha * x + beta, 0, 1),
        "Elu": lambda x: np.where(x < 0, alpha * np.expm1(x), x),
        "Softsign": lambda x: x / (1 + np.abs(x)),
        "Softplus": lambda x: np.logaddexp(x, 0),
    }
    by_name = {one.lower(): function for one, function in known.items()}
    if name.lower() not in by_name:
        raise Unsupported(f"activation {name} of a recurrent layer has no float64 reference here")
    return by_name[name.lower()]


def _text(value: Any, default: str = "") -> str:
    return value.decode() if isinstance(value, bytes) else str(value or default)
