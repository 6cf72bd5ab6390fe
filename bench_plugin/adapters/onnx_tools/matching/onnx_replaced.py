"""Numbers that were read back from an artefact, written into its ONNX file in place of the constants they stand for."""

from __future__ import annotations

import importlib
from collections.abc import Collection, Mapping
from typing import Any

from bench_plugin.adapters.onnx_tools.matching.onnx_alike import SINGLE, back, placed
from bench_plugin.adapters.onnx_tools.matching.onnx_candidates import FLOAT, Candidate
from bench_plugin.agent.toolkit import versions

ADAPTER = {
    "name": "onnx_replaced",
    "kind": "tool",
    "toolchain": "onnxruntime",
    "title": "Constants of a file, replaced",
    "distribution": "onnx",
    "operations": [],
    "uses": ["onnx_alike", "onnx_candidates"],
}


class Adapter:
    """Remembers nothing; the adapters that use this file take its functions."""

    def versions(self) -> dict[str, str]:
        """Versions of the distributions that take part."""
        return versions.installed("onnx", "numpy")

    def reset(self) -> None:
        """Nothing to forget."""


def note(replaced: dict[str, Any], known: Mapping[str, Any], name: str, values: Any) -> str:
    """Note what replaces a constant of the file; of equal ones under several names the next one without.

    Returns the name that is replaced; it is empty where a constant has two values now, of which the last one stays.
    """
    numpy = importlib.import_module("numpy")
    free = [name, *_twins(known, name)]
    own = next((one for one in free if one not in replaced), "")
    several = not own and not numpy.array_equal(replaced[name], values)
    replaced[own or name] = values
    return "" if several else own or name


def of_twins(known: Mapping[str, Any], replaced: Mapping[str, Any]) -> dict[str, str]:
    """The other names under which the file has a constant that was read back once: other name -> the replaced one.

    An exporter writes an Identity of a constant for a module that is used twice, and a single number once for each
    node; a tool stores it once.
    """
    return {twin: name for name in replaced for twin in _twins(known, name) if twin not in replaced}


def _twins(known: Mapping[str, Any], name: str) -> list[str]:
    """The other names under which the file has a constant."""
    numpy = importlib.import_module("numpy")
    own = known.get(name)
    if own is None:
        return []
    return [other for other, values in known.items() if other != name and numpy.array_equal(values, own)]


def is_constant(candidate: Candidate, order: tuple[int, ...], shape: tuple[int, ...], known: Mapping[str, Any]) -> bool:
    """Whether what is read back for a candidate gives the constant of the file where nothing was rounded."""
    numpy = importlib.import_module("numpy")
    own = known.get(candidate.name)
    if own is None or candidate.values.shape != own.shape:
        return False
    if candidate.values is own:
        return True
    if candidate.factor is not None and not numpy.all(candidate.factor):
        return False
    found = back(placed(candidate.values, order, shape), candidate, order)
    return bool((abs(found - own) <= SINGLE * abs(own).max(initial=0.0)).all())


def write(onnx: Any, graph: Any, values: Mapping[str, Any], vectors: Collection[str]) -> None:
    """Write values as float32 into the constants of the file that have these names, but for biases.

    Biases are compared and not replaced: they may be sums of several of the file's. A constant of one dimension that is
    no bias is one of ``vectors``.
    """
    for tensor in graph.initializer:
        replaced = tensor.name in values and (len(tensor.dims) > 1 or tensor.name in vectors)
        if replaced and list(tensor.dims) == list(values[tensor.name].shape):
            tensor.CopyFrom(onnx.numpy_helper.from_array(values[tensor.name], tensor.name))
    for node in graph.node:
        name = node.output[0] if node.op_type == "Constant" else ""
        if name in values and (values[name].ndim > 1 or name in vectors):
            node.attribute[0].t.CopyFrom(onnx.numpy_helper.from_array(values[name]))


def write_attributes(graph: Any, values: Mapping[tuple[str, str, float], float]) -> None:
    """Write numbers into the attributes that have them: by operator, name and the number of the file."""
    for node in graph.node:
        for one in node.attribute:
            one.f = values.get((node.op_type, one.name, one.f), one.f) if one.type == FLOAT else one.f
