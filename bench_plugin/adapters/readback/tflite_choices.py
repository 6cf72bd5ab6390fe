"""TFLite's operators that take or place elements by their numbers, in ONNX's, and those that compute such numbers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from bench_plugin.adapters.readback.tflite_moves import constant, inputs_of, shaped
from bench_plugin.agent.toolkit import versions
from bench_plugin.agent.toolkit.rebuilding import Unread

ADAPTER = {
    "name": "tflite_choices",
    "kind": "tool",
    "toolchain": "tensorflow",
    "title": "TFLite's operators that choose elements",
    "distribution": "ai-edge-litert",
    "operations": [],
    "uses": ["tflite_moves"],
}

BOOL, WHOLE, DOUBLE = 9, 7, 11  # ONNX's numbers for bool, int64 and float64
INTEGERS = ("INT32", "INT64")
COUNTED = (*INTEGERS, "BOOL")


class Adapter:
    """Remembers nothing; the adapters that use this file take its functions."""

    def versions(self) -> dict[str, str]:
        """Versions of the distributions that take part."""
        return versions.installed("ai-edge-litert", "numpy")

    def reset(self) -> None:
        """Nothing to forget."""


def _numbers(reader: Any, index: int) -> str:
    return str(reader.layers.node("Cast", [reader.real(index)], to=WHOLE))


def _gather_nd(reader: Any, node: Any) -> list[str]:
    taken, numbers = inputs_of(node)
    return [reader.layers.node("GatherND", [reader.operand("GATHER_ND", taken), _numbers(reader, numbers)])]


def _scatter_nd(reader: Any, node: Any) -> list[str]:
    """What goes to the same place is added up; all other places are zero."""
    layers, (numbers, updates, _) = reader.layers, inputs_of(node)
    shape = layers.constant(reader.file.shape(int(node.outputs[0])), "int64")
    empty = layers.node("Expand", [layers.constant(0.0), shape])
    taken = [empty, _numbers(reader, numbers), reader.real(updates)]
    return [layers.node("ScatterND", taken, reduction="add")]


def _topk(reader: Any, node: Any) -> list[str]:
    """The largest elements of the last axis and their numbers; of equal ones the first comes first in both."""
    layers, (taken, count) = reader.layers, inputs_of(node)
    wanted = layers.constant(constant(reader, count).reshape(-1), "int64")
    return list(layers.choose("TopK", reader.real(taken), wanted, axis=-1))


def _select(reader: Any, node: Any) -> list[str]:
    layers, (which, first, second) = reader.layers, inputs_of(node)
    condition = layers.node("Cast", [reader.real(which)], to=BOOL)
    return [layers.node("Where", [condition, *(reader.operand("SELECT", index) for index in (first, second))])]


def _select_same(reader: Any, node: Any) -> list[str]:
    """The older SELECT, whose condition may also have one element for each row: of that it is not known here."""
    which, *_ = inputs_of(node)
    if reader.file.shape(which) != reader.file.shape(int(node.outputs[0])):
        raise Unread("a condition of another shape")
    return _select(reader, node)


def _cumsum(reader: Any, node: Any) -> list[str]:
    (taken, axis), options = inputs_of(node), node.builtinOptions
    along = reader.layers.constant(constant(reader, axis).reshape(-1)[0], "int64")
    said = {"exclusive": int(bool(options.exclusive)), "reverse": int(bool(options.reverse))}
    return [reader.layers.node("CumSum", [reader.real(taken), along], **said)]


def _arg_max(reader: Any, node: Any) -> list[str]:
    """The number of the largest element, of equal ones the first."""
    layers, (taken, axis) = reader.layers, inputs_of(node)
    rank = len(reader.file.shape(taken))
    along = int(constant(reader, axis).reshape(-1)[0]) % rank - rank
    return list(layers.choose("ArgMax", reader.real(taken), axis=along, keepdims=0))


def _of_numbers(reader: Any, node: Any) -> list[str]:
    """What a node takes, in float64. Raises Unread for other numbers than those of elements."""
    for index in inputs_of(node):
        if reader.file.type(index) not in COUNTED or reader.file.quantisation(index) is not None:
            raise Unread("something else than whole numbers")
    return [reader.layers.node("Cast", [reader.real(index)], to=DOUBLE) for index in inputs_of(node)]


def _reshaped_numbers(reader: Any, node: Any) -> list[str]:
    return [shaped(reader, reader.real(inputs_of(node)[0]), int(node.outputs[0]))]


def _floor_mod(reader: Any, node: Any) -> list[str]:
    layers, (taken, by) = reader.layers, _of_numbers(reader, node)
    whole = layers.node("Floor", [layers.node("Div", [taken, by])])
    return [layers.node("Sub", [taken, layers.node("Mul", [whole, by])])]


def _arithmetic(operator: str) -> Callable[[Any, Any], list[str]]:
    def translate(reader: Any, node: Any) -> list[str]:
        made = reader.layers.node(operator, _of_numbers(reader, node))
        return [reader.layers.node("Cast", [made], to=DOUBLE)]

    return translate


def _comparison(operator: str) -> Callable[[Any, Any], list[str]]:
    """Which elements are larger, smaller or equal: 1.0 or 0.0 in float64."""

    def translate(reader: Any, node: Any) -> list[str]:
        sides = [reader.operand(reader.file.operator(node), index) for index in inputs_of(node)]
        return [reader.layers.node("Cast", [reader.layers.node(operator, sides)], to=DOUBLE)]

    return translate


def _logical(operator: str) -> Callable[[Any, Any], list[str]]:
    def translate(reader: Any, node: Any) -> list[str]:
        layers = reader.layers
        taken = [layers.node("Cast", [reader.real(index)], to=BOOL) for index in inputs_of(node)]
        return [layers.node("Cast", [layers.node(operator, taken)], to=DOUBLE)]

    return translate


CHOICES: Mapping[str, Callable[[Any, Any], list[str]]] = {
    "GATHER_ND": _gather_nd,
    "SCATTER_ND": _scatter_nd,
    "TOPK_V2": _topk,
    "SELECT": _select_same,
    "SELECT_V2": _select,
    "CUMSUM": _cumsum,
}
CHOSEN = {"ARG_MAX": _arg_max, "TOPK_V2": _topk}  # these make the numbers of the elements that they choose
MOVES = ("CAST", "RESHAPE", "SQUEEZE")  # these leave the order of numbers as it is
# What these make of numbers of elements is judged where a layer reads it.
OF_NUMBERS: Mapping[str, Callable[[Any, Any], list[str]]] = {
    "CAST": _of_numbers,
    "RESHAPE": _reshaped_numbers,
    "ARG_MAX": _arg_max,
    "ADD": _arithmetic("Add"),
    "MUL": _arithmetic("Mul"),
    "FLOOR_MOD": _floor_mod,
    "LESS": _comparison("Less"),
    "LESS_EQUAL": _comparison("LessOrEqual"),
    "GREATER": _comparison("Greater"),
    "GREATER_EQUAL": _comparison("GreaterOrEqual"),
    "EQUAL": _comparison("Equal"),
    "LOGICAL_AND": _logical("And"),
    "LOGICAL_OR": _logical("Or"),
    "LOGICAL_NOT": _logical("Not"),
}
