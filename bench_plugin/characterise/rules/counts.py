"""What a rule says of one node: operations of convolutions and fully connected layers, and others by kind."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from bench_plugin.characterise.facts import Facts, Node, Tensor

# The kinds of operations. One multiply-add is a multiplication and an addition: two operations.
ADD, MULTIPLY, DIVIDE, COMPARE = "additions", "multiplications", "divisions", "comparisons"
EXPONENTIAL, LOGARITHM, ROOT = "exponentials", "logarithms", "roots"
TRIGONOMETRIC, ROUND, LOGICAL = "trigonometric functions", "roundings", "logical operations"
KINDS = (ADD, MULTIPLY, DIVIDE, COMPARE, EXPONENTIAL, LOGARITHM, ROOT, TRIGONOMETRIC, ROUND, LOGICAL)


@dataclass(frozen=True)
class Counts:
    """The needs of one node.

    ``linear`` are the operations of a convolution or a fully connected layer without its bias, as published totals
    count them, and ``weights`` the elements of its weight; ``others`` are all other operations by kind.
    """

    linear: int = 0
    weights: int = 0
    others: Mapping[str, int] = field(default_factory=dict)

    @staticmethod
    def multiply_adds(count: int, weights: int = 0, others: Mapping[str, int] | None = None) -> Counts:
        """Of a layer with so many multiply-adds."""
        return Counts(2 * count, weights, others or {})


NOTHING = Counts()


class NotCounted(Exception):
    """A shape or a value that the rule needs is not known; says which."""


class Seen:
    """A node as its rule sees it: shapes of inputs and outputs that must be known, attributes with defaults."""

    def __init__(self, node: Node, facts: Facts) -> None:
        self.node = node
        self._facts = facts

    @property
    def arity(self) -> int:
        """How many inputs the node is given."""
        return len([name for name in self.node.inputs if name])

    def given(self, index: int) -> bool:
        """Whether the optional input ``index`` is given."""
        return index < len(self.node.inputs) and bool(self.node.inputs[index])

    def input(self, index: int = 0) -> Tensor:
        """An input. Raises NotCounted for one that is not given."""
        if not self.given(index):
            raise NotCounted(f"input {index} is missing")
        return self._facts.tensor(self.node.inputs[index])

    def shape(self, index: int = 0) -> tuple[int, ...]:
        """The shape of an input. Raises NotCounted where it is not known."""
        return _known(self.input(index), f"the shape of input {index}")

    def result(self, index: int = 0) -> tuple[int, ...]:
        """The shape of an output. Raises NotCounted where it is not known."""
        if index >= len(self.node.outputs):
            raise NotCounted(f"output {index} is missing")
        return _known(self._facts.tensor(self.node.outputs[index]), f"the shape of output {index}")

    def size(self, index: int = 0) -> int:
        """The elements of an input. Raises NotCounted where they are not known."""
        return math.prod(self.shape(index))

    def made(self, index: int = 0) -> int:
        """The elements of an output. Raises NotCounted where they are not known."""
        return math.prod(self.result(index))

    def whole(self, name: str, default: int) -> int:
        """An attribute that is a whole number."""
        return int(self.node.attributes.get(name, default))

    def text(self, name: str, default: str) -> str:
        """An attribute that is a text."""
        return str(self.node.attributes.get(name, default))

    def listed(self, name: str) -> tuple[int, ...]:
        """An attribute that is a list of whole numbers. Raises NotCounted where it is missing."""
        found: Any = self.node.attributes.get(name)
        if found is None:
            raise NotCounted(f"attribute {name} is missing")
        return tuple(int(one) for one in found)


Rule = Callable[[Seen], Counts]


def _known(tensor: Tensor, what: str) -> tuple[int, ...]:
    known = tensor.known
    if known is None:
        raise NotCounted(f"{what} is not known")
    return known
