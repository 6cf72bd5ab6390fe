"""The mutants of an ONNX file, each run in ONNX Runtime, by which the strength of a verdict is measured."""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

from bench_plugin.adapters.onnx_tools import onnx_evaluator, onnx_float64, onnx_operators
from bench_plugin.adapters.onnx_tools.mutation import onnx_branches, onnx_editing, onnx_mutations
from bench_plugin.adapters.onnx_tools.shared import onnx_memory
from bench_plugin.agent.adapter import Reply, Unsupported
from bench_plugin.agent.contract import MutateCall, processors
from bench_plugin.agent.toolkit import samples, versions

ADAPTER = {
    "name": "onnx_mutants",
    "kind": "tool",
    "toolchain": "onnxruntime",
    "title": "Mutants",
    "distribution": "onnxruntime",
    "distributions": ["onnx"],
    "operations": ["mutate"],
    "uses": [
        "onnx_branches",
        "onnx_editing",
        "onnx_evaluator",
        "onnx_float64",
        "onnx_memory",
        "onnx_mutations",
        "onnx_operators",
    ],
    "errors": [{"package": "onnx"}, {"package": "onnxruntime"}],
}

ORIGINAL = "original"  # the name of the outputs of the file as it is
IGNORED = "input ignored"
MISREAD = "nhwc read as nchw"
LEFT_OUT = ("residual branch zeroed", "parallel branch zeroed", "branch of If replaced")
# Of all places of these the one with the smallest effect counts, not the first.
FAINTEST = (*LEFT_OUT, IGNORED, onnx_mutations.ALIGNED)
# An effect of an ignored input below FAINT is looked at in float64 and is none below ROUNDED: a mask of zeros that
# adds -10,000 to every score changes nothing but their rounding, by 1e-3 in float32 and 1e-12 in float64. So is that
# of another mutant below SYMMETRIC: channels that are swapped in front of a norm over them change the order of a sum.
FAINT, SYMMETRIC, ROUNDED = 1e-2, 1e-5, 1e-11
# Where 1 % more weight changes less than FAINT_SCALE, the scale of that layer is lost (in a normalisation behind it) if
# twice the weights change less than this share of what weights of zero change. Another layer is tried then.
FAINT_SCALE, LOST_SCALE = 1e-5, 1e-2
# A channel that these inputs do not excite makes no difference: others are tried, the largest first.
TURNS = {"channel zeroed": 4, "channels swapped": 4, onnx_mutations.SCALED: 4, onnx_mutations.ALIGNED: 8,
         onnx_mutations.TREE: 4, **dict.fromkeys(LEFT_OUT, onnx_branches.PLACES)}  # fmt: skip

Outputs = dict[str, Any]


@dataclass(frozen=True)
class Try:
    """A mutant in one place: its ``site``, its ``outputs``, and what gives those in float64.

    ``exact`` is None where nothing was changed at all, or only a scale that is lost.
    """

    site: str
    outputs: Outputs
    exact: Callable[[], Outputs | None] | None


class Adapter:
    """Remembers nothing."""

    def versions(self) -> dict[str, str]:
        """Versions of the distributions that take part."""
        return versions.installed("onnxruntime", "onnx", "numpy")

    def reset(self) -> None:
        """Nothing to forget."""

    def mutate(self, call: MutateCall) -> Reply:
        """Outputs ``<mutant>:out<i>`` [n, ...] of every mutant that applies, and of ``original``, on the first samples.

        ``unchanged`` names the mutants that compute the same even in float64, with their sites: of branches and inputs,
        of which the faintest place counts, every place without an effect.
        """
        call.stage("build")
        onnx = importlib.import_module("onnx")
        given = {name: values[: call.samples] for name, values in call.inputs.items()}
        path = call.files["model.onnx"]
        # Weights beside the file stay there, but for the one that is changed: a mutant in memory has at most 2 GiB.
        graph = onnx_editing.Graph(onnx, onnx.load(path, load_external_data=False), os.path.dirname(path))
        model = Mutable(graph, given, call.batched)
        arrays = {f"{ORIGINAL}:{key}": y for key, y in model.original.items()}
        rows, unchanged = [], []
        for name in (*onnx_mutations.MUTANTS, IGNORED):
            site, found, without = model.mutant(name)
            unchanged += [{"name": name, "site": one} for one in without]
            if found is not None:
                arrays.update({f"{name}:{key}": y for key, y in found.items()})
                rows.append({"name": name, "site": site})
        misread = {name: _misread(values) for name, values in given.items()}
        if any(values is not given[name] for name, values in misread.items()):
            results = _run(graph, misread, call.batched)
            arrays.update({f"{MISREAD}:{key}": y for key, y in results.items()})
            rows.append({"name": MISREAD, "site": "inputs"})
        return Reply({"mutants": rows, "unchanged": unchanged, "samples": call.samples}, samples.blobs(arrays))


class Mutable:
    """A graph with its inputs [n, ...] by name and what it computes of them, to be compared with its mutants."""

    def __init__(self, graph: onnx_editing.Graph, given: Outputs, batched: bool) -> None:
        self._graph, self._given, self._batched = graph, given, batched
        self._in_float64: Outputs | None = None
        self.original = _run(graph, given, batched)

    def mutant(self, name: str) -> tuple[str, Outputs | None, list[str]]:
        """Where a mutant was made, its outputs, and the sites where it changes nothing, even in float64.

        The outputs are None, and the site is empty, where there is no place at all or no place where it changes
        anything.
        """
        faintest = name in FAINTEST
        best: tuple[float, Try] | None = None
        equal: list[Try] = []
        for one in self._ignored() if name == IGNORED else self._tries(name):
            effect = _effect(one.outputs, self.original)
            faint = effect < (FAINT if name == IGNORED else SYMMETRIC)
            if not effect or (faint and not self._effect_in_float64(one) > ROUNDED):
                equal.append(one)
            elif best is None or effect < best[0]:
                best = effect, one
            if best and not faintest:
                return best[1].site, best[1].outputs, []
        without: list[str] = []
        tried = [one for one in equal if one.exact] or equal
        if name == onnx_mutations.ALIGNED and best:  # what is resized from a single pixel has no alignment
            return best[1].site, best[1].outputs, []
        for one in equal if faintest else tried[-1:]:
            if not self._effect_in_float64(one) > ROUNDED:
                without.append(one.site)
            elif best is None or best[0]:
                best = 0.0, one
        return (best[1].site, best[1].outputs, without) if best else ("", None, without)

    def _tries(self, name: str) -> Iterator[Try]:
        """A mutant of the graph in each of the places that are tried and give a graph that runs."""
        for turn in range(TURNS.get(name, 1)):
            applied = onnx_mutations.MUTANTS[name](self._graph, turn)
            if applied is None:
                return
            site, undo = applied
            try:
                results = self._result(undo)
            except Exception as error:  # the tool's own: what the mistake changed does not fit together
                print(f"{name} at {site} gives no graph that runs: {error}")
                continue
            if name == onnx_mutations.SCALED and self._scale_is_lost(turn, results):
                yield Try(site, self.original, None)
                continue
            yield Try(site, results, partial(self._mutated_in_float64, name, turn))

    def _result(self, undo: Callable[[], None]) -> Outputs:
        """What the graph computes with the mistake that was applied, which is undone."""
        try:
            return _run(self._graph, self._given, self._batched)
        finally:
            undo()

    def _scale_is_lost(self, turn: int, results: Outputs) -> bool:
        """Whether the scale of a layer has no influence but for rounding, where ``results`` are of a larger one."""
        if _effect(results, self.original) >= FAINT_SCALE:
            return False
        changed = []
        for factor in (2.0, 0.0):
            applied = onnx_mutations.scaled(self._graph, turn, factor)
            assert applied is not None  # it was applied with another factor
            changed.append(_effect(self._result(applied[1]), self.original))
        return changed[0] < LOST_SCALE * changed[1]

    def _ignored(self) -> Iterator[Try]:
        """Each input in turn replaced by zeros of its shape and type (false, or empty strings), of at least two.

        The only input of a graph is not: its output would be the same for every input, which is a mutant already.
        Inputs on which no output depends, and those that decide the shape of one or do not fit as zeros, are left out.
        """
        import numpy as np

        names = [name for name in onnx_branches.inputs_that_count(self._graph) if name in self._given]
        for name in names if len(names) > 1 else ():
            given = {**self._given, name: np.zeros_like(self._given[name])}
            if np.array_equal(given[name], self._given[name]):
                yield Try(name, self.original, None)
                continue
            try:
                results = _run(self._graph, given, self._batched)
            except Exception as error:  # the tool's own: zeros are no value that this input may have
                print(f"{IGNORED} at {name} does not run: {error}")
                continue
            if any(results[key].shape != y.shape for key, y in self.original.items()):
                print(f"{IGNORED} at {name} gives another shape")
                continue
            yield Try(name, results, partial(_evaluated, self._graph, given, self._batched))

    def _mutated_in_float64(self, name: str, turn: int) -> Outputs | None:
        applied = onnx_mutations.MUTANTS[name](self._graph, turn)
        if applied is None:
            return None
        _, undo = applied
        try:
            return _evaluated(self._graph, self._given, self._batched)
        finally:
            undo()

    def _effect_in_float64(self, one: Try) -> float:
        """The effect in float64 of a mutant that has none or a faint one in float32; infinite where none can say."""
        if one.exact is None:
            return 0.0
        try:
            if self._in_float64 is None:
                self._in_float64 = _evaluated(self._graph, self._given, self._batched)
            found = one.exact()
        except (NotImplementedError, RuntimeError, Unsupported):  # the evaluator lacks an operator
            return float("inf")
        return 0.0 if found is None else _effect(found, self._in_float64)


def _effect(results: Outputs, original: Outputs) -> float:
    """The largest norm of what changed, in units of the norm of the outputs; infinite where that is not a number.

    It is 0 where nothing changed, and only there.
    """
    import numpy as np

    worst = 0.0
    for name, y in original.items():
        if _equal({name: results[name]}, {name: y}):
            continue
        if y.dtype.kind != "f":
            worst = max(worst, 1.0)
            continue
        with np.errstate(invalid="ignore", over="ignore"):
            norm = float(np.linalg.norm(y.astype("float64")))
            changed = float(np.linalg.norm(results[name].astype("float64") - y.astype("float64")))
        effect = changed / norm if norm else changed
        worst = max(worst, effect if np.isfinite(effect) else np.inf, np.finfo("float64").tiny)
    return worst


def _equal(results: Outputs, original: Outputs) -> bool:
    """Whether all outputs are equal; what is not a number in both is equal, too."""
    import numpy as np

    return all(
        np.array_equal(results[name], y, equal_nan=y.dtype.kind == "f" and results[name].dtype.kind == "f")
        for name, y in original.items()
    )


def _evaluated(graph: onnx_editing.Graph, given: Outputs, batched: bool) -> Outputs:
    onnx = graph.onnx
    model = onnx.ModelProto()
    model.CopyFrom(graph.model)
    onnx.load_external_data_for_model(model, graph.folder)
    model = onnx_float64.promoted(onnx, model, narrow=True)
    evaluator = onnx_memory.frugal(onnx_evaluator.evaluator(model, onnx_operators.fast_operators(onnx)))
    order = [name for name in evaluator.input_names if name in given]
    results = samples.one_by_one(
        lambda xs: list(evaluator.run(None, dict(zip(order, xs)))),
        [onnx_float64.doubled(given[name]) for name in order],
        batched,
    )
    return samples.joined(results, samples.numbered(len(results[0])), batched)


def _misread(values: Any) -> Any:
    """Images [..., C, H, W] whose memory is read as if it were [..., H, W, C]; other inputs as they are."""
    import numpy as np

    if values.ndim < 4 or values.dtype.kind != "f" or 1 in (values.shape[-3], values.shape[-1]):
        return values
    return np.ascontiguousarray(np.moveaxis(values, -3, -1)).reshape(values.shape)


def _run(graph: onnx_editing.Graph, given: Outputs, batched: bool) -> Outputs:
    runtime = importlib.import_module("onnxruntime")
    options = runtime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = processors()
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")  # other agents work beside
    options.add_session_config_entry("session.model_external_initializers_file_folder_path", graph.folder)
    session = runtime.InferenceSession(graph.model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    order = [row.name for row in session.get_inputs() if row.name in given]
    results = samples.one_by_one(
        lambda xs: list(session.run(None, dict(zip(order, xs)))), [given[name] for name in order], batched
    )
    return samples.joined(results, samples.numbered(len(results[0])), batched)
