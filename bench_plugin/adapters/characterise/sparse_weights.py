"""How long a product with sparse weights takes, in NumPy dense and in SciPy's COO, CSR and CSC, with one thread."""

from __future__ import annotations

import importlib
import time
from dataclasses import dataclass
from typing import Any, Callable, Dict, List, Tuple

from bench_plugin.agent.adapter import Reply
from bench_plugin.agent.contract import Call
from bench_plugin.agent.toolkit import versions

ADAPTER = {
    "name": "sparse_weights",
    "kind": "tool",
    "toolchain": "datasets",
    "title": "Products with sparse weights",
    "distribution": "scipy",
    "operations": ["multiply"],
    "errors": [{"package": "scipy"}],
}

FORMATS = ("dense", "coo", "csr", "csc")
BLOCK = 2e-3  # seconds that a block of calls takes at least
BLOCKS = 9  # of each format, in turn: what disturbs the machine for a while disturbs all of them


@dataclass(frozen=True, eq=False, repr=False)
class MultiplyCall(Call):
    """Multiply matrices [rows, columns] of random float32 weights, some of them zero, with inputs [columns, vectors].

    shapes: rows, columns and vectors of each matrix.
    zeros: the shares of weights that are zeroed at random.
    seed: the seed of weights, inputs and zeros.
    """

    operation = "multiply"

    shapes: Tuple[Tuple[int, ...], ...]
    zeros: Tuple[float, ...]
    seed: int


CALLS = {"multiply": MultiplyCall}


class Adapter:
    """Remembers nothing."""

    def versions(self) -> dict[str, str]:
        """Versions of the distributions that take part."""
        return versions.installed("scipy", "numpy")

    def reset(self) -> None:
        """Nothing to forget."""

    def multiply(self, call: MultiplyCall) -> Reply:
        """``seconds``: for every shape and every share of zeros the median seconds of a product by format.

        All formats give the same product, which is checked. Raises ValueError where they do not.
        """
        import numpy as np

        limits = importlib.import_module("threadpoolctl").threadpool_limits
        rng = np.random.default_rng(call.seed)
        call.stage("run")
        seconds: List[List[Dict[str, float]]] = []
        with limits(1):
            for rows, columns, vectors in call.shapes:
                weights = rng.standard_normal((rows, columns)).astype(np.float32)
                given = rng.standard_normal((columns, vectors)).astype(np.float32)
                order = rng.permutation(weights.size)
                seconds.append([_timed(_zeroed(weights, order, share), given) for share in call.zeros])
        return Reply({"seconds": seconds, "blocks": BLOCKS, "threads": 1})


def _zeroed(weights: Any, order: Any, share: float) -> Any:
    """The weights without the share of them that comes first in a random order."""
    found = weights.copy()
    found.reshape(-1)[order[: int(found.size * share + 0.5)]] = 0.0
    return found


def _timed(weights: Any, given: Any) -> Dict[str, float]:
    """The median seconds of a product by format."""
    import numpy as np

    sparse = importlib.import_module("scipy.sparse")
    made = {
        "dense": weights, "coo": sparse.coo_array(weights), "csr": sparse.csr_array(weights),
        "csc": sparse.csc_array(weights),
    }  # fmt: skip
    products = {name: _product(matrix, given) for name, matrix in made.items()}
    expected = products["dense"]()
    for name in FORMATS[1:]:
        if not np.allclose(products[name](), expected, rtol=1e-3, atol=1e-3):
            raise ValueError("the product in %s is not that of the dense weights" % name)
    counts = {name: _calls(product) for name, product in products.items()}
    blocks: Dict[str, List[float]] = {name: [] for name in FORMATS}
    for _ in range(BLOCKS):
        for name in FORMATS:
            blocks[name].append(_seconds(products[name], counts[name]) / counts[name])
    return {name: float(np.median(values)) for name, values in blocks.items()}


def _product(matrix: Any, given: Any) -> Callable[[], Any]:
    return lambda: matrix @ given


def _calls(product: Callable[[], Any]) -> int:
    """How many calls make a block."""
    count = 1
    while _seconds(product, count) < BLOCK:
        count *= 2
    return count


def _seconds(product: Callable[[], Any], count: int) -> float:
    since = time.perf_counter()
    for _ in range(count):
        product()
    return time.perf_counter() - since
