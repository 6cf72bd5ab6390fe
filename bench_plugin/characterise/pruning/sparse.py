"""Sparse weights: bytes of the formats COO, CSR and CSC against dense, and the density where they are equal.

A kernel is a matrix of its outputs by what one of them sums over. Sizes depend on how many weights are not zero alone,
so weights that are zeroed at random at a stated share need not be drawn.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from bench_plugin.characterise.facts import Facts, Node

DENSE, FORMATS = "dense", ("coo", "csr", "csc")
BITS = 8


@dataclass(frozen=True)
class Matrix:
    """The weights of one layer as a matrix, and how many columns of inputs one run multiplies it with."""

    name: str
    operator: str
    rows: int
    columns: int
    vectors: int = 1

    @property
    def elements(self) -> int:
        """How many weights it has."""
        return self.rows * self.columns

    def left(self, zeros: float) -> int:
        """How many weights are not zero where the share ``zeros`` was zeroed.

        >>> Matrix("w", "Gemm", 10, 10).left(0.875)
        12
        """
        return self.elements - math.floor(self.elements * zeros + 0.5)


def matrices(facts: Facts) -> list[Matrix]:
    """The weights of convolutions and fully connected layers, in the order of the file."""
    return [found for node in facts.nodes for found in _matrix(node, facts)]


def sizes(matrix: Matrix, zeros: float, *, value: int = 4, index: int = 4) -> dict[str, int]:
    """Bytes of the matrix dense and in each format; ``value`` and ``index`` are the bytes of a weight and of an index.

    >>> sizes(Matrix("w", "Gemm", 4, 8), 0.75)
    {'dense': 128, 'coo': 96, 'csr': 84, 'csc': 100}
    """
    left = matrix.left(zeros)
    return {
        DENSE: matrix.elements * value, "coo": left * (value + 2 * index),
        "csr": left * (value + index) + (matrix.rows + 1) * index,
        "csc": left * (value + index) + (matrix.columns + 1) * index,
    }  # fmt: skip


def break_even(matrix: Matrix, *, value: int = 4, index: int = 4) -> dict[str, float]:
    """The density (share of weights that are not zero) below which each format is smaller than dense; 0 where never.

    >>> {name: round(share, 3) for name, share in break_even(Matrix("w", "Gemm", 4, 8)).items()}
    {'coo': 0.333, 'csr': 0.422, 'csc': 0.359}
    """
    dense = matrix.elements * value
    pointers = {"coo": 0, "csr": (matrix.rows + 1) * index, "csc": (matrix.columns + 1) * index}
    of_each = {"coo": value + 2 * index, "csr": value + index, "csc": value + index}
    return {
        name: max(0.0, (dense - pointers[name]) / (matrix.elements * of_each[name])) if matrix.elements else 0.0
        for name in FORMATS
    }


def faster_below(densities: list[float], dense: list[float], other: list[float]) -> float | None:
    """The density below which ``other`` takes less time than ``dense``, between two of those that were measured.

    The three lists belong together, densities rise. None where it is slower at every density, 1 where it never is.

    >>> faster_below([0.1, 0.2, 0.4], [1.0, 1.0, 1.0], [0.5, 0.8, 1.2]), faster_below([0.1], [1.0], [2.0])
    (0.3, None)
    """
    last: tuple[float, float] | None = None
    for density, mine, its in zip(densities, dense, other, strict=True):
        over = its / mine - 1
        if over >= 0:
            if last is None:
                return None
            before, under = last
            return round(before + (density - before) * -under / (over - under), 12)
        last = (density, over)
    return 1.0 if last else None


def _matrix(node: Node, facts: Facts) -> Iterator[Matrix]:
    """The weights of a node as a matrix; nothing for a node without constant weights of known shape."""
    if node.domain != "ai.onnx" or len(node.inputs) < 2 or node.operator not in ("Conv", "Gemm", "MatMul"):
        return
    weights, made = facts.tensor(node.inputs[1]), facts.tensor(node.outputs[0])
    shape = weights.known
    if not weights.constant or shape is None or len(shape) < 2:
        return
    if node.operator == "Conv":
        rows, columns = shape[0], math.prod(shape[1:])
    elif node.operator == "Gemm" and node.attributes.get("transB"):
        rows, columns = shape[0], shape[1]
    else:
        rows, columns = shape[-1], math.prod(shape[:-1])
    yield Matrix(node.name, node.operator, rows, columns, max(1, (made.elements or rows) // rows))
