"""The identity of a cell across runs: its axes as one canonical text.

A row's ``key`` changes with every version, host and tolerance, so it says whether two outcomes must be equal, and not
which cell they are of. The canonical text is made from the axes alone: in the order of their names, so that a new axis
changes the text only of the cells that have it; without empty values and without those that cells of an axis usually
have (``precision`` fp32, ``target`` local), which rows of some versions leave out; and with everything but letters,
digits and a few signs escaped as in a URL, so that different axes never have equal texts.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import quote, unquote

from bench_plugin.domain.axes import BY_NAME

SAFE = "[]()+,:@/*!"  # stand for themselves in the text of a value: onnxruntime[xnnpack], models/a.onnx


def cell_text(axes: Mapping[str, Any]) -> str:
    """The canonical text of the axes in a row.

    >>> cell_text({"check": "export", "model": "lstm", "framework": "pytorch", "opset": 17, "precision": "fp32"})
    'check=export framework=pytorch model=lstm opset=17'
    """
    parts = ((name, _text(name, value)) for name, value in sorted(axes.items()))
    return " ".join(f"{quote(name, safe='')}={quote(text, safe=SAFE)}" for name, text in parts if text)


def axes_of(text: str) -> dict[str, Any]:
    """The axes in a canonical text: the inverse of :func:`cell_text`, but for what that leaves out.

    >>> axes_of("check=export opset=17")
    {'check': 'export', 'opset': 17}
    """
    pairs = (part.partition("=") for part in text.split(" ") if part)
    return {unquote(name): _value(unquote(name), unquote(value)) for name, _, value in pairs}


def short_text(text: str) -> str:
    """A canonical text as a table shows it: the values alone, in the order of reading."""
    axes = axes_of(text)
    known = [name for name in BY_NAME if name in axes]
    return " ".join(str(axes[name]) for name in [*known, *sorted(set(axes) - set(known))])


def _text(name: str, value: Any) -> str:
    """The value of an axis as text; empty where the canonical text leaves it out."""
    text = str(value or "").encode("utf-8", "backslashreplace").decode("utf-8")
    axis = BY_NAME.get(name)
    return "" if axis is not None and text == str(axis.usual) else text


def _value(name: str, text: str) -> Any:
    axis = BY_NAME.get(name)
    try:
        return axis.parse(text) if axis else text
    except ValueError:
        return text
