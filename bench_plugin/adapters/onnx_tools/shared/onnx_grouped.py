"""Weights of grouped convolutions, whole and as pieces: of each group one output and one input."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import Any

from bench_plugin.agent.toolkit import versions

ADAPTER = {
    "name": "onnx_grouped",
    "kind": "tool",
    "toolchain": "onnxruntime",
    "title": "Weights of grouped convolutions",
    "distribution": "numpy",
    "operations": [],
}


class Adapter:
    """Remembers nothing; the adapters that use this file take its functions."""

    def versions(self) -> dict[str, str]:
        """Versions of the distributions that take part."""
        return versions.installed("numpy")

    def reset(self) -> None:
        """Nothing to forget."""


def groups_of(node: Any) -> int:
    """The number of groups of a convolution."""
    return int(next((one.i for one in node.attribute if one.name == "group"), 1))


def in_groups(weights: Any, groups: int) -> Any:
    """The weights [outputs, inputs, ...] of a grouped convolution as [groups, outputs, inputs, ...] of each group."""
    return weights.reshape(groups, -1, *weights.shape[1:])


def put_together(weights: Any, pieces: Mapping[tuple[int, int], Any]) -> Any:
    """Weights [outputs, inputs, ...] that are made of ``pieces`` [groups, ...]; None where one of them is missing.

    The pieces have the output and the input of a group, which they are of. Of ``weights`` the shape alone counts.
    """
    groups = len(next(iter(pieces.values())))
    whole = in_groups(importlib.import_module("numpy").zeros(weights.shape, "float32"), groups)
    if len(pieces) < whole.shape[1] * whole.shape[2]:
        return None
    for (output, taken), values in pieces.items():
        whole[:, output, taken] = values
    return whole.reshape(weights.shape)
