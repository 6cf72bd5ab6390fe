"""Subgraph extraction from a cell's graph: segments side by side, layers, and smaller dimensions."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench_plugin.agent.packs import PLAIN
from bench_plugin.diagnosis.parts import CannotSay, Graph, Node, Origin, Part
from bench_plugin.diagnosis.trial_tools import TrialTools
from bench_plugin.reach.processes.leased_agent import Answer

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, Any]

SUBGRAPHS, GRAPHS = "onnx_subgraphs", "onnx_graphs"


class Extractor:
    """Extracts parts of one file; their files are in ``folder``."""

    def __init__(self, tools: TrialTools, origin: Origin, folder: Path) -> None:
        self._tools = tools
        self._origin = origin
        self._folder = folder

    def graph(self, *, bound: bool) -> Graph:
        """The evaluated file as a graph to extract from; ``bound`` replaces symbolic dimensions by sizes.

        Raises CannotSay where the file cannot be evaluated, or has a tensor of a type that numpy lacks.
        """
        origin = self._origin
        meta = {"binding": dict(origin.binding) if bound else None}
        opened = self._tools.call(SUBGRAPHS, "open", meta, {}, {"model.onnx": origin.path})
        _check_types(opened.meta["types"])
        values = self._tools.evaluated(opened.files["exposed.onnx"], origin.arrays)
        found = dict(zip(opened.meta["exposed"], values.values(), strict=True))
        types = {**{name: _narrow(x.dtype.name) for name, x in found.items()}, **opened.meta["types"]}
        exact = {**{name.partition(":")[2]: x for name, x in origin.arrays.items()}, **found}
        nodes = tuple(
            Node(row["index"], row["operator"], row["name"], tuple(row["reads"]), tuple(row["writes"]))
            for row in opened.meta["nodes"]
        )
        layouts = {row["name"]: row.get("layout", "") for row in origin.described}
        inputs = tuple({**row, "layout": layouts.get(row["name"], "")} for row in opened.meta["inputs"])
        return Graph(
            self._kept(opened.files["bound.onnx"]), nodes, frozenset(opened.meta["fixed"]),
            tuple(opened.meta["outputs"]), inputs, types,
            {name: x.astype(types.get(name, x.dtype.name)) for name, x in exact.items()}, exact,
        )  # fmt: skip

    def part(self, graph: Graph, segments: Sequence[Sequence[int]], *, expose: bool = False) -> Part:
        """Segments (positions in ``graph.nodes``) side by side in one file, with tensors of the reference as inputs.

        ``expose`` makes every tensor that a segment computes an output. Raises CannotSay where extraction fails or the
        segments have no output.
        """
        makers = graph.makers
        position = {place: number for number, segment in enumerate(segments) for place in segment}
        users: dict[str, set[int]] = {}
        for place, node in enumerate(graph.nodes):
            for name in node.reads:
                users.setdefault(name, set()).add(place)
        inputs = {row["name"]: row for row in graph.inputs}
        rows: list[dict[str, Any]] = []
        given_names: dict[str, str] = {}
        fixed_names: dict[str, Any] = {}
        outputs: list[tuple[str, ...]] = []
        for segment in segments:
            members = set(segment)
            own = {name for place in segment for name in graph.nodes[place].writes}
            given: dict[str, str] = {}
            fixed: dict[str, str] = {}
            for place in segment:
                for name in graph.nodes[place].reads:
                    if name in own or (name not in makers and name not in inputs):
                        continue
                    elsewhere = name in makers and makers[name] in position
                    (fixed if name in graph.fixed else given)[name] = f"{name}_given" if elsewhere else name
            made = [
                name
                for place in segment
                for name in graph.nodes[place].writes
                if expose or name in graph.outputs or not users.get(name, set()) <= members or not users.get(name)
            ]
            made = [name for name in made if name in graph.values]
            given_names.update({new: old for old, new in given.items()})
            fixed_names.update({old: graph.values[old][0] for old in fixed})
            numbers = [graph.nodes[place].index for place in segment]
            rows.append({"nodes": numbers, "given": given, "fixed": fixed, "outputs": made})
            outputs.append(tuple(made))
        missing = [name for name in given_names.values() if name not in graph.values]
        if missing:
            raise CannotSay(f"{missing[0]} is no tensor, so no subgraph can begin there")
        named = {name for made in outputs for name in made} | set(given_names.values())
        types = {name: [graph.types[name], list(graph.values[name].shape[1:])] for name in named}
        sent = {f"fix:{name}": value for name, value in fixed_names.items()}
        answer = self._tools.call(
            SUBGRAPHS, "extract", {"segments": rows, "types": types}, sent, {"bound.onnx": graph.path}
        )
        arrays = {f"in:{new}": graph.values[old] for new, old in given_names.items()}
        places, start = [], 0
        for names in outputs:
            places.append(tuple(range(start, start + len(names))))
            start += len(names)
        layouts = {row["name"]: row["layout"] for row in graph.inputs}
        return self._part_of(answer, arrays, layouts, tuple(places))

    def layers(self) -> tuple[Part, Part, dict[str, Array]]:
        """A QDQ graph split into layers, the same with the integers of every layer exposed, and the expected integers.

        The integers are [N, ...] over N samples, by name. Raises CannotSay where the graph cannot be split.
        """
        origin = self._origin
        answer = self._tools.call(GRAPHS, "layers", {"binding": dict(origin.binding)}, {}, {"model.onnx": origin.path})
        names = list(answer.meta["layers"])
        if not names:
            raise CannotSay("the graph has no quantised layer")
        tapped = answer.files["exposed.onnx"]
        values = list(self._tools.evaluated(tapped, origin.arrays).values())
        truth = dict(zip(names, values, strict=False))
        known = {f"in:{name}_given": x for name, x in truth.items()} | dict(origin.arrays)
        rows = tuple({**row, "layout": ""} for row in answer.meta["inputs"])
        arrays = {f"in:{row['name']}": known[f"in:{row['name']}"] for row in rows}
        outputs = tuple(answer.meta["outputs"])
        cut = Part(answer.files["layers.onnx"], answer.files["layers.onnx"], rows, outputs, arrays, {})
        bound = tuple(
            {**row, "shape": [origin.binding.get(dim, dim) for dim in row["shape"]]} for row in origin.described
        )
        whole = (*outputs, *(row for row in origin.outputs if row["name"] not in truth))
        return cut, Part(tapped, tapped, bound, whole, origin.arrays, {}), truth

    def smaller(self, part: Part, size: int, to: int) -> Part | None:
        """The part with every dimension of ``size`` reduced to ``to``; None where that is not a valid model."""
        meta = {"size": size, "to": to}
        layouts = {row["name"]: row.get("layout", "") for row in part.inputs}
        try:
            answer = self._tools.call(SUBGRAPHS, "shrink", meta, part.arrays, {"part.onnx": part.path})
        except CannotSay:
            return None
        return self._part_of(answer, dict(answer.arrays), layouts, part.segments)

    def discard(self, part: Part) -> None:
        """Remove the files of a part."""
        for path in {part.path, part.exact}:
            path.unlink(missing_ok=True)

    def _part_of(
        self, answer: Answer, arrays: Mapping[str, Any], layouts: Mapping[str, str], segments: Any
    ) -> Part:  # fmt: skip
        path = answer.files["part.onnx"]
        rows = [{**row, "layout": layouts.get(row["name"], "")} for row in answer.meta["inputs"]]
        own = {row["name"] for row in rows}
        kept = {name: values for name, values in arrays.items() if name.partition(":")[2] in own}
        return Part(
            path, answer.files.get("exact.onnx", path), tuple(rows), tuple(answer.meta["outputs"]), kept, answer.meta,
            segments,
        )  # fmt: skip

    def _kept(self, path: Path) -> Path:
        target = self._folder / f"{os.urandom(4).hex()}{path.suffix}"
        shutil.move(path, target)
        return target


def _check_types(types: Mapping[str, str]) -> None:
    """Raises CannotSay for a tensor of a type that numpy lacks, whose values no part could be given or judged by."""
    lacking = next(((name, dtype) for name, dtype in types.items() if dtype not in PLAIN), None)
    if lacking is not None:
        raise CannotSay(
            "tensor {} is of type {}, which numpy lacks: such a graph cannot be taken apart".format(*lacking)
        )


def _narrow(dtype: str) -> str:
    return "float32" if dtype == "float64" else dtype
