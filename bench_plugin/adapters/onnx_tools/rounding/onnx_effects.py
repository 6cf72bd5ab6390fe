"""What rounding each constant of an ONNX file to float16 changes in its outputs, by which a tool's choice is read."""

from __future__ import annotations

import importlib
from collections.abc import Mapping, Sequence
from typing import Any

from bench_plugin.adapters.onnx_tools import onnx_evaluator, onnx_float64, onnx_operators
from bench_plugin.adapters.onnx_tools.rounding import onnx_places, onnx_rounding
from bench_plugin.adapters.onnx_tools.rounding.onnx_constants import Place
from bench_plugin.adapters.onnx_tools.shared import onnx_memory, onnx_names
from bench_plugin.agent.adapter import Reply, Unsupported
from bench_plugin.agent.contract import PrepareCall
from bench_plugin.agent.toolkit import samples, versions

ADAPTER = {
    "name": "onnx_effects",
    "kind": "tool",
    "toolchain": "onnxruntime",
    "title": "Effects of rounded constants",
    "distribution": "onnx",
    "operations": ["prepare"],
    "uses": [
        "onnx_constants",
        "onnx_evaluator",
        "onnx_float64",
        "onnx_memory",
        "onnx_names",
        "onnx_operators",
        "onnx_places",
        "onnx_rounding",
    ],
    "errors": [{"package": "onnx"}],
    "unsupported": [{"operation": "prepare", "exception": "NotImplementedError", "pattern": ""}],
}

MOST = 400  # constants: beyond that their effects take too long
ENOUGH = 8  # values of the outputs for each constant
KEPT = 16  # of each output no more values than this for each constant

Outputs = Mapping[str, Any]


class Adapter:
    """Remembers nothing."""

    def versions(self) -> dict[str, str]:
        """Versions of the distributions that take part."""
        return versions.installed("onnx", "numpy")

    def reset(self) -> None:
        """Nothing to forget."""

    def prepare(self, call: PrepareCall) -> Reply:
        """``model.onnx`` after the steps of the graph and, in float64, some values of its outputs.

        For every output with floating-point values: ``places:out<k>`` are the places [n] of the values in the flattened
        outputs of the first samples, ``exact:out<k>`` the values [n], and ``<i>:out<k>`` what they are once the
        constant i is rounded. The calibration inputs [N, ...] are those of the comparison. Raises Unsupported where the
        file has too many constants.
        """
        call.stage("build")
        onnx = importlib.import_module("onnx")
        model = onnx_rounding.unrounded(onnx, onnx_names.loaded(onnx, call.files["model.onnx"]), call.graph)
        places = onnx_places.places(onnx, model, onnx_rounding.converter(call.graph))
        count = sum(not place.tie for place in places)
        if count > MOST:
            raise Unsupported(f"the file has {count} constants that float16 changes, more than {MOST}")
        evaluator = _evaluator(onnx, model)
        given, exact = _enough(evaluator, call, len(places))
        kept = _kept(exact, len(places))
        arrays = {f"places:{name}": where for name, where in kept.items()}
        arrays.update({f"exact:{name}": exact[name].reshape(-1)[where] for name, where in kept.items()})
        effects = _Effects(onnx, model, evaluator, given, call.batched)
        for index, place in enumerate(places):
            effect = _effect(effects, place, exact, kept)
            arrays.update({f"{index}:{name}": values for name, values in effect.items()})
        path = call.path("model.onnx")
        onnx.save(model, path)
        rows = [{"name": place.name, "weight": place.weight, "of": place.of} for place in places]
        meta: dict[str, object] = {
            "graph": call.graph,
            "constants": rows,
            "output_scales": [None] * len(model.graph.output),
        }
        return Reply(meta, samples.blobs(arrays), {"model.onnx": path})


def _enough(evaluator: Any, call: PrepareCall, count: int) -> tuple[dict[str, Any], dict[str, Any]]:
    """As many of the first samples as give enough values for ``count`` constants, and their outputs in float64."""
    total = len(next(iter(call.calibration.values()), ()))
    taken = 1
    while True:
        given = {name: values[:taken] for name, values in call.calibration.items()}
        exact = {
            name: values for name, values in _evaluated(evaluator, given, call.batched).items()
            if values.dtype.kind == "f"
        }  # fmt: skip
        if taken >= total or sum(values.size for values in exact.values()) >= ENOUGH * count:
            return given, exact
        taken = min(2 * taken, total)


def _kept(exact: Outputs, count: int) -> dict[str, Any]:
    """Places spread evenly over each flattened output, int64 [n]."""
    import numpy as np

    most = max(KEPT * count, 64)
    return {
        name: np.unique(np.linspace(0, values.size - 1, min(values.size, most)).astype(np.int64))
        for name, values in exact.items() if values.size
    }  # fmt: skip


class _Effects:
    """Evaluates a model with one constant rounded after the other, and nothing else computed anew.

    A copy of all weights in float64 for each constant would take gigabytes: what a message held once is not given back.
    """

    def __init__(self, onnx: Any, model: Any, evaluator: Any, given: Outputs, batched: bool) -> None:
        self._onnx, self._model, self._evaluator, self._given, self._batched = onnx, model, evaluator, given, batched
        self._rounded = _copy(onnx, model)

    def outputs(self, place: Place) -> Outputs:
        """The outputs of the model once the constant of ``place`` is rounded."""
        place.round(self._rounded)
        old, new = self._model.graph, self._rounded.graph
        tensors = [(one, kept) for one, kept in zip(new.initializer, old.initializer, strict=True) if one != kept]
        known = self._evaluator.rt_inits_
        if any(one != kept for one, kept in zip(new.node, old.node, strict=True)) or any(
            one.name not in known for one, _ in tensors
        ):
            found = _evaluated(_evaluator(self._onnx, self._rounded), self._given, self._batched)
            self._rounded = _copy(self._onnx, self._model)
            return found
        before = {one.name: known[one.name] for one, _ in tensors}
        for one, _ in tensors:
            known[one.name] = self._onnx.numpy_helper.to_array(one).astype(before[one.name].dtype)
        try:
            return _evaluated(self._evaluator, self._given, self._batched)
        finally:
            known.update(before)
            for one, kept in tensors:
                one.CopyFrom(kept)


def _effect(effects: _Effects, place: Place, exact: Outputs, kept: Outputs) -> dict[str, Any]:
    """The kept values of the outputs with one constant rounded; none where the graph does not run so."""
    try:
        found = effects.outputs(place)
    except (ArithmeticError, IndexError, RuntimeError, TypeError, ValueError) as error:
        print(f"{place.name} rounded gives no graph that runs: {error}")
        return {}
    if any(found[name].shape != exact[name].shape for name in kept):
        return {}
    return {name: found[name].reshape(-1)[where] for name, where in kept.items()}


def _copy(onnx: Any, model: Any) -> Any:
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    return copy


def _evaluator(onnx: Any, model: Any) -> Any:
    """A ReferenceEvaluator of the model in float64."""
    promoted = onnx_float64.promoted(onnx, _copy(onnx, model), narrow=True)
    return onnx_memory.frugal(onnx_evaluator.evaluator(promoted, onnx_operators.fast_operators(onnx)))


def _evaluated(evaluator: Any, given: Outputs, batched: bool) -> dict[str, Any]:
    order = [name for name in evaluator.input_names if name in given]

    def run(xs: Sequence[Any]) -> list[Any]:
        return list(evaluator.run(None, dict(zip(order, xs))))

    results = samples.one_by_one(run, [onnx_float64.doubled(given[name]) for name in order], batched)
    return samples.joined(results, samples.numbered(len(results[0])), batched)
