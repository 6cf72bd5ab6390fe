"""Runs in the toolchain of onnxruntime: whether an operator of the float64 evaluator rounds to float32.

Prints every one of onnx's own cases all of whose results are numbers of float32, and those of the operators that are
written here whose results are not those of the case.
"""

from __future__ import annotations

import signal
import sys
import warnings
from typing import Any

import numpy as np
import onnx
from onnx.backend.test.case import node as cases
from onnx.reference import ReferenceEvaluator

from bench_plugin.adapters.onnx_tools import onnx_float64, onnx_operators

OURS = ("Erf", "AffineGrid", "LinearAttention", "CausalConvWithState")
# Results are integers, or by their definition numbers of float32.
EXACT = {"Ceil", "Floor", "Round", "DynamicQuantizeLinear", "MelWeightMatrix", "TreeEnsemble", "Adam"}
SECONDS = 10


class TooSlow(Exception):
    """A case took longer than SECONDS."""


def main() -> int:
    """1 where something is printed, or hardly a case could be run; prints how many operators were looked at."""
    found: dict[str, list[bool]] = {}
    wrong = 0
    rng = np.random.default_rng(0)
    for case in cases.collect_testcases(None):
        nodes = case.model.graph.node
        if len(nodes) != 1:
            continue
        results = evaluated(case, rng)
        name = nodes[0].op_type
        rounded = [in_float32(one) for one in results if looked_at(one)]
        found.setdefault(name, []).extend(rounded)
        if rounded and all(rounded) and name not in EXACT:
            wrong += 1
            print("FLOAT32", case.name)
        if name in OURS and results and not alike(results, case.data_sets[0][1]):
            wrong += 1
            print("DIFFERS", case.name)
    missing = [name for name in OURS if not found.get(name)]
    looked = sum(map(bool, found.values()))
    print(f"{looked} operators, {wrong} wrong, {missing} missing")
    return 1 if wrong or missing or looked < 100 else 0


def evaluated(case: Any, rng: np.random.Generator) -> list[Any]:
    """The results of a case whose inputs are moved off the numbers of float32; none where it cannot be run so."""
    model = onnx.ModelProto()
    model.CopyFrom(case.model)
    given = case.data_sets[0][0]
    if any(isinstance(one, list) or one is None for one in given):
        return []
    signal.alarm(SECONDS)
    try:
        evaluator = ReferenceEvaluator(onnx_float64.promoted(onnx, model), new_ops=onnx_operators.fast_operators(onnx))
        feeds = {name: moved(np.asarray(one), rng) for name, one in zip(evaluator.input_names, given, strict=False)}
        if not any(one.dtype == np.float64 for one in feeds.values()):
            return []
        return [one for one in evaluator.run(None, feeds) if isinstance(one, np.ndarray)]
    except Exception as error:
        if case.model.graph.node[0].op_type in OURS:
            raise
        print(f"not run: {case.name}: {type(error).__name__}")
        return []
    finally:
        signal.alarm(0)


def moved(values: Any, rng: np.random.Generator) -> Any:
    """Numbers of float32 or float64 times 1 + 1e-9 N(0, 1), in float64; others as they are."""
    if values.dtype not in (np.float32, np.float64):
        return values
    return values.astype(np.float64) * (1 + 1e-9 * rng.standard_normal(values.shape))


def looked_at(values: Any) -> bool:
    """Whether the type of a result, or one of its elements, can say something of its rounding."""
    return values.dtype.kind == "f" and bool((np.isfinite(values) & (values != 0) & (abs(values) != 1)).any())


def in_float32(values: Any) -> bool:
    """Whether all elements are numbers of float32."""
    usable = values[np.isfinite(values)]
    return values.dtype != np.float64 or bool((usable.astype(np.float32) == usable).all())


def alike(results: list[Any], expected: Any) -> bool:
    """Whether results are those of a case, up to float32."""
    return all(np.allclose(one, other, 1e-4, 1e-5) for one, other in zip(results, expected, strict=True))


def _end(*_: object) -> None:
    raise TooSlow


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    signal.signal(signal.SIGALRM, _end)
    sys.exit(main())
