"""Selectors: rows of files that name cells by their axes, each axis with one value or a list of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from bench_plugin.domain.axes import AXES, Axis, Check
from bench_plugin.domain.precision import ALIASES, PRECISIONS
from bench_plugin.domain.records import about

_literal: Any = Literal  # values that are only known when the program runs
FIXED: Mapping[str, Any] = {  # axes whose values are known without reading any file
    "check": Check,
    "precision": _literal[(*PRECISIONS, *ALIASES)],
}


def selector_fields() -> list[tuple[str, Any, Any]]:
    """One optional field per axis, for ``msgspec.defstruct``: None where a row does not speak of it."""
    return [(axis.name, Annotated[_one_or_more(axis) | None, about(axis.help)], None) for axis in AXES]


def selector_of(row: Any) -> dict[str, tuple[str, ...]]:
    """The axes that a row names, each with its values as text, in the order of the table of axes."""
    named = {axis.name: getattr(row, axis.name) for axis in AXES}
    return {name: _texts(name, value) for name, value in named.items() if value is not None}


def _one_or_more(axis: Axis) -> Any:
    one: Any = FIXED.get(axis.name, str | int if axis.kind is int else str)
    many: Any = tuple.__class_getitem__((one, ...))
    return one | many


def _texts(name: str, value: Any) -> tuple[str, ...]:
    many = value if isinstance(value, tuple) else (value,)
    texts = (str(one) for one in many)
    return tuple(ALIASES.get(text, text) if name == "precision" else text for text in texts)
