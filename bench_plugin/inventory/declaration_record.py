"""The ``ADAPTER`` literal of an adapter: its keys, their types, and what they mean, for each kind of adapter."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Any, Literal

from msgspec import field

from bench_plugin.domain.precision import PRECISIONS
from bench_plugin.domain.records import Record, about

Texts = tuple[str, ...]
Range = Annotated[tuple[int, int], about("[low, high], both included")]
_literal: Any = Literal
PrecisionName: Any = _literal[tuple(PRECISIONS)]


class ConverterRecord(Record, frozen=True):
    """An exporter to ONNX, or an importer from it."""

    opsets: Annotated[Range, about("the versions of the operator set that it takes")]
    opset: Annotated[int | None, about("the version that it is used with (default: the highest)")] = None
    distribution: Annotated[str, about("the Python distribution that it comes from (default: its name)")] = ""


class UnsupportedRecord(Record, frozen=True):
    """An exception that says that a tool does not support something; an empty pattern is any message."""

    exception: Annotated[str, about("the name of the exception's type")]
    pattern: Annotated[str, about("a regular expression, searched in its message")]
    operation: Annotated[str, about("the operation that raises it (default: any)")] = ""

    def __post_init__(self) -> None:
        """Raises ValueError for a pattern that is not a regular expression."""
        try:
            re.compile(self.pattern)
        except re.error as error:
            raise ValueError(f"pattern is not a regular expression: {error}") from error


class AdapterRecord(Record, frozen=True, kw_only=True):
    """What every adapter declares."""

    name: Annotated[str, about("what options and rows call it")]
    kind: Annotated[Literal["framework", "compiler", "runtime", "dataset", "tool"], about("what it adapts")]
    toolchain: Annotated[str, about("the toolchain that it works in")]
    title: Annotated[str, about("what grids call it (default: its name)")] = ""
    distribution: Annotated[str, about("the Python distribution that it stands for (default: its name)")] = ""
    distributions: Annotated[Texts, about("further distributions whose versions rows name")] = ()
    operations: Annotated[Texts, about("the methods of its class that agents may call")] = ()
    uses: Annotated[Texts, about("other adapters that it imports")] = ()
    imports: Annotated[Texts, about("slow modules that its process imports while another process works")] = ()
    unsupported: Annotated[tuple[UnsupportedRecord, ...], about("exceptions that say: not supported")] = ()
    on_request: Annotated[bool, about("run only when it is named")] = False
    precisions: Annotated[
        dict[PrecisionName, Texts] | tuple[PrecisionName, ...], about("precision -> the graphs that it is given")
    ] = ()
    targets: Annotated[Texts, about("targets that it compiles for")] = ("local",)


class FrameworkRecord(AdapterRecord, frozen=True, kw_only=True):
    """An adapter of a framework."""

    exporters: Annotated[dict[str, ConverterRecord], about("exporters to ONNX")] = field(default_factory=dict)
    importers: Annotated[dict[str, ConverterRecord], about("importers from ONNX")] = field(default_factory=dict)
    default_pairs: Annotated[tuple[tuple[str, str], ...], about("[exporter, importer] of small profiles")] = ()


class CompilerRecord(AdapterRecord, frozen=True, kw_only=True):
    """An adapter of a compiler or a runtime."""

    takes: Annotated[Texts, about("what it compiles from: onnx, or names of frameworks")] = ("onnx",)
    operators: Annotated[bool, about("it is one of the operator suite's compilers")] = False
    portable: Annotated[bool, about("its artefacts run on any machine")] = False
    artefact: Annotated[bool, about("it makes a file; without one it compiles and runs in one process")] = True
    artefact_is_model: Annotated[
        bool, about("its artefact is the ONNX file as it was given: operator cases are compiled and run in one process")
    ] = False
    backends: Annotated[Texts, about("its backends, the default first")] = ()
    jit_backends: Annotated[Texts, about("backends that make no file")] = ()
    toolchains: Annotated[dict[str, str], about("framework -> the toolchain that it works in for its models")] = field(
        default_factory=dict
    )
    options: Annotated[dict[str, Texts], about("option -> its values, the default first")] = field(default_factory=dict)
    needs: Annotated[Texts, about("executables that it needs from the system")] = ()
    loose: Annotated[tuple[PrecisionName, ...], about("precisions with fast arithmetic: a wider tolerance")] = ()
    opsets: Annotated[Range | None, about("versions of the operator set that it takes")] = None
    ir: Annotated[Range | None, about("versions of ONNX's file format that it takes")] = None
    values: Annotated[Texts, about("kinds of values that it cannot be given")] = ()
    rounds: Annotated[str, about("how it rounds weights at w16: w16 or w16-all")] = "w16"


class DatasetRecord(AdapterRecord, frozen=True, kw_only=True):
    """An adapter of a dataset."""

    classes: Annotated[int, about("classes of its labels", ge=2)]


RECORDS: Mapping[str, type[AdapterRecord]] = {
    "framework": FrameworkRecord, "compiler": CompilerRecord, "runtime": CompilerRecord, "dataset": DatasetRecord,
    "tool": AdapterRecord,
}  # fmt: skip
