"""The ``ADAPTER`` literal of an adapter: its keys, their types, and what they mean, for each kind of adapter."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Annotated, Any, Literal

from msgspec import field

from bench_plugin.domain.precision import PRECISIONS
from bench_plugin.domain.records import NOT_BLANK, Record, about
from bench_plugin.domain.texts.choices import hint

Texts = tuple[str, ...]
Version = Annotated[int, about("a version", ge=1, le=2**31)]
Range = Annotated[tuple[Version, Version], about("[low, high], both included")]
End = Annotated[int, about("a version, 0 for none", ge=0, le=2**31)]
OpenRange = Annotated[tuple[Version, End], about("[low, high], both included; 0 where its tool states no highest")]
Values = Annotated[Texts, about("values, the default first", min_length=1)]
NAME = r"^[^\s,\[\]]+$"  # options list names with commas, brackets hold a backend
OF_KIND: Mapping[str, Texts] = {  # the operations that every adapter of a kind has
    "framework": ("reference",), "compiler": ("compile", "run"), "runtime": ("compile", "run"), "dataset": ("fetch",),
}  # fmt: skip
_literal: Any = Literal
PrecisionName: Any = _literal[tuple(PRECISIONS)]
GraphName = Literal["original", "qdq", "weights", "fixed", "fixed-qdq", "kmeans", "dynamic", "w16", "w16-all", "fp16"]


def _check_pattern(pattern: str) -> None:
    """Raises ValueError for a pattern that is not a regular expression."""
    try:
        re.compile(pattern)
    except re.error as error:
        raise ValueError(f"pattern is not a regular expression: {error}") from error


class ConverterRecord(Record, frozen=True):
    """An exporter to ONNX, or an importer from it."""

    opsets: Annotated[Range, about("the versions of the operator set that it takes")]
    opset: Annotated[int | None, about("the version that it is used with (default: the highest)")] = None
    distribution: Annotated[str, about("the Python distribution that it comes from (default: its name)")] = ""

    def __post_init__(self) -> None:
        """Raises ValueError for a range whose ends are swapped, and for a version outside of it."""
        low, high = _ascending("opsets", self.opsets)
        if self.opset is not None and not low <= self.opset <= high:
            raise ValueError(f"opset: {self.opset} is not one of its opsets, {low} to {high}")


class UnsupportedRecord(Record, frozen=True):
    """An exception that says that a tool does not support something; an empty pattern is any message."""

    exception: Annotated[str, about("the name of the exception's type")]
    pattern: Annotated[str, about("a regular expression, searched in its message")]
    operation: Annotated[str, about("the operation that raises it (default: any)")] = ""

    def __post_init__(self) -> None:
        """Raises ValueError for a pattern that is not a regular expression."""
        _check_pattern(self.pattern)


class ErrorRecord(Record, frozen=True):
    """Exceptions that are the tool's own: they depend on the call alone, so the cache may store them at once.

    All conditions that are given must hold. A failure that speaks of the environment is never the tool's own.
    """

    package: Annotated[str, about("the tool's Python package: it defines the type, or it raised below the adapter")] = (
        ""
    )
    exception: Annotated[str, about("the name of the exception's type")] = ""
    pattern: Annotated[str, about("a regular expression, searched in its message (default: any)")] = ""
    operation: Annotated[str, about("the operation that raises it (default: any)")] = ""

    def __post_init__(self) -> None:
        """Raises ValueError for a row without a package or an exception, or with a pattern that is not valid."""
        if not self.package and not self.exception:
            raise ValueError("a row of errors needs a package or an exception")
        _check_pattern(self.pattern)


class AdapterRecord(Record, frozen=True, kw_only=True):
    """What every adapter declares."""

    name: Annotated[str, about("what options and rows call it", pattern=NAME)]
    kind: Annotated[Literal["framework", "compiler", "runtime", "dataset", "tool"], about("what it adapts")]
    toolchain: Annotated[str, about("the toolchain that it works in", pattern=NOT_BLANK)]
    title: Annotated[str, about("what grids call it (default: its name)")] = ""
    distribution: Annotated[str, about("the Python distribution that it stands for (default: its name)")] = ""
    distributions: Annotated[Texts, about("further distributions whose versions rows name")] = ()
    operations: Annotated[Texts, about("the methods of its class that agents may call")] = ()
    uses: Annotated[Texts, about("other adapters that it imports")] = ()
    imports: Annotated[Texts, about("slow modules that its process imports while another process works")] = ()
    files: Annotated[
        Texts, about("files whose content results depend on, relative to the adapter's file; globs and folders may be")
    ] = ()
    environment: Annotated[Texts, about("environment variables whose values results depend on")] = ()
    unsupported: Annotated[tuple[UnsupportedRecord, ...], about("exceptions that say: not supported")] = ()
    errors: Annotated[tuple[ErrorRecord, ...], about("exceptions that are the tool's own")] = ()
    on_request: Annotated[bool, about("run only when it is named")] = False
    precisions: Annotated[
        dict[PrecisionName, tuple[GraphName, ...]] | tuple[PrecisionName, ...],
        about("precision -> the graphs that it is given"),
    ] = ()
    targets: Annotated[Texts, about("targets that it compiles for")] = ("local",)

    def __post_init__(self) -> None:
        """Raises ValueError for keys that do not go together."""
        if self.kind in OF_KIND:
            _has_operations(self.kind, self.operations, OF_KIND[self.kind])


class FrameworkRecord(AdapterRecord, frozen=True, kw_only=True):
    """An adapter of a framework."""

    exporters: Annotated[dict[str, ConverterRecord], about("exporters to ONNX")] = field(default_factory=dict)
    importers: Annotated[dict[str, ConverterRecord], about("importers from ONNX")] = field(default_factory=dict)
    default_pairs: Annotated[tuple[tuple[str, str], ...], about("[exporter, importer] of small profiles")] = ()

    def __post_init__(self) -> None:
        """Raises ValueError for keys that do not go together."""
        super().__post_init__()
        _has_operations("framework with exporters", self.operations, ("export",) if self.exporters else ())
        _has_operations(
            "framework with importers", self.operations, ("import_model", "run_imported") if self.importers else ()
        )
        _all_in("default_pairs", [pair[0] for pair in self.default_pairs], self.exporters, "an exporter of it")
        _all_in("default_pairs", [pair[1] for pair in self.default_pairs], self.importers, "an importer of it")


class CompilerRecord(AdapterRecord, frozen=True, kw_only=True):
    """An adapter of a compiler or a runtime."""

    boards: Annotated[Texts, about("targets whose boards its toolchain has runtimes for")] = ()
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
    options: Annotated[dict[str, Values], about("option -> its values, the default first")] = field(
        default_factory=dict
    )
    needs: Annotated[Texts, about("executables that it needs from the system; results depend on them")] = ()
    own_cross_compiler: Annotated[
        bool, about("its toolchain has a C compiler for other targets, so that `needs` are for this machine only")
    ] = False
    loose: Annotated[tuple[PrecisionName, ...], about("precisions with fast arithmetic: a wider tolerance")] = ()
    exact: Annotated[
        dict[str, str], about("options by which it does without fast arithmetic, tried where that is a mismatch")
    ] = field(default_factory=dict)
    exact_for: Annotated[Texts, about("ONNX's operators that those options change (default: all)")] = ()
    one_sample: Annotated[
        str,
        about("why its models take one sample per call; empty where they take any batch that they are compiled for"),
    ] = ""
    concurrent: Annotated[
        bool,
        about(
            "its runtime answers calls of several threads at the same time, each with inputs that `bind` bound apart"
        ),
    ] = False
    opsets: Annotated[OpenRange | None, about("versions of the operator set that it takes")] = None
    ir: Annotated[OpenRange | None, about("versions of ONNX's file format that it takes")] = None
    values: Annotated[Texts, about("kinds of values that it cannot be given")] = ()
    rounds: Annotated[
        Literal["w16", "w16-all", "w16-cut", "w16-flush"],
        about("how it rounds weights at w16: w16, w16-all, w16-cut or w16-flush"),
    ] = "w16"

    def __post_init__(self) -> None:
        """Raises ValueError for keys that do not go together."""
        super().__post_init__()
        _all_in("boards", self.boards, self.targets, "one of its targets")
        _all_in("jit_backends", self.jit_backends, self.backends, "one of its backends")
        _all_in("loose", self.loose, self.precisions, "one of its precisions")
        _all_in("exact", self.exact, self.options, "one of its options")
        for name, value in self.exact.items():
            _all_in(f"exact.{name}", [value], self.options[name], "one of the option's values")
        for key, found in (("opsets", self.opsets), ("ir", self.ir)):
            if found is not None and found[1] != 0:
                _ascending(key, found)


class DatasetRecord(AdapterRecord, frozen=True, kw_only=True):
    """An adapter of a dataset."""

    classes: Annotated[int, about("classes of its labels", ge=2, le=2**31)]
    names: Annotated[Texts, about("what its classes are called, in their order (default: their numbers)")] = ()

    def __post_init__(self) -> None:
        """Raises ValueError for names that are not as many as classes."""
        super().__post_init__()
        if self.names and len(self.names) != self.classes:
            raise ValueError(f"names: {len(self.names)} names of {self.classes} classes")


RECORDS: Mapping[str, type[AdapterRecord]] = {
    "framework": FrameworkRecord, "compiler": CompilerRecord, "runtime": CompilerRecord, "dataset": DatasetRecord,
    "tool": AdapterRecord,
}  # fmt: skip


def _all_in(key: str, values: Iterable[str], valid: Iterable[str], what: str) -> None:
    known = list(valid)
    for value in values:
        if value not in known:
            raise ValueError(f"{key}: {value!r} is not {what}; {hint(value, known)}")


def _has_operations(kind: str, operations: Texts, needed: Texts) -> None:
    for name in needed:
        if name not in operations:
            raise ValueError(f"operations: {name!r} is missing, which every {kind} has")


def _ascending(key: str, found: tuple[int, int]) -> tuple[int, int]:
    if found[0] > found[1]:
        raise ValueError(f"{key}: [{found[0]}, {found[1]}] is not [low, high]")
    return found
