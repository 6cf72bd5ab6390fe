"""The mutants of an ONNX file, each run in ONNX Runtime, by which the strength of a verdict is measured."""

from __future__ import annotations

import importlib
import os
from collections.abc import Iterator
from typing import Any

from bench_plugin.adapters.onnx_tools import onnx_float64, onnx_operators
from bench_plugin.adapters.onnx_tools.mutation import onnx_branches, onnx_editing, onnx_mutations
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
    "uses": ["onnx_branches", "onnx_editing", "onnx_float64", "onnx_mutations", "onnx_operators"],
    "errors": [{"package": "onnx"}, {"package": "onnxruntime"}],
}

ORIGINAL = "original"  # the name of the outputs of the file as it is
# Of all places of these the one with the smallest effect counts, not the first.
FAINTEST = ("residual branch zeroed", "parallel branch zeroed")
# A channel that these inputs do not excite makes no difference: others are tried, the largest first.
TURNS = {"channel zeroed": 4, "channels swapped": 4, **dict.fromkeys(FAINTEST, onnx_branches.PLACES)}
MISREAD = "nhwc read as nchw"

Outputs = dict[str, Any]


class Adapter:
    """Remembers nothing."""

    def versions(self) -> dict[str, str]:
        """Versions of the distributions that take part."""
        return versions.installed("onnxruntime", "onnx", "numpy")

    def reset(self) -> None:
        """Nothing to forget."""

    def mutate(self, call: MutateCall) -> Reply:
        """Outputs ``<mutant>:out<i>`` [n, ...] of every mutant that applies, and of ``original``, on the first samples.

        ``unchanged`` names the mutants that compute the same even in float64.
        """
        call.stage("build")
        onnx = importlib.import_module("onnx")
        given = {name: values[: call.samples] for name, values in call.inputs.items()}
        path = call.files["model.onnx"]
        # Weights beside the file stay there, but for the one that is changed: a mutant in memory has at most 2 GiB.
        graph = onnx_editing.Graph(onnx, onnx.load(path, load_external_data=False), os.path.dirname(path))
        original = _run(graph, given, call.batched)
        arrays = {f"{ORIGINAL}:{key}": y for key, y in original.items()}
        rows, unchanged = [], []
        for name in onnx_mutations.MUTANTS:
            site, found = _mutant(graph, name, given, call.batched, original)
            if found is not None:
                arrays.update({f"{name}:{key}": y for key, y in found.items()})
                rows.append({"name": name, "site": site})
            elif site:
                unchanged.append({"name": name, "site": site})
        misread = {name: _misread(values) for name, values in given.items()}
        if any(values is not given[name] for name, values in misread.items()):
            results = _run(graph, misread, call.batched)
            arrays.update({f"{MISREAD}:{key}": y for key, y in results.items()})
            rows.append({"name": MISREAD, "site": "inputs"})
        return Reply({"mutants": rows, "unchanged": unchanged, "samples": call.samples}, samples.blobs(arrays))


def _mutant(
    graph: onnx_editing.Graph, name: str, given: Outputs, batched: bool, original: Outputs
) -> tuple[str, Outputs | None]:
    """Where a mutant was made and its outputs: empty where it does not apply, None where it changes nothing.

    One whose outputs are those of the file bit by bit changes nothing if that is so in float64 too.
    """
    sites: dict[int, str] = {}
    tried: list[tuple[float, int, Outputs]] = []
    for turn, site, results in _tries(graph, name, given, batched):
        sites[turn] = site
        tried.append((_effect(results, original), turn, results))
        if name not in FAINTEST and not _equal(results, original):
            break
    if not tried:
        return "", None
    order = sorted(tried, key=lambda one: one[:2]) if name in FAINTEST else tried[-1:]
    for effect, turn, results in order:
        if effect > 0 or not _equal(results, original) or _differs_in_float64(graph, name, turn, given, batched):
            return sites[turn], results
    return next(iter(sites.values())), None


def _tries(graph: onnx_editing.Graph, name: str, given: Outputs, batched: bool) -> Iterator[tuple[int, str, Outputs]]:
    """Turn, site and outputs of a mutant in each of the places that are tried and give a graph that runs."""
    for turn in range(TURNS.get(name, 1)):
        applied = onnx_mutations.MUTANTS[name](graph, turn)
        if applied is None:
            return
        site, undo = applied
        try:
            results = _run(graph, given, batched)
        except Exception as error:  # the tool's own: what the mistake changed does not fit together, as a size may not
            print(f"{name} at {site} gives no graph that runs: {error}")
            continue
        finally:
            undo()
        yield turn, site, results


def _effect(results: Outputs, original: Outputs) -> float:
    """The largest norm of what changed, in units of the norm of the outputs."""
    import numpy as np

    worst = 0.0
    for name, y in original.items():
        if y.dtype.kind != "f":
            worst = max(worst, float((results[name] != y).any()))
            continue
        norm = float(np.linalg.norm(y.astype("float64")))
        changed = float(np.linalg.norm(results[name].astype("float64") - y.astype("float64")))
        worst = max(worst, changed / norm if norm else changed)
    return worst


def _equal(results: Outputs, original: Outputs) -> bool:
    return all((results[name] == y).all() for name, y in original.items())


def _differs_in_float64(graph: onnx_editing.Graph, name: str, turn: int, given: Outputs, batched: bool) -> bool:
    """Whether a mutant whose float32 outputs are those of the file differs in float64; also where nothing can say."""
    try:
        before = _evaluated(graph, given, batched)
        applied = onnx_mutations.MUTANTS[name](graph, turn)
        if applied is None:
            return False
        _, undo = applied
        try:
            return not _equal(_evaluated(graph, given, batched), before)
        finally:
            undo()
    except (NotImplementedError, RuntimeError, Unsupported):  # the evaluator lacks an operator
        return True


def _evaluated(graph: onnx_editing.Graph, given: Outputs, batched: bool) -> Outputs:
    onnx = graph.onnx
    model = onnx.ModelProto()
    model.CopyFrom(graph.model)
    onnx.load_external_data_for_model(model, graph.folder)
    model = onnx_float64.promoted(onnx, model, narrow=True)
    reference = importlib.import_module("onnx.reference")
    evaluator = reference.ReferenceEvaluator(model, new_ops=onnx_operators.fast_operators(onnx))
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
