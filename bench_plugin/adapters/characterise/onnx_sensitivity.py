"""What quantising single layers of an ONNX file does to its outputs, emulated in onnxruntime with the rest in float."""

from __future__ import annotations

import dataclasses
import hashlib
import importlib
import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bench_plugin.adapters.characterise import sensitivity_graphs, sensitivity_layers
from bench_plugin.agent import external
from bench_plugin.agent.adapter import Reply, Unsupported
from bench_plugin.agent.contract import CALIBRATION, Call
from bench_plugin.agent.toolkit import samples, versions

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, Any]

ROWS = 32  # of a batch that are computed together
# Steps around the middle of two integers within which float32 does not say to which of them an activation is rounded,
# and how far a result moves then at least, in steps of its own.
INPUT_TIE, MOVED = 1e-4, 1e-3


@dataclass(frozen=True, eq=False, repr=False)
class ProfileCall(Call):
    """The layers of ``model.onnx``, the ranges of their tensors over the calibration inputs, and its outputs.

    batched: samples are rows of a batch.
    threads: of onnxruntime.
    """

    operation = "profile"

    batched: bool
    threads: int = 1

    @property
    def calibration(self) -> dict[str, Any]:
        """The calibration inputs by name, [N, ...] over N samples."""
        return dict(self._given(CALIBRATION))


@dataclass(frozen=True, eq=False, repr=False)
class MeasureCall(Call):
    """How far the outputs move where parts of layers are rounded.

    batched: samples are rows of a batch.
    ranges: the smallest and the largest value of each tensor, from the reply to ``profile``.
    assignments: for each of them bits by part; a part is ``<number of the layer>:weights`` or ``:activations``.
    answers: the largest element of the first output is the answer to a sample, which is wanted.
    threads: of onnxruntime.
    """

    operation = "measure"

    batched: bool
    ranges: Mapping[str, tuple[float, ...]]
    assignments: tuple[Mapping[str, int], ...]
    answers: bool = False
    threads: int = 1


@dataclass(frozen=True, eq=False, repr=False)
class QuantiseCall(Call):
    """``model.onnx`` with layers quantised to 8 bits, for compilers, and what it computes where it is only simulated.

    batched: samples are rows of a batch.
    ranges: the smallest and the largest value of each tensor, from the reply to ``profile``.
    layers: the numbers of the layers.
    samples: how many samples are simulated.
    threads: of onnxruntime.
    """

    operation = "quantise"

    batched: bool
    ranges: Mapping[str, tuple[float, ...]]
    layers: tuple[int, ...]
    samples: int
    threads: int = 1


ADAPTER = {
    "name": "onnx_sensitivity",
    "kind": "tool",
    "toolchain": "onnxruntime",
    "title": "Layers quantised one by one",
    "distribution": "onnxruntime",
    "operations": ["profile", "measure", "quantise"],
    "uses": ["sensitivity_graphs", "sensitivity_layers"],
    "errors": [{"package": "onnx"}, {"package": "onnxruntime"}],
}
CALLS = {"profile": ProfileCall, "measure": MeasureCall, "quantise": QuantiseCall}


@dataclass
class _Opened:
    """A file with inputs: its graph, how many rows of a batch are computed at once, and its outputs [N, ...]."""

    graph: sensitivity_graphs.Graph
    rows: int
    outputs: list[Any] = dataclasses.field(default_factory=list)


class Adapter:
    """Keeps the file that was opened last, with its outputs."""

    def __init__(self) -> None:
        self._key: Any = None
        self._opened: Any = None

    def versions(self) -> dict[str, str]:
        """Versions of the distributions that take part."""
        return versions.installed("onnxruntime", "onnx", "numpy")

    def reset(self) -> None:
        """Forget the file."""
        self._key = self._opened = None

    def profile(self, call: ProfileCall) -> Reply:
        """Layers with the sizes of their weights and activations, ranges, and ``out0`` ... [N, ...] of the file.

        Raises Unsupported for a file without a layer that could be quantised.
        """
        opened = self._open(call, call.batched, call.threads)
        graph = opened.graph
        if not graph.layers:
            operators = ", ".join((*sensitivity_layers.PRODUCTS, *sensitivity_layers.RECURRENT))
            raise Unsupported("no layer can be quantised: there is none of %s in float32" % operators)
        ranges, sizes = _calibrated(graph, call, opened.rows)
        rows = [_described(graph, one, sizes) for one in graph.layers]
        meta: dict[str, object] = {"layers": rows, "untouched": graph.untouched(), "ranges": ranges}
        return Reply(meta, samples.blobs({"out%d" % index: x for index, x in enumerate(opened.outputs)}))

    def measure(self, call: MeasureCall) -> Reply:
        """``noise`` float64 [assignments, outputs], the Euclidean norm of what each output moves, and with
        ``answers`` also int64 [assignments, N].
        """
        import numpy as np

        opened = self._open(call, call.batched, call.threads)
        noise, answers = [], []
        for one in call.assignments:
            model = sensitivity_graphs.rounded(opened.graph, _parts(one), call.ranges)
            found = _run(_session(model, call.threads), call.inputs, call.batched, opened.rows)
            noise.append([_distance(y, t) for y, t in zip(found, opened.outputs)])
            if call.answers:
                answers.append(_answers(found[0]))
        arrays = {"noise": np.array(noise, dtype=np.float64)}
        if call.answers:
            arrays["answers"] = np.stack(answers)
        return Reply({"assignments": len(noise)}, samples.blobs(arrays))

    def quantise(self, call: QuantiseCall) -> Reply:
        """``model.onnx``, whose further outputs are the integers of the layers' results, in their order.

        Simulated in float32 without any optimisation are its own outputs ``out0`` ... [n, ...], and ``steps<k>``
        [n, ...], the results of the k-th layer in steps before they are rounded and clamped. ``tied0`` bool [n, ...] of
        a layer alone says which of these hang on an activation in the middle between two integers.
        """
        import numpy as np

        opened = self._open(call, call.batched, call.threads)
        model, rows = sensitivity_graphs.quantised(opened.graph, call.layers, call.ranges)
        own = len(opened.graph.model.graph.output)
        path = call.path("model.onnx")
        onnx = opened.graph.onnx
        onnx.save(model, path)
        model.graph.output.extend(
            onnx.helper.make_tensor_value_info(row["real"], sensitivity_layers.FLOAT, None) for row in rows
        )
        few = {name: x[: call.samples] for name, x in call.inputs.items()}

        def simulated(graph: Any) -> list[Any]:
            return _run(_session(graph, call.threads, optimised=False), few, call.batched, opened.rows)

        found = simulated(model)
        arrays = {"out%d" % index: x for index, x in enumerate(found[:own])}
        for number, (row, real) in enumerate(zip(rows, found[own + len(rows) :])):
            arrays["steps%d" % number] = (real / np.float32(row["scale"]) + row["zero"]).astype(np.float32)
        if len(rows) == 1:
            integers = [row["integers"] for row in rows]
            low, high = (
                simulated(sensitivity_graphs.nudged(opened.graph, model, integers, steps))[-1]
                for steps in (-INPUT_TIE, INPUT_TIE)
            )
            arrays["tied0"] = np.abs(high - low) > MOVED * rows[0]["scale"]
        described: list[dict[str, object]] = [
            {"name": row["integers"], "dtype": "uint8", "shape": list(x.shape[1:] if not call.batched else x.shape)}
            for row, x in zip(rows, found[own : own + len(rows)])
        ]
        return Reply({"results": rows, "outputs": described}, samples.blobs(arrays), {"model.onnx": path})

    def _open(self, call: Call, batched: bool, threads: int) -> _Opened:
        """The call's file, and its outputs for the call's inputs, which are computed once."""
        call.stage("reference")
        path = call.files["model.onnx"]
        state = hashlib.sha256()
        for values in call.inputs.values():
            state.update(values.tobytes())
        key = (path, os.stat(path).st_mtime_ns, batched, threads, state.hexdigest())
        if key != self._key:
            self.reset()
            onnx = importlib.import_module("onnx")
            graph = sensitivity_graphs.Graph(onnx, onnx.load(external.placed(call.files, call.folder)))
            session = _session(graph.model, threads)
            rows = _rows_at_once(session, call.inputs) if batched else 1
            self._opened = _Opened(graph, rows, _run(session, call.inputs, batched, rows))
            self._key = key
        opened: _Opened = self._opened
        return opened


def _session(model: Any, threads: int, *, optimised: bool = True) -> Any:
    runtime = importlib.import_module("onnxruntime")
    chosen = runtime.SessionOptions()
    chosen.log_severity_level = 3
    chosen.intra_op_num_threads = threads
    chosen.inter_op_num_threads = 1
    chosen.add_session_config_entry("session.intra_op.allow_spinning", "0")
    if not optimised:
        chosen.graph_optimization_level = runtime.GraphOptimizationLevel.ORT_DISABLE_ALL
    return runtime.InferenceSession(model.SerializeToString(), chosen, providers=["CPUExecutionProvider"])


def _run(session: Any, inputs: Mapping[str, Any], batched: bool, rows: int) -> list[Any]:
    """Every output [N, ...] over the N samples of the inputs [N, ...], ``rows`` of a batch at once."""
    import numpy as np

    count = len(next(iter(inputs.values()))) if inputs else 0
    found = []
    for start in range(0, count, rows):
        feeds = {name: x[start : start + rows] if batched else x[start] for name, x in inputs.items()}
        found.append(session.run(None, feeds))
    return [np.concatenate(values) if batched else np.stack(values) for values in zip(*found)]


def _rows_at_once(session: Any, inputs: Mapping[str, Any]) -> int:
    """How many rows of a batch are computed at once: one by one where two of them together give something else."""
    import numpy as np

    first = {name: x[:2] for name, x in inputs.items()}
    apart = _run(session, first, True, 1)
    try:
        together = session.run(None, first)
    except Exception as error:
        if type(error).__module__.split(".")[0] != "onnxruntime":
            raise
        return 1  # the file has the batch of 1 in it, whatever its input says
    same = all(a.shape == b.shape and np.allclose(a, b, rtol=1e-3, atol=1e-5) for a, b in zip(apart, together))
    return ROWS if same else 1


def _calibrated(
    graph: sensitivity_graphs.Graph, call: ProfileCall, rows: int
) -> tuple[dict[str, list[float]], dict[str, int]]:
    """The smallest and largest value of each tensor over the calibration inputs, and its elements per sample."""
    given = call.calibration or call.inputs
    names = graph.tensors()
    inputs = [name for name in names if name in given]
    made = [name for name in names if name not in given]
    session = _session(graph.exposing(made), call.threads)
    places = {row.name: place for place, row in enumerate(session.get_outputs())}
    ranges = {name: [float(given[name].min()), float(given[name].max())] for name in inputs}
    sizes = {name: given[name][0].size for name in inputs}
    count = len(next(iter(given.values())))
    step = rows if call.batched else 1
    for start in range(0, count, step):  # without keeping all tensors of all samples
        feeds = {name: x[start : start + step] if call.batched else x[start] for name, x in given.items()}
        found = session.run(None, feeds)
        for name in made:
            values = found[places[name]]
            low, high = ranges.get(name, [float("inf"), float("-inf")])
            ranges[name] = [min(low, float(values.min())), max(high, float(values.max()))]
            sizes[name] = values.size // len(next(iter(feeds.values()))) if call.batched else values.size
    return ranges, sizes


def _described(
    graph: sensitivity_graphs.Graph, layer: sensitivity_layers.Layer, sizes: Mapping[str, int]
) -> dict[str, object]:
    """What the host is told of a layer: elements of its weights and of its activations for one sample."""
    node = graph.model.graph.node[layer.place]
    weights = sum(graph.weights[node.input[place]].size for place, _ in layer.weights)
    activations = sum(sizes[node.input[place]] for place in layer.given)
    return {
        "name": layer.name, "named": layer.named, "operator": layer.operator, "weights": int(weights),
        "activations": int(activations), "results": int(sizes[layer.result]),
    }  # fmt: skip


def _parts(assignment: Mapping[str, int]) -> dict[tuple[int, str], int]:
    """The parts of an assignment as (number of the layer, kind)."""
    found = {}
    for name, bits in assignment.items():
        number, _, kind = name.partition(":")
        found[int(number), kind] = bits
    return found


def _distance(found: Any, expected: Any) -> float:
    """The Euclidean norm of the difference of two arrays [N, ...]; infinite where it is not finite or shapes differ."""
    import numpy as np

    if found.shape != expected.shape:
        return float("inf")
    norm = float(np.linalg.norm((found.astype(np.float64) - expected.astype(np.float64)).reshape(-1)))
    return norm if np.isfinite(norm) else float("inf")


def _answers(scores: Any) -> Array:
    """The class with the highest score of each of N samples, int64 [N]."""
    import numpy as np

    return np.asarray(scores.reshape(len(scores), -1).argmax(axis=1), dtype=np.int64)
