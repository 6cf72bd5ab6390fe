"""Reads programs of single operators as ExecuTorch's adapter does: prints their nodes, and what is not read.

Executed by the interpreter of the executorch toolchain.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import torch

from bench_plugin.adapters.readback.executorch import executorch_layers

IMAGE = torch.ones(1, 2, 3, 3)
CASES: dict[str, Callable[[Any], Any]] = {
    "clamp from below": lambda x: torch.clamp(x, min=0.5),
    "clamp from above": lambda x: torch.clamp(x, max=0.5),
    "hardtanh": torch.nn.functional.hardtanh,
    "quotient": lambda x: torch.div(x, 3),
    "square": lambda x: x**2,
    "rounded quotient": lambda x: torch.div(x, 3, rounding_mode="floor"),
    "mean of all": torch.mean,
    "two of three": lambda x: torch.chunk(x, 2, dim=3)[0],
    "parts of sizes": lambda x: torch.split(x, [1, 2], dim=2)[1],
    "padded": lambda x: torch.nn.functional.pad(x, (2, 0, 1, 3), value=0.5),
    "mirrored": lambda x: torch.nn.functional.pad(x, (1, 1, 1, 1), mode="reflect"),
    "one part": lambda x: torch.unbind(x, 0)[0],
    "scale of the sizes": lambda x: torch.nn.functional.interpolate(x, scale_factor=2.0, mode="bilinear"),
    "another scale": lambda x: torch.nn.functional.interpolate(x, scale_factor=2.2, mode="bilinear"),
    "hardsigmoid": torch.nn.functional.hardsigmoid,
    "leaky": lambda x: torch.nn.functional.leaky_relu(x, 0.2),
    "elu": lambda x: torch.nn.functional.elu(x, 0.7),
    "selu as elu": lambda x: torch.ops.aten.elu(x, 1.5, 1.05),
    "shuffled": lambda x: torch.nn.functional.pixel_shuffle(x.expand(1, 2, 3, 3).repeat(1, 2, 1, 1), 2),
    "doubled": lambda x: torch.nn.functional.interpolate(x, scale_factor=2, mode="nearest"),
    "nearly doubled": lambda x: torch.nn.functional.interpolate(x, scale_factor=2.2, mode="nearest"),
    "five thirds": lambda x: torch.nn.functional.interpolate(x, size=(5, 5), mode="nearest"),
    "heads that share keys": lambda x: torch.nn.functional.scaled_dot_product_attention(x, x, x, enable_gqa=True),
}


class Module(torch.nn.Module):  # type: ignore[misc, unused-ignore]
    """A module of one function."""

    def __init__(self, function: Callable[[Any], Any]) -> None:
        super().__init__()
        self.function = function

    def forward(self, x: Any) -> Any:
        """The function of ``x`` [1, 2, 3, 3]."""
        return self.function(x)


def read(function: Callable[[Any], Any]) -> dict[str, Any]:
    """The operators, the limits of a Clip and the axes of a mean in the layers of a function, and what is unread."""
    reader = executorch_layers.Reader(torch.export.export(Module(function), (IMAGE,)), {})
    reader.read_all()
    nodes, values = {node.operator: node for node in reader.layers.nodes}, reader.layers.values
    ends = nodes["Clip"].inputs[1:] if "Clip" in nodes else ()
    limits = [values[name].item() if name else None for name in ends]
    return {
        "operators": sorted(nodes), "unread": reader.layers.unread, "limits": limits,
        "axes": nodes["ReduceMean"].attributes["axes"] if "ReduceMean" in nodes else [],
        "constants": {
            name: [values[one].tolist() for one in node.inputs if one in values] for name, node in nodes.items()
        },
        "attributes": {name: node.attributes for name, node in nodes.items()},
    }  # fmt: skip


print(json.dumps({name: read(function) for name, function in CASES.items()}))
