"""ONNX's own evaluator for models in float64, which its attributes of type float do not narrow."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from typing import Any

from bench_plugin.agent.toolkit import versions

ADAPTER = {
    "name": "onnx_evaluator",
    "kind": "tool",
    "toolchain": "onnxruntime",
    "title": "ONNX's evaluator in float64",
    "distribution": "onnx",
    "operations": [],
}


class Adapter:
    """Remembers nothing; the adapters that use this file take its functions."""

    def versions(self) -> dict[str, str]:
        """Versions of the distributions that take part."""
        return versions.installed("onnx", "numpy")

    def reset(self) -> None:
        """Nothing to forget."""


def evaluator(model: Any, operators: Sequence[Any]) -> Any:
    """A ReferenceEvaluator of a model with these operators, whose attributes of type float are numbers of Python.

    It reads them as numpy.float32, and what Resize computes of ``cubic_coeff_a`` and numbers of Python is then float32
    for data of float64, too: up to 46 ULP of float32 away from the exact result.
    """
    made = importlib.import_module("onnx.reference").ReferenceEvaluator(model, new_ops=operators)
    _widen(made)
    return made


def _widen(evaluator: Any) -> None:
    import numpy as np

    for node in evaluator.rt_nodes_:
        for name in node.attributes_names_:
            value = getattr(node, name)
            if isinstance(value, np.float32):
                setattr(node, name, float(value))
            elif isinstance(value, list) and any(isinstance(one, np.float32) for one in value):
                setattr(node, name, [float(one) for one in value])
            elif hasattr(value, "rt_nodes_"):  # the body of an If, a Loop or a Scan
                _widen(value)
