"""Draws valid graphs by the catalogue: one operator, or two to eight of them after each other. Needs hypothesis.

Everything is drawn so that it shrinks to what is plain: few nodes, low ranks, small sizes, no attributes, a ramp of
values without edge values.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from hypothesis import strategies as st

from bench_plugin.properties.catalogue import OPERATORS, WIDEST, Choice, Operator
from bench_plugin.properties.graphs import Graph, Node, Port, Source, filled

if TYPE_CHECKING:
    Draw = Callable[[st.SearchStrategy[Any]], Any]

SIZES = (1, 2, 3, 4, 5)
ELEMENTS = 120  # of one tensor
SEEDS = 2**16
EDGES = 3  # edge values in one tensor
NODES = (2, 8)
LEVELS = ("none", "mild", "finite", "infinite", "ieee")
Shape = tuple[int, ...]


def single(name: str) -> st.SearchStrategy[Graph]:
    """Graphs of the one operator."""
    return st.composite(lambda draw: _drawn(draw, [OPERATORS[name]]))()


def graphs(names: Sequence[str] = tuple(OPERATORS)) -> st.SearchStrategy[Graph]:
    """Graphs of several of the operators, each of which takes what is there already where it can."""
    rows = [OPERATORS[name] for name in names]
    return st.lists(st.sampled_from(rows), min_size=NODES[0], max_size=NODES[1]).flatmap(
        lambda chosen: st.composite(lambda draw: _drawn(draw, chosen))()
    )


def _drawn(draw: Draw, rows: Sequence[Operator]) -> Graph:
    sketch = Sketch(draw, joined=len(rows) > 1)
    for row in rows:
        FAMILIES[row.family](sketch, row)
    return sketch.graph()


class Sketch:
    """A graph that is being drawn. ``joined``: later nodes take results of earlier ones, and values stay moderate."""

    def __init__(self, draw: Draw, *, joined: bool) -> None:
        self._draw = draw
        self._joined = joined
        self._nodes: list[Node] = []
        self._sources: list[Source] = []
        self._results: list[Port] = []

    def graph(self) -> Graph:
        """The finished graph; its outputs are the results that nothing takes."""
        taken = {name for node in self._nodes for name in node.inputs}
        outputs = [port for port in self._results if port.name not in taken]
        return Graph(tuple(self._nodes), tuple(self._sources), tuple(outputs))

    def among(self, values: Sequence[Any]) -> Any:
        """One of the values; the first is the simplest."""
        return self._draw(st.sampled_from(values))

    def number(self, low: int, high: int) -> int:
        """A whole number between the bounds."""
        return int(self._draw(st.integers(low, high)))

    def flag(self) -> bool:
        """False, or True."""
        return bool(self._draw(st.booleans()))

    def shape(self, ranks: tuple[int, int], least: int = 0) -> Shape:
        """A shape; sizes of 0 where ``least`` allows it."""
        sizes = SIZES if least else (*SIZES, 0)
        drawn: list[int] = self._draw(st.lists(st.sampled_from(sizes), min_size=ranks[0], max_size=ranks[1]))
        while math.prod(drawn) > ELEMENTS:
            drawn[drawn.index(max(drawn))] = 2
        return tuple(drawn)

    def source(self, row: Operator, dtype: str, shape: Shape, *, constant: bool | None = None) -> Port:
        """A new value by the operator's bounds; some of its elements are edge values."""
        low, high = row.low, row.high
        kind = np.dtype(dtype).kind
        if kind == "u":
            low = max(low, 0)
        edges: Any = []
        widest = "int64" if row.name in WIDEST else "int32"
        choices = _edges(
            widest if dtype == "int64" else dtype,
            "mild" if self._joined and row.edges != "none" else row.edges,
            low,
            high,
        )
        last = _size(shape) - 1
        if choices and last >= 0:
            edges = self._draw(st.lists(st.tuples(st.integers(0, last), st.sampled_from(choices)), max_size=EDGES))
        seed = self.number(0, SEEDS)
        inside = self.flag() if constant is None else constant
        return self._given(filled(dtype, shape, low, high, seed, edges), dtype, constant=inside)

    def literal(self, values: Any, dtype: str = "int64", *, constant: bool = True) -> Port:
        """A value that is given exactly, such as axes."""
        return self._given(np.array(values, dtype=dtype), dtype, constant=constant)

    def operand(self, row: Operator, ranks: tuple[int, int] | None = None) -> Port:
        """The operator's first operand: a result that is there already, where it fits, or a new input."""
        low, high = ranks or row.ranks
        if self._joined and not row.steps:
            fits = [
                port
                for port in reversed(self._results)
                if port.dtype in row.types and low <= len(port.shape) <= high
                and (not row.least or 0 not in port.shape) and math.prod(port.shape) <= ELEMENTS
            ]  # fmt: skip
            if fits:
                return self.among(fits)  # type: ignore[no-any-return]
        dtype = self.among(row.types)
        return self.source(row, dtype, self.shape((low, high), row.least), constant=False)

    def axis(self, rank: int) -> int:
        """An axis of a rank, counted from either end."""
        chosen = self.number(0, rank - 1)
        return chosen - rank if self.flag() else chosen

    def axes(self, rank: int, least: int = 0) -> list[int]:
        """Distinct axes of a rank."""
        if not rank:
            return []
        drawn = self._draw(st.lists(st.integers(0, rank - 1), min_size=least, max_size=rank, unique=True))
        return [axis - rank if self.flag() else axis for axis in drawn]

    def node(self, row: Operator, inputs: Sequence[Port | None], *results: tuple[str, Shape], **more: Any) -> None:
        """Add the operator with the row's attributes and ``more``."""
        attributes = {name: value for name, value in more.items() if value is not None}
        for name, rule in row.attributes.items():
            if not rule.required and not self.flag():
                continue
            if isinstance(rule, Choice):
                attributes[name] = self.among(rule.values)
            else:
                attributes[name] = float(self._draw(st.floats(rule.low, rule.high, width=32)))
        outputs = [Port(f"r{len(self._results) + place}", dtype, shape) for place, (dtype, shape) in enumerate(results)]
        self._results += outputs
        names = tuple(port.name if port else "" for port in inputs)
        self._nodes.append(Node(row.name, names, tuple(port.name for port in outputs), attributes))

    def _given(self, values: Any, dtype: str, *, constant: bool) -> Port:
        port = Port(f"{'c' if constant else 'x'}{len(self._sources)}", dtype, tuple(values.shape))
        self._sources.append(Source(port, constant, values))
        return port


def _size(shape: Shape) -> int:
    return math.prod(shape)


def _edges(dtype: str, level: str, low: float, high: float) -> list[Any]:
    """Edge values of a type, the plainest first; those around 1 only where the operator's bounds allow them."""
    reach = LEVELS.index(level)
    if dtype == "bool" or not reach:
        return []
    if np.dtype(dtype).kind in "iu":
        limits = np.iinfo(dtype)
        near = [value for value in (0, 1, -1, 2) if max(low, limits.min) <= value <= high]
        return near + ([limits.max, limits.min] if reach > 1 else [])
    form = np.finfo(dtype)
    found = [value for value in (0.0, 1.0, -1.0, 0.5, -0.0) if low <= value <= high]
    beyond = [float(form.max), float(form.smallest_subnormal), float(form.tiny)]
    found += [*beyond, *(-value for value in beyond)] if reach > 1 else []
    found += [math.inf, -math.inf] if reach > 2 else []
    found += [math.nan] if reach > 3 else []
    return found


def _broadcastable(sketch: Sketch, shape: Shape) -> Shape:
    """A shape that is broadcast to ``shape``: leading dimensions left out, others 1."""
    kept = shape[sketch.number(0, len(shape)) if shape else 0 :]
    return tuple(1 if sketch.flag() else size for size in kept)


def _broadcast(*shapes: Shape) -> Shape:
    return tuple(int(size) for size in np.broadcast_shapes(*shapes))


def _second(sketch: Sketch, row: Operator, first: Port) -> Port:
    """Another operand of the first's type that is broadcast with it: of a smaller shape, or a larger one."""
    if sketch.flag():
        shape = _broadcastable(sketch, first.shape)
    else:
        larger = sketch.shape((0, max(0, 4 - len(first.shape))), 0)
        shape = (*larger, *(sketch.among((1, size)) if size != 1 else sketch.among(SIZES) for size in first.shape))
        if math.prod(_broadcast(shape, first.shape)) > ELEMENTS * 4:
            shape = first.shape
    return sketch.source(row, first.dtype, shape)


def _map(sketch: Sketch, row: Operator) -> None:
    x = sketch.operand(row)
    sketch.node(row, [x], (row.result or x.dtype, x.shape))


def _pair(sketch: Sketch, row: Operator) -> None:
    x = sketch.operand(row)
    other = _second(sketch, row, x)
    operands = [x, other] if x.name.startswith("r") is False or not sketch.flag() else [other, x]
    if row.name in ("Div", "Pow"):
        operands = [x, other]  # the divisor and the exponent stay in their bounds
    if row.name == "Div" and x.dtype.startswith("int"):
        other_values = sketch.number(1, 5)
        operands = [x, sketch.literal(np.full(other.shape, other_values), x.dtype)]
    sketch.node(row, operands, (row.result or x.dtype, _broadcast(x.shape, other.shape)))


def _mod(sketch: Sketch, row: Operator) -> None:
    x = sketch.operand(row)
    size = sketch.number(1, 7)
    sign = -1 if sketch.flag() and x.dtype != "uint8" else 1
    divisor = sketch.literal(np.full(_broadcastable(sketch, x.shape), sign * size), x.dtype)
    fmod = 1 if x.dtype == "float32" or sketch.flag() else None
    sketch.node(row, [x, divisor], (x.dtype, x.shape), fmod=fmod)


def _prelu(sketch: Sketch, row: Operator) -> None:
    x = sketch.operand(row)
    slope = sketch.source(row, x.dtype, _broadcastable(sketch, x.shape))
    sketch.node(row, [x, slope], (x.dtype, x.shape))


def _shift(sketch: Sketch, row: Operator) -> None:
    x = sketch.operand(row)
    amount = sketch.literal(np.full(_broadcastable(sketch, x.shape), sketch.number(0, 7)), x.dtype, constant=False)
    sketch.node(row, [x, amount], (x.dtype, x.shape))


def _several(sketch: Sketch, row: Operator) -> None:
    x = sketch.operand(row)
    others = [_second(sketch, row, x) if number == 0 else sketch.source(row, x.dtype, x.shape)
              for number in range(sketch.number(0, 2))]  # fmt: skip
    shape = _broadcast(x.shape, *(port.shape for port in others))
    sketch.node(row, [x, *others], (x.dtype, shape))


def _where(sketch: Sketch, row: Operator) -> None:
    x = sketch.operand(row)
    other = _second(sketch, row, x)
    shape = _broadcast(x.shape, other.shape)
    condition = sketch.source(row, "bool", _broadcastable(sketch, shape), constant=False)
    sketch.node(row, [condition, x, other], (x.dtype, shape))


def _clip(sketch: Sketch, row: Operator) -> None:
    x = sketch.operand(row)
    low = sketch.number(0 if x.dtype == "uint8" else -2, 1)
    lower = sketch.literal(low, x.dtype) if sketch.flag() else None
    upper = sketch.literal(low + sketch.number(0, 3), x.dtype) if sketch.flag() else None
    inputs = [x, lower, upper]
    while inputs[-1] is None:
        inputs.pop()
    sketch.node(row, inputs, (x.dtype, x.shape))


def _cast(sketch: Sketch, row: Operator) -> None:
    x = sketch.operand(row)
    to = sketch.among([name for name in TYPE_CODES if name != "uint8" or not x.dtype.startswith("float")])
    sketch.node(row, [x], (to, x.shape), to=TYPE_CODES[to])


def _reduced(shape: Shape, axes: Sequence[int], keep: bool) -> Shape:
    gone = {axis % len(shape) for axis in axes} if shape else set()
    return tuple(1 if place in gone else size for place, size in enumerate(shape) if keep or place not in gone)


def _keeping(sketch: Sketch, row: Operator) -> tuple[Operator, int | None]:
    """The row without ``keepdims``, which decides about shapes and so is drawn here."""
    others = {name: rule for name, rule in row.attributes.items() if name != "keepdims"}
    keep = sketch.among((None, 1, 0))
    return _with(row, others), keep


def _with(row: Operator, attributes: Any) -> Operator:
    from dataclasses import replace

    return replace(row, attributes=attributes)


def _reduce(sketch: Sketch, row: Operator) -> None:
    row, keep = _keeping(sketch, row)
    x = sketch.operand(row)
    axes = sketch.axes(len(x.shape)) or None
    shape = _reduced(x.shape, axes or range(len(x.shape)), keep != 0)
    sketch.node(row, [x], (x.dtype, shape), axes=axes, keepdims=keep)


def _reduce_by_input(sketch: Sketch, row: Operator) -> None:
    row, keep = _keeping(sketch, row)
    x = sketch.operand(row)
    axes = sketch.axes(len(x.shape))
    noop = sketch.among((None, 0, 1))
    gone = axes if axes or noop else range(len(x.shape))
    inputs = [x, sketch.literal(axes)] if axes else [x]
    shape = _reduced(x.shape, gone, keep != 0)
    sketch.node(_with(row, {}), inputs, (x.dtype, shape), keepdims=keep, noop_with_empty_axes=noop)


def _arg(sketch: Sketch, row: Operator) -> None:
    row, keep = _keeping(sketch, row)
    x = sketch.operand(row)
    axis = sketch.axis(len(x.shape)) if sketch.flag() else None
    sketch.node(row, [x], ("int64", _reduced(x.shape, [axis or 0], keep != 0)), axis=axis, keepdims=keep)


def _cumsum(sketch: Sketch, row: Operator) -> None:
    x = sketch.operand(row)
    sketch.node(row, [x, sketch.literal(sketch.axis(len(x.shape)))], (x.dtype, x.shape))


def _topk(sketch: Sketch, row: Operator) -> None:
    x = sketch.operand(row)
    axis = sketch.axis(len(x.shape)) if sketch.flag() else None
    place = (-1 if axis is None else axis) % len(x.shape)
    count = sketch.number(1, x.shape[place])
    shape = tuple(count if index == place else size for index, size in enumerate(x.shape))
    sketch.node(row, [x, sketch.literal([count])], (x.dtype, shape), ("int64", shape), axis=axis)


def _transpose(sketch: Sketch, row: Operator) -> None:
    x = sketch.operand(row)
    order = sketch._draw(st.permutations(range(len(x.shape)))) if x.shape and sketch.flag() else None
    shape = tuple(x.shape[axis] for axis in (order or range(len(x.shape))[::-1]))
    sketch.node(row, [x], (x.dtype, shape), perm=list(order) if order else None)


def _reshape(sketch: Sketch, row: Operator) -> None:
    x = sketch.operand(row)
    size = math.prod(x.shape)
    wanted: list[int] = []
    left = size
    while size and left > 1 and len(wanted) < 3:
        divisors = [part for part in range(1, left + 1) if left % part == 0]
        wanted.append(sketch.among(divisors))
        left //= wanted[-1]
    shape = (*wanted, left) if size and (left > 1 or sketch.flag()) else tuple(wanted) if size else x.shape
    if math.prod(shape) != size:
        shape = (size,)
    text = list(shape)
    allow = None
    if 0 in shape:
        allow = 1 if sketch.flag() else None  # without it a 0 says "as the input has it", which here is the same
    elif shape and sketch.flag():
        text[sketch.number(0, len(shape) - 1)] = -1
    elif shape and x.shape and shape[0] == x.shape[0] and sketch.flag():
        text[0] = 0
    sketch.node(row, [x, sketch.literal(np.array(text, dtype=np.int64))], (x.dtype, tuple(shape)), allowzero=allow)


def _flatten(sketch: Sketch, row: Operator) -> None:
    x = sketch.operand(row)
    axis = sketch.number(-len(x.shape), len(x.shape)) if sketch.flag() else None
    place = 1 if axis is None else axis + len(x.shape) if axis < 0 else axis
    sketch.node(row, [x], (x.dtype, (math.prod(x.shape[:place]), math.prod(x.shape[place:]))), axis=axis)


def _squeeze(sketch: Sketch, row: Operator) -> None:
    x = sketch.operand(row)
    ones = [axis for axis, size in enumerate(x.shape) if size == 1]
    if not ones or not sketch.flag():
        sketch.node(row, [x], (x.dtype, tuple(size for size in x.shape if size != 1)))
        return
    chosen = sketch._draw(st.lists(st.sampled_from(ones), min_size=1, unique=True))
    axes = [axis - len(x.shape) if sketch.flag() else axis for axis in chosen]
    shape = tuple(size for axis, size in enumerate(x.shape) if axis not in chosen)
    sketch.node(row, [x, sketch.literal(axes)], (x.dtype, shape))


def _unsqueeze(sketch: Sketch, row: Operator) -> None:
    x = sketch.operand(row)
    rank = len(x.shape) + sketch.number(1, 2)
    chosen = sketch._draw(
        st.lists(st.integers(0, rank - 1), min_size=rank - len(x.shape), max_size=rank - len(x.shape), unique=True)
    )
    sizes = iter(x.shape)
    shape = tuple(1 if axis in chosen else next(sizes) for axis in range(rank))
    axes = [axis - rank if sketch.flag() else axis for axis in chosen]
    sketch.node(row, [x, sketch.literal(axes)], (x.dtype, shape))


def _concat(sketch: Sketch, row: Operator) -> None:
    x = sketch.operand(row)
    axis = sketch.axis(len(x.shape))
    place = axis % len(x.shape)
    parts = [x]
    for _ in range(sketch.number(0, 2)):
        size = sketch.among((*SIZES, 0))
        parts.append(sketch.source(row, x.dtype, (*x.shape[:place], size, *x.shape[place + 1 :])))
    total = sum(port.shape[place] for port in parts)
    sketch.node(row, parts, (x.dtype, (*x.shape[:place], total, *x.shape[place + 1 :])), axis=axis)


def _split(sketch: Sketch, row: Operator) -> None:
    x = sketch.operand(row)
    axis = sketch.axis(len(x.shape)) if sketch.flag() else None
    place = (axis or 0) % len(x.shape)
    whole = x.shape[place]
    first = sketch.number(0, whole)
    parts = [first, whole - first]
    inputs = [x, sketch.literal(parts)]
    if sketch.flag():
        count = sketch.among([part for part in range(1, whole + 1) if whole % part == 0])
        parts, inputs = [whole // count] * count, [x]
    shapes = [(x.dtype, (*x.shape[:place], size, *x.shape[place + 1 :])) for size in parts]
    sketch.node(row, inputs, *shapes, axis=axis)


def _slice(sketch: Sketch, row: Operator) -> None:
    x = sketch.operand(row)
    axes = sketch.axes(len(x.shape), least=1)
    starts, ends, steps, shape = [], [], [], list(x.shape)
    for axis in axes:
        size = x.shape[axis % len(x.shape)]
        step = sketch.among((1, 2, -1, -2))
        low, high = sketch.number(-size - 1, size + 1), sketch.number(-size - 1, size + 1)
        if sketch.flag():
            high = 2**31 - 1 if step > 0 else -(2**31) + 1
        starts.append(low)
        ends.append(high)
        steps.append(step)
        shape[axis % len(x.shape)] = len(_sliced(size, low, high, step))
    parts = [sketch.literal(values) for values in (starts, ends, axes, steps)]
    sketch.node(row, [x, *parts], (x.dtype, tuple(shape)))


def _sliced(size: int, start: int, end: int, step: int) -> range:
    """The places that Slice takes: negative bounds count from the end once, and bounds are clamped."""
    start += size if start < 0 else 0
    end += size if end < 0 else 0
    if step > 0:
        return range(min(max(start, 0), size), min(max(end, 0), size), step)
    return range(min(max(start, 0), size - 1), min(max(end, -1), size - 1), step)


def _pad(sketch: Sketch, row: Operator) -> None:
    x = sketch.operand(row)
    mode = "constant" if 0 in x.shape or x.dtype == "bool" else sketch.among((None, "constant", "edge", "reflect"))
    most = [size - 1 if mode == "reflect" else 2 for size in x.shape]
    before = [sketch.number(0, min(2, limit)) for limit in most]
    after = [sketch.number(0, min(2, limit)) for limit in most]
    inputs = [x, sketch.literal([*before, *after])]
    if mode in (None, "constant") and sketch.flag():
        inputs.append(sketch.literal(sketch.number(0, 1 if x.dtype == "bool" else 3), x.dtype))
    shape = tuple(a + size + b for a, size, b in zip(before, x.shape, after, strict=True))
    sketch.node(row, inputs, (x.dtype, shape), mode=mode)


def _tile(sketch: Sketch, row: Operator) -> None:
    x = sketch.operand(row)
    repeats = [sketch.among((1, 2, 0)) for _ in x.shape]
    shape = tuple(size * times for size, times in zip(x.shape, repeats, strict=True))
    sketch.node(row, [x, sketch.literal(repeats)], (x.dtype, shape))


def _expand(sketch: Sketch, row: Operator) -> None:
    x = sketch.operand(row)
    wanted = _broadcastable(sketch, x.shape)
    if sketch.flag() and len(x.shape) < 4:
        wanted = (sketch.among(SIZES), *(sketch.among((1, size)) if size != 1 else sketch.among((1, 2, 3))
                                        for size in x.shape))  # fmt: skip
    literal = sketch.literal(np.array(wanted, dtype=np.int64))
    sketch.node(row, [x, literal], (x.dtype, _broadcast(x.shape, wanted)))


def _indices(sketch: Sketch, size: int, shape: Shape) -> Any:
    seed = sketch.number(0, SEEDS)
    low = -size if sketch.flag() else 0
    drawn = np.random.default_rng(seed).integers(low, size, shape) if seed else np.zeros(shape)
    return np.asarray(drawn, dtype=np.int64)


def _gather(sketch: Sketch, row: Operator) -> None:
    x = sketch.operand(row)
    axis = sketch.axis(len(x.shape)) if sketch.flag() else None
    place = (axis or 0) % len(x.shape)
    indices = _indices(sketch, x.shape[place], sketch.shape((0, 2)))
    shape = (*x.shape[:place], *indices.shape, *x.shape[place + 1 :])
    port = sketch.literal(indices, sketch.among(("int64", "int32")), constant=sketch.flag())
    sketch.node(row, [x, port], (x.dtype, shape), axis=axis)


def _gather_elements(sketch: Sketch, row: Operator) -> None:
    x = sketch.operand(row)
    axis = sketch.axis(len(x.shape)) if sketch.flag() else None
    place = (axis or 0) % len(x.shape)
    shape = tuple(sketch.among(SIZES) if index == place else sketch.number(1, size)
                  for index, size in enumerate(x.shape))  # fmt: skip
    port = sketch.literal(_indices(sketch, x.shape[place], shape), constant=sketch.flag())
    sketch.node(row, [x, port], (x.dtype, shape), axis=axis)


def _gather_nd(sketch: Sketch, row: Operator) -> None:
    x = sketch.operand(row)
    depth = sketch.number(1, len(x.shape))
    count = sketch.among(SIZES)
    columns = [_indices(sketch, x.shape[axis], (count, 1)) for axis in range(depth)]
    port = sketch.literal(np.concatenate(columns, axis=1), constant=sketch.flag())
    sketch.node(row, [x, port], (x.dtype, (count, *x.shape[depth:])))


def _scatter_elements(sketch: Sketch, row: Operator) -> None:
    x = sketch.operand(row)
    axis = sketch.axis(len(x.shape)) if sketch.flag() else None
    place = (axis or 0) % len(x.shape)
    count = sketch.number(1, x.shape[place])
    order = np.random.default_rng(sketch.number(0, SEEDS)).permutation(x.shape[place])[:count]
    shape = tuple(count if index == place else size for index, size in enumerate(x.shape))
    indices = np.broadcast_to(order.reshape([-1 if index == place else 1 for index in range(len(shape))]), shape)
    indices = indices - (x.shape[place] if sketch.flag() else 0)
    port = sketch.literal(indices, constant=sketch.flag())
    sketch.node(row, [x, port, sketch.source(row, x.dtype, shape)], (x.dtype, x.shape), axis=axis)


def _scatter_nd(sketch: Sketch, row: Operator) -> None:
    x = sketch.operand(row)
    count = sketch.number(1, x.shape[0])
    order = np.random.default_rng(sketch.number(0, SEEDS)).permutation(x.shape[0])[:count]
    port = sketch.literal(order.reshape(-1, 1), constant=sketch.flag())
    updates = sketch.source(row, x.dtype, (count, *x.shape[1:]))
    sketch.node(row, [x, port, updates], (x.dtype, x.shape))


def _shape_of(sketch: Sketch, row: Operator) -> None:
    x = sketch.operand(row)
    start, end = (sketch.number(-5, 5) if sketch.flag() else None for _ in range(2))
    found = x.shape[start:end] if start is not None or end is not None else x.shape
    sketch.node(row, [x], ("int64", (len(found),)), start=start, end=end)


def _size_of(sketch: Sketch, row: Operator) -> None:
    sketch.node(row, [sketch.operand(row)], ("int64", ()))


def _depth_to_space(sketch: Sketch, row: Operator) -> None:
    block = sketch.among((1, 2))
    count, depth, height, width = (sketch.among((1, 2, 3)) for _ in range(4))
    x = sketch.source(row, sketch.among(row.types), (count, depth * block * block, height, width), constant=False)
    sketch.node(row, [x], (x.dtype, (count, depth, height * block, width * block)), blocksize=block)


def _space_to_depth(sketch: Sketch, row: Operator) -> None:
    block = sketch.among((1, 2))
    count, depth, height, width = (sketch.among((1, 2, 3)) for _ in range(4))
    x = sketch.source(row, sketch.among(row.types), (count, depth, height * block, width * block), constant=False)
    sketch.node(row, [x], (x.dtype, (count, depth * block * block, height, width)), blocksize=block)


def _one_hot(sketch: Sketch, row: Operator) -> None:
    dtype = sketch.among(row.types)
    depth = sketch.number(1, 4)
    shape = sketch.shape(row.ranks)
    x = sketch.literal(_indices(sketch, depth + 1, shape), dtype, constant=False)  # beyond the depth: all are off
    kind = sketch.among(("float32", "int64"))
    axis = sketch.number(-len(shape) - 1, len(shape)) if sketch.flag() else None
    place = (-1 if axis is None else axis) % (len(shape) + 1)
    found = (*shape[:place], depth, *shape[place:])
    inputs = [x, sketch.literal(depth), sketch.literal([sketch.number(0, 1), 3], kind)]
    sketch.node(row, inputs, (kind, found), axis=axis)


def _trilu(sketch: Sketch, row: Operator) -> None:
    x = sketch.operand(row)
    inputs = [x, sketch.literal(sketch.number(-3, 3))] if sketch.flag() else [x]
    sketch.node(row, inputs, (x.dtype, x.shape))


def _eye_like(sketch: Sketch, row: Operator) -> None:
    x = sketch.operand(row)
    sketch.node(row, [x], (x.dtype, x.shape), k=sketch.number(-2, 2) if sketch.flag() else None)


def _reverse_sequence(sketch: Sketch, row: Operator) -> None:
    x = sketch.operand(row)
    time = sketch.among((None, 0, 1))
    place = 0 if time is None else time
    lengths = [sketch.number(1, x.shape[place]) for _ in range(x.shape[1 - place])]
    port = sketch.literal(lengths, constant=sketch.flag())
    batch = None if time is None else 1 - time
    sketch.node(row, [x, port], (x.dtype, x.shape), time_axis=time, batch_axis=batch)


def _matmul(sketch: Sketch, row: Operator) -> None:
    x = sketch.operand(row, (1, 4))
    inner, columns = x.shape[-1], sketch.among((*SIZES, 0))
    batch = _broadcastable(sketch, x.shape[:-2])
    # Not a vector without elements: ONNX Runtime then gives what lies in memory (docs/findings.md), which is not the
    # same twice, and no row of expectations could hold it.
    shape = (inner,) if inner and sketch.flag() else (*batch, inner, columns)
    other = sketch.source(row, x.dtype, shape)
    found = np.matmul(np.empty(x.shape), np.empty(shape)).shape
    sketch.node(row, [x, other], (x.dtype, tuple(found)))


def _gemm(sketch: Sketch, row: Operator) -> None:
    x = sketch.operand(row, (2, 2))
    left, right = (1 if sketch.flag() else None for _ in range(2))
    count, inner = x.shape[::-1] if left else x.shape
    columns = sketch.among((*SIZES, 0))
    inputs = [x, sketch.source(row, x.dtype, (columns, inner) if right else (inner, columns))]
    if sketch.flag():
        inputs.append(sketch.source(row, x.dtype, _broadcastable(sketch, (count, columns))))
    alpha, beta = (sketch.among((0.5, 2.0, 0.0)) if sketch.flag() else None for _ in range(2))
    sketch.node(row, inputs, (x.dtype, (count, columns)), transA=left, transB=right, alpha=alpha, beta=beta)


def _matmul_integer(sketch: Sketch, row: Operator) -> None:
    dtype = sketch.among(row.types)
    count, inner, columns = (sketch.among(SIZES) for _ in range(3))
    x = sketch.source(row, dtype, (count, inner), constant=False)
    other = sketch.source(row, sketch.among(row.types), (inner, columns))
    inputs = [x, other]
    if sketch.flag():
        inputs.append(sketch.literal(sketch.number(0, 3), dtype))
    sketch.node(row, inputs, ("int32", (count, columns)))


def _window(sketch: Sketch, size: Sequence[int], *, plain: bool = False) -> tuple[dict[str, Any], Shape]:
    """kernel_shape, strides, pads and dilations that fit ``size``, and what comes out."""
    kernel = [sketch.number(1, min(3, extent)) for extent in size]
    strides = [sketch.among((1, 2)) for _ in size]
    dilations = [1 if plain or 2 * (k - 1) + 1 > extent else sketch.among((1, 2))
                 for k, extent in zip(kernel, size, strict=True)]  # fmt: skip
    reach = [(k - 1) * d + 1 for k, d in zip(kernel, dilations, strict=True)]
    before, after = ([sketch.number(0, k - 1) for k in kernel] for _ in range(2))
    out = [(n + a + b - r) // s + 1 for n, a, b, r, s in zip(size, before, after, reach, strides, strict=True)]
    found: dict[str, Any] = {"kernel_shape": kernel}
    if any(stride != 1 for stride in strides):
        found["strides"] = strides
    if any(dilation != 1 for dilation in dilations):
        found["dilations"] = dilations
    if any((*before, *after)):
        found["pads"] = [*before, *after]
    return found, tuple(out)


def _conv(sketch: Sketch, row: Operator) -> None:
    group = sketch.among((1, 2))
    spatial = sketch.shape((1, 2), least=1)
    depth, filters = (group * sketch.among((1, 2)) for _ in range(2))
    x = _image(sketch, row, depth, spatial)
    depth, spatial = x.shape[1], x.shape[2:]
    group = group if depth % group == 0 and filters % group == 0 else 1
    found, out = _window(sketch, spatial)
    kernel = found.pop("kernel_shape") if sketch.flag() else found["kernel_shape"]
    inputs = [x, sketch.source(row, x.dtype, (filters, depth // group, *kernel))]
    if sketch.flag():
        inputs.append(sketch.source(row, x.dtype, (filters,)))
    sketch.node(row, inputs, (x.dtype, (x.shape[0], filters, *out)), group=group if group > 1 else None, **found)


def _image(sketch: Sketch, row: Operator, depth: int, spatial: Shape) -> Port:
    """An operand [N, C, ...]; of what is there already only one with this many channels."""
    if sketch._joined:
        fits = [port for port in reversed(sketch._results)
                if port.dtype in row.types and len(port.shape) in (3, 4) and 0 not in port.shape
                and math.prod(port.shape) <= ELEMENTS]  # fmt: skip
        if fits:
            return sketch.among(fits)  # type: ignore[no-any-return]
    return sketch.source(row, sketch.among(row.types), (sketch.among((1, 2)), depth, *spatial), constant=False)


def _conv_transpose(sketch: Sketch, row: Operator) -> None:
    spatial = sketch.shape((1, 2), least=1)
    depth, filters = (sketch.among((1, 2)) for _ in range(2))
    x = _image(sketch, row, depth, spatial)
    depth, spatial = x.shape[1], x.shape[2:]
    kernel = [sketch.among((1, 2, 3)) for _ in spatial]
    strides = [sketch.among((1, 2)) for _ in spatial]
    more = [sketch.number(0, stride - 1) for stride in strides]
    before, after = ([sketch.number(0, (k - 1) // 2) for k in kernel] for _ in range(2))
    out = tuple(
        (n - 1) * s + k + o - a - b
        for n, s, k, o, a, b in zip(spatial, strides, kernel, more, before, after, strict=True)
    )
    inputs = [x, sketch.source(row, x.dtype, (depth, filters, *kernel))]
    if sketch.flag():
        inputs.append(sketch.source(row, x.dtype, (filters,)))
    found: dict[str, Any] = {"kernel_shape": kernel, "strides": strides}
    found["output_padding"] = more if any(more) else None
    found["pads"] = [*before, *after] if any((*before, *after)) else None
    sketch.node(row, inputs, (x.dtype, (x.shape[0], filters, *out)), **found)


def _pool(sketch: Sketch, row: Operator) -> None:
    x = _image(sketch, row, sketch.among((1, 2)), sketch.shape((1, 2), least=1))
    found, out = _window(sketch, x.shape[2:], plain=row.name != "MaxPool")
    sketch.node(row, [x], (x.dtype, (*x.shape[:2], *out)), **found)


def _global_pool(sketch: Sketch, row: Operator) -> None:
    x = sketch.operand(row)
    sketch.node(row, [x], (x.dtype, (*x.shape[:2], *(1 for _ in x.shape[2:]))))


def _along_axis(sketch: Sketch, row: Operator) -> None:
    x = sketch.operand(row)
    sketch.node(row, [x], (x.dtype, x.shape), axis=sketch.axis(len(x.shape)) if sketch.flag() else None)


def _layer_norm(sketch: Sketch, row: Operator) -> None:
    x = sketch.operand(row)
    axis = sketch.axis(len(x.shape)) if sketch.flag() else None
    rest = x.shape[(-1 if axis is None else axis) % len(x.shape) :]
    inputs = [x, sketch.source(row, x.dtype, rest)]
    if sketch.flag():
        inputs.append(sketch.source(row, x.dtype, rest))
    sketch.node(row, inputs, (x.dtype, x.shape), axis=axis, epsilon=sketch.among((None, 0.01)))


def _batch_norm(sketch: Sketch, row: Operator) -> None:
    x = sketch.operand(row)
    scale, shift, mean = (sketch.source(row, x.dtype, (x.shape[1],), constant=True) for _ in range(3))
    variance = sketch.literal(np.linspace(0.5, 2.0, x.shape[1]), x.dtype)
    sketch.node(row, [x, scale, shift, mean, variance], (x.dtype, x.shape), epsilon=sketch.among((None, 0.01)))


def _instance_norm(sketch: Sketch, row: Operator) -> None:
    x = sketch.operand(row)
    parts = [sketch.source(row, x.dtype, (x.shape[1],)) for _ in range(2)]
    sketch.node(row, [x, *parts], (x.dtype, x.shape), epsilon=sketch.among((None, 0.01)))


def _lrn(sketch: Sketch, row: Operator) -> None:
    x = sketch.operand(row)
    more = {name: sketch.among(values) if sketch.flag() else None
            for name, values in (("alpha", (0.5, 0.01)), ("beta", (0.5, 1.0)), ("bias", (2.0,)))}  # fmt: skip
    sketch.node(row, [x], (x.dtype, x.shape), size=sketch.among((1, 3, 2)), **more)


def _resize(sketch: Sketch, row: Operator) -> None:
    x = sketch.operand(row)
    mode = sketch.among((None, "nearest", "linear"))
    way = sketch.among((None, "half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel"))
    rounding = sketch.among((None, "floor", "ceil", "round_prefer_ceil")) if mode != "linear" else None
    if sketch.flag():
        sizes = [*x.shape[:2], *(sketch.among((size, size * 2, max(1, size - 1))) for size in x.shape[2:])]
        inputs = [x, None, None, sketch.literal(sizes)]
        shape = tuple(sizes)
    else:
        scales = [1.0, 1.0, *(sketch.among((2.0, 1.0, 3.0)) for _ in range(2))]
        inputs = [x, None, sketch.literal(scales, "float32")]
        shape = tuple(int(size * scale) for size, scale in zip(x.shape, scales, strict=True))
    sketch.node(row, inputs, (x.dtype, shape), mode=mode, coordinate_transformation_mode=way, nearest_mode=rounding)


def _quantize(sketch: Sketch, row: Operator) -> None:
    x = sketch.operand(row)
    inputs = [x, sketch.literal(sketch.among((0.25, 0.125, 0.02)), "float32")]
    kind = "uint8"
    if sketch.flag():
        kind = sketch.among(("uint8", "int8"))
        inputs.append(sketch.literal(sketch.number(0, 100), kind))
    sketch.node(row, inputs, (kind, x.shape))


def _dequantize(sketch: Sketch, row: Operator) -> None:
    x = sketch.operand(row)
    inputs = [x, sketch.literal(sketch.among((0.25, 0.125, 0.02)), "float32")]
    if sketch.flag():
        inputs.append(sketch.literal(sketch.number(0, 100), x.dtype))
    sketch.node(row, inputs, ("float32", x.shape))


TYPE_CODES = {"float32": 1, "int32": 6, "int64": 7, "bool": 9, "float64": 11, "uint8": 2}  # of onnx's TensorProto

FAMILIES: dict[str, Callable[[Sketch, Operator], None]] = {
    "map": _map, "pair": _pair, "mod": _mod, "prelu": _prelu, "shift": _shift, "several": _several, "where": _where,
    "clip": _clip, "cast": _cast, "reduce": _reduce, "reduce_by_input": _reduce_by_input, "arg": _arg,
    "cumsum": _cumsum, "topk": _topk, "transpose": _transpose, "reshape": _reshape, "flatten": _flatten,
    "squeeze": _squeeze, "unsqueeze": _unsqueeze, "concat": _concat, "split": _split, "slice": _slice, "pad": _pad,
    "tile": _tile, "expand": _expand, "gather": _gather, "gather_elements": _gather_elements, "gather_nd": _gather_nd,
    "scatter_elements": _scatter_elements, "scatter_nd": _scatter_nd, "shape": _shape_of, "size": _size_of,
    "depth_to_space": _depth_to_space, "space_to_depth": _space_to_depth, "one_hot": _one_hot, "trilu": _trilu,
    "eye_like": _eye_like, "reverse_sequence": _reverse_sequence, "matmul": _matmul, "gemm": _gemm,
    "matmul_integer": _matmul_integer, "conv": _conv, "conv_transpose": _conv_transpose, "pool": _pool,
    "global_pool": _global_pool, "along": _along_axis, "layer_norm": _layer_norm, "batch_norm": _batch_norm,
    "instance_norm": _instance_norm, "lrn": _lrn, "resize": _resize, "quantize": _quantize, "dequantize": _dequantize,
}  # fmt: skip
