"""Names of compilers as users write them: ``onnxruntime``, ``onnxruntime[xnnpack]``, ``command[emx]``."""

from __future__ import annotations

from collections.abc import Container
from typing import NamedTuple

ALL = "all"  # --compilers all
DEFAULT = "onnxruntime"


class CompilerName(NamedTuple):
    """The name of the adapter, and that of the backend or ""."""

    compiler: str
    backend: str

    @staticmethod
    def parse(text: str, known: Container[str] = ()) -> CompilerName:
        """Split at the bracket, unless the whole text is a ``known`` compiler, such as a described command."""
        if text in known:
            return CompilerName(text, "")
        compiler, _, backend = text.partition("[")
        return CompilerName(compiler, backend.rstrip("]"))
