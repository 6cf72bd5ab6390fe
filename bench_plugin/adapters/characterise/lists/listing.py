"""The frame of the adapters beside this file, each of which lists the operators that a tool says are its own."""

from __future__ import annotations

import json
from collections.abc import Sequence

from bench_plugin.adapters.characterise.compliance_calls import ListCall
from bench_plugin.agent.adapter import Reply
from bench_plugin.agent.toolkit import versions

ADAPTER = {
    "name": "listing",
    "kind": "tool",
    "toolchain": "onnxruntime",
    "title": "Lists of operators",
    "distribution": "onnx",
    "operations": [],
    "uses": ["compliance_calls"],
}


class Adapter:
    """Remembers nothing; the adapters that use this file take its class."""

    def versions(self) -> dict[str, str]:
        """Versions of the distributions that take part."""
        return versions.installed("onnx")

    def reset(self) -> None:
        """Nothing to forget."""


class Lister:
    """What these adapters have in common; it remembers nothing.

    ``source`` says what the operators are read from, with a place for the version of the ``distribution``.
    """

    def __init__(self, distribution: str, source: str) -> None:
        self._distribution = distribution
        self._source = source

    def versions(self) -> dict[str, str]:
        """Versions of the distributions that take part."""
        return versions.installed(self._distribution)

    def reset(self) -> None:
        """Nothing to forget."""

    def listed(self, call: ListCall, operators: Sequence[str]) -> Reply:
        """``operators.json``: the names of the operators, with the domain before those of other domains than ONNX's."""
        path = call.path("operators.json")
        with open(path, "w", encoding="utf-8") as file:
            json.dump(operators, file)
        return Reply({"source": self._source % self.versions()[self._distribution]}, files={"operators.json": path})
