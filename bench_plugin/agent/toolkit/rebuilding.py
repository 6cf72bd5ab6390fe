"""Rebuild what a tool quantised as layers in float64, in ONNX's operators, from what was read in its artefact.

Every layer takes tensors as the artefact has them (integers, or floating point) and gives its result before rounding:
in steps of its scale and clamped, or in its own unit where the artefact has it in floating point.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Dict, List, Mapping, Optional, Sequence, Tuple

from bench_plugin.agent.adapter import Reply
from bench_plugin.agent.arrays import from_numpy
from bench_plugin.agent.contract.rebuilt import RebuiltChoice, RebuiltConstant, RebuiltNode, RebuiltTensor

if TYPE_CHECKING:
    import numpy as np

    Values = np.ndarray[Any, Any]

DOUBLE = 11  # ONNX's number for float64
SPLITTER = 2.0**29 + 1  # a product with it takes the 29 last bits of a float64, which float32 does not have
SMALL = 1 << 14  # elements of which each may be moved across a tie by itself
NEAR_TIE = 2048.0  # one rounding of it to float32 is 1.2e-4: how near to a tie float32 may go to either side, in steps
MILLIONTH = 1e-6  # the step of a constant in floating point, as a share of its largest value


class Unread(Exception):
    """A node of an artefact that cannot be read back; the message says why."""


class Layers:
    """Layers in the making. Names of tensors are the caller's; every other name begins with one of them."""

    def __init__(self) -> None:
        self.nodes: List[RebuiltNode] = []
        self.given: Dict[str, RebuiltTensor] = {}
        self.results: List[RebuiltTensor] = []
        self.constants: List[RebuiltConstant] = []
        self.choices: List[RebuiltChoice] = []
        self.unread: List[str] = []
        self.complete = False
        self.inside = 0
        self.values: Dict[str, Any] = {}
        self._single: Dict[Any, str] = {}
        self._steps: Dict[str, Any] = {}
        self._real: Dict[str, str] = {}
        self._rounded: Dict[str, str] = {}
        self._chosen: Dict[str, Tuple[str, int]] = {}

    def node(self, operator: str, inputs: Sequence[str], **attributes: Any) -> str:
        """Add a node with one output, and return the output's name."""
        return self.split(operator, inputs, 1, **attributes)[0]

    def split(self, operator: str, inputs: Sequence[str], outputs: int, **attributes: Any) -> List[str]:
        """Add a node with several outputs, and return their names."""
        made = ["n%d_%d" % (len(self.nodes), index) for index in range(outputs)]
        self.nodes.append(RebuiltNode(operator, tuple(inputs), tuple(made), attributes))
        return made

    def constant(self, values: Any, dtype: str = "float64") -> str:
        """A constant [...] that was not quantised; equal single numbers are one constant, as a reply has few arrays."""
        import numpy as np

        array = np.array(values, dtype=dtype, order="C")
        if array.ndim:
            return self._own(array)
        key = dtype, array.tobytes()
        if key not in self._single:
            self._single[key] = self._own(array)
        return self._single[key]

    def _own(self, array: Values) -> str:
        name = "c%d" % len(self.values)
        self.values[name] = array
        return name

    def quantised(self, kind: str, layer: str, values: Values, step: Values, *, observed: bool = False) -> str:
        """A quantised constant: its real ``values`` [...] and its steps, which broadcast over them.

        ``kind`` is ``weight``, ``bias``, ``slope`` or ``number``, ``layer`` the operator that takes it. An ``observed``
        one has a range that may leave out what is rare, as that of activations may.
        """
        import numpy as np

        name = self._own(np.array(values, dtype="float64", order="C"))
        self._steps[name] = np.asarray(step, dtype="float64")
        self.constants.append(RebuiltConstant(name, kind, layer, observed=observed))
        return name

    def floating(self, kind: str, layer: str, values: Values) -> str:
        """A constant [...] that stayed in floating point; ``kind`` and ``layer`` are as in :meth:`quantised`."""
        import numpy as np

        largest = float(np.abs(values).max(initial=0.0))
        name = self._own(np.array(values, dtype="float64", order="C"))
        self._steps[name] = np.asarray(MILLIONTH * (largest if 0 < largest < np.inf else 1.0), dtype="float64")
        self.constants.append(RebuiltConstant(name, kind, layer, floating=True))
        return name

    def corrected(self, layer: str, values: Values, weight: str) -> str:
        """A bias [...] in floating point that the tool may have corrected; ``weight`` is the constant of its layer."""
        name = self.floating("bias", layer, values)
        row = replace(self.constants.pop(), corrected=True)
        names = [one.name for one in self.constants]
        self.constants.insert(names.index(weight) + 1, row)
        return name

    def integers(self, name: str, output: int, scale: float, zero: int) -> str:
        """The real values of a tensor that the artefact has in integers."""
        if name not in self._real:
            wide = self.node("Cast", [name], to=DOUBLE)
            centred = self.node("Sub", [wide, self.constant(zero)]) if zero else wide
            self._real[name] = self.node("Mul", [centred, self.constant(scale)])
            self.given[name] = RebuiltTensor(name, output, self._real[name])
        return self._real[name]

    def on_grid(self, name: str, output: int, scale: float, zero: int) -> str:
        """The real values of a tensor of integers that the artefact gives in floating point, off by its rounding."""
        wide = self.node("Cast", [name], to=DOUBLE)
        whole = self.node("Round", [self.node("Div", [wide, self.constant(scale)])])
        real = self.node("Mul", [whole, self.constant(scale)])
        self.given[name] = RebuiltTensor(name, output, real)
        return real

    def kept_inside(
        self, value: str, scale: float, zero: int, limits: Sequence[int], shape: Sequence[int], *, rounds: bool
    ) -> str:
        """The real values of a tensor in integers that is no output, as part of the layers that take it.

        Without ``rounds`` it is cut off at both ``limits`` alone: a tool that computes a layer together with the sum
        behind it leaves its rounding out. Near a tie float32 may round to either side. So each element of ``shape``
        (all of a channel in large ones) is moved by up to 1.2e-4 steps where constants are perturbed, else by nothing.
        """
        import numpy as np

        low, high = limits
        steps = self.node("Div", [value, self.constant(scale)])
        moved = self.node("Add", [steps, self.constant(zero)]) if zero else steps
        if rounds:
            each = [size if axis < 2 or math.prod(shape) <= SMALL else 1 for axis, size in enumerate(shape)]
            large = self.constant(np.full(each, NEAR_TIE))
            tie = self.node("Sub", [large, self.node("Round", [large])])
            moved = self.node("Round", [self.node("Add", [moved, tie])])
        whole = self.node("Clip", [moved, self.constant(low), self.constant(high)])
        centred = self.node("Sub", [whole, self.constant(zero)]) if zero else whole
        made = self.node("Mul", [centred, self.constant(scale)])
        self.inside += 1
        self._rounded[made] = value
        return made

    def made_on_grid(
        self, value: str, output: int, layer: str, scale: Values, zero: Values, limits: Sequence[int], *,
        calibrated: bool = False, dynamic: bool = False,
    ) -> str:  # fmt: skip
        """A result with steps of its own for each channel, which the artefact gives in floating point.

        ``scale`` and ``zero`` [1, ..., channels, ..., 1] have the rank of the real ``value`` that is rounded. Returns
        the name of the real values that later layers are given.
        """
        import numpy as np

        step, shift = self.constant(scale), self.constant(zero)
        steps = self.node("Add", [self.node("Div", [value, step]), shift])
        self.made_integers(
            steps, output, "%s, per channel" % layer, 1.0, 0, limits, calibrated=calibrated, dynamic=dynamic
        )
        axis = int(np.argmax(scale.shape)) - scale.ndim
        scales, zeros = tuple(map(float, scale.reshape(-1))), tuple(map(int, zero.reshape(-1)))
        self.results[-1] = replace(self.results[-1], scales=scales, zeros=zeros, axis=axis)
        wide = self.node("Cast", ["t%d" % output], to=DOUBLE)
        whole = self.node("Round", [self.node("Add", [self.node("Div", [wide, step]), shift])])
        self.given["t%d" % output] = RebuiltTensor("t%d" % output, output, whole)
        return self.node("Mul", [self.node("Sub", [whole, shift]), step])

    def floats(self, name: str, output: int, layer: str = "") -> str:
        """A tensor that the artefact has in floating point, or in integers that are not scaled.

        ``layer`` is the operator that makes it, where that is known.
        """
        if name not in self._real:
            self._real[name] = self.node("Cast", [name], to=DOUBLE)
            self.given[name] = RebuiltTensor(name, output, self._real[name], layer)
        return self._real[name]

    def made_integers(
        self, value: str, output: int, layer: str, scale: float, zero: int, limits: Sequence[int],
        exception: str = "", *, calibrated: bool = False, computed: Optional[str] = None, shared: bool = False,
        narrowed: bool = False, narrowest: float = 0.0, dynamic: bool = False,
    ) -> None:  # fmt: skip
        """A result in integers between two ``limits``; the real ``value`` is what is rounded to them.

        ``computed`` is what the tool's kernel is known to round in its place, off by a coarse factor; what the whole
        graph computes is made of ``value``. The result is ``calibrated`` where its range is that of the values that the
        calibration inputs give, ``shared`` where it has that of others, ``narrowed`` where it may lack what is rare.
        Both ends of a range up to ``narrowest`` are moved outwards by as much. It is ``dynamic`` where the layer rounds
        something as it runs.
        """
        low, high = limits
        steps = self.node("Div", [computed or value, self.constant(scale)])
        moved = self.node("Add", [steps, self.constant(zero)]) if zero else steps
        made = self.node("Clip", [moved, self.constant(low), self.constant(high)])
        row = RebuiltTensor(
            made, output, value, layer, exception=exception, scale=scale, zero=zero, low=(low - zero) * scale,
            high=(high - zero) * scale, calibrated=calibrated, shared=shared, narrowed=narrowed,
            narrowest=narrowest, dynamic=dynamic,
        )  # fmt: skip
        self.results.append(row)

    def made_floats(self, value: str, output: int, layer: str, dynamic: bool = False) -> None:
        """A result in floating point; ``dynamic`` where the layer rounds its inputs as it runs."""
        made = self.node("Identity", [value])
        self.results.append(RebuiltTensor(made, output, value, layer, dynamic))

    def choose(self, operator: str, source: str, *more: str, axis: int, **attributes: Any) -> List[str]:
        """The outputs of an ArgMax or a TopK on the real values ``source``, the numbers of elements in float64 last.

        ``axis`` is counted from the last one, which is -1.
        """
        made = self.split(operator, [source, *more], 2 if operator == "TopK" else 1, axis=axis, **attributes)
        numbers = self.node("Cast", made[-1:], to=DOUBLE)
        self._chosen[numbers] = (source, axis)
        return [*made[:-1], numbers]

    def made_numbers(self, numbers: str, output: int) -> None:
        """An output of the artefact that is the ``numbers`` of chosen elements, in the order of :meth:`choose`.

        Of numbers that are something else nothing is said.
        """
        if numbers in self._chosen:
            source, axis = self._chosen[numbers]
            self.choices.append(RebuiltChoice(output, numbers, source, axis))

    def gelu(self, value: str) -> str:
        """x (1 + erf(x / sqrt 2)) / 2."""
        curve = self.node("Erf", [self.node("Mul", [value, self.constant(math.sqrt(0.5))])])
        half = self.node("Mul", [value, self.constant(0.5)])
        return self.node("Mul", [half, self.node("Add", [curve, self.constant(1.0)])])

    def gelu_by_tanh(self, value: str) -> str:
        """x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))) / 2, which ONNX's Gelu has as approximate="tanh"."""
        half = self.node("Mul", [value, self.constant(0.5)])
        cube = self.node("Mul", [self.node("Mul", [value, value]), value])
        inner = self.node("Add", [value, self.node("Mul", [cube, self.constant(0.044715)])])
        curve = self.node("Tanh", [self.node("Mul", [inner, self.constant(math.sqrt(2 / math.pi))])])
        return self.node("Mul", [half, self.node("Add", [curve, self.constant(1.0)])])

    def rounded(self, value: str, axes: Sequence[int], limits: Sequence[int], symmetric: bool) -> str:
        """A value as it is after its rounding to integers whose scale is that of the values over ``axes``.

        A tie is rounded away from zero; ``symmetric`` keeps zero at the integer 0.
        """
        made = self._in_integers(value, axes, limits, symmetric)
        self._rounded[made] = value
        return made

    def rounded_in_float32(self, value: str, axes: Sequence[int]) -> str:
        """The same with 8 signed bits and a zero point, by the arithmetic in float32 of XNNPACK.

        It multiplies by the reciprocal of the scale, rounds to even, and adds the zero point, which it takes from that
        end of the range where it has the smaller error (xnn_f32_qd8_asymmetric_quantization_params).
        """
        low, high, zero = self.constant(-128.0), self.constant(127.0), self.constant(0.0)
        reduced = {"axes": list(axes), "keepdims": 1}
        most = self.node("Max", [self.node("ReduceMax", [value], **reduced), zero])
        least = self.node("Min", [self.node("ReduceMin", [value], **reduced), zero])
        span = self.in_float32("Sub", most, least)
        nothing = self.node("Equal", [span, zero])
        span = self.node("Where", [nothing, self.constant(255.0), span])
        factor = self.in_float32("Div", self.constant(255.0), span)
        first, last = (self.in_float32("Mul", end, factor) for end in (least, most))
        errors = self.in_float32("Add", low, first), self.in_float32("Add", high, last)
        smaller = self.node("Greater", [self.node("Add", list(errors)), zero])
        ends = self.in_float32("Sub", low, first), self.in_float32("Sub", high, last)
        offset = self.node("Round", [self.node("Clip", [self.node("Where", [smaller, *ends]), low, high])])
        steps = self.node("Round", [self.in_float32("Mul", value, factor)])
        whole = self.node("Clip", [self.node("Add", [steps, offset]), low, high])
        scale = self.in_float32("Div", self.constant(1.0), factor)
        made = self.node("Mul", [self.node("Sub", [whole, offset]), scale])
        self._rounded[made] = value
        return made

    def in_float32(self, operator: str, first: str, second: str) -> str:
        """An operator on two values of float32, whose result is rounded to float32 (by Dekker's splitting)."""
        value = self.node(operator, [first, second])
        wide = self.node("Mul", [value, self.constant(SPLITTER)])
        return self.node("Sub", [wide, self.node("Sub", [wide, value])])

    def _in_integers(self, value: str, axes: Sequence[int], limits: Sequence[int], symmetric: bool) -> str:
        low, high = limits
        zero = self.constant(0.0)
        reduced = {"axes": list(axes), "keepdims": 1}
        most = self.node("Max", [self.node("ReduceMax", [value], **reduced), zero])
        least = self.node("Min", [self.node("ReduceMin", [value], **reduced), zero])
        if symmetric:
            span = self.node("Max", [most, self.node("Neg", [least])])
            scale = self.node("Div", [span, self.constant(high)])
        else:
            span = self.node("Sub", [most, least])
            scale = self.node("Div", [span, self.constant(high - low)])
        nothing = self.node("Equal", [scale, zero])
        scale = self.node("Where", [nothing, self.constant(1.0), scale])
        steps = self.node("Div", [value, scale])
        if symmetric:
            whole = self.node("Clip", [self._round(steps), self.constant(low), self.constant(high)])
            return self.node("Mul", [whole, scale])
        lowest = self.node("Sub", [self.constant(low), self.node("Div", [least, scale])])
        offset = self._round(lowest)
        moved = self._round(self.node("Add", [steps, offset]))
        whole = self.node("Clip", [moved, self.constant(low), self.constant(high)])
        return self.node("Mul", [self.node("Sub", [whole, offset]), scale])

    def _round(self, value: str) -> str:
        raised = self.node("Floor", [self.node("Add", [self.node("Abs", [value]), self.constant(0.5)])])
        return self.node("Mul", [raised, self.node("Sign", [value])])

    def reply(self, files: Optional[Dict[str, str]] = None, more: Optional[Mapping[str, object]] = None) -> Reply:
        """The reply to ``rebuild``; ``files`` are the exposed artefact."""
        meta: Dict[str, object] = {
            "nodes": [row.meta() for row in self.nodes],
            "given": [row.meta() for row in self.given.values()],
            "results": [row.meta() for row in self.results],
            "constants": [row.meta() for row in self.constants],
            "choices": [row.meta() for row in self.choices],
            "unread": sorted(set(self.unread)),
            "rounded": dict(self._rounded),
            "complete": self.complete,
            "inside": self.inside,
        }
        arrays = {"const:" + name: from_numpy(values) for name, values in self.values.items()}
        arrays.update({"step:" + name: from_numpy(values) for name, values in self._steps.items()})
        return Reply({**meta, **(more or {})}, arrays, files)
