"""The file of a described compiler, ``fixtures/compilers/<name>.toml``: its keys, their types, and what they mean.

The effect of the keys, and the placeholders in their texts, are explained in adapters/compilers/command.py.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from msgspec import field

from bench_plugin.domain.precision import PRECISIONS
from bench_plugin.domain.records import Record, about

Texts = tuple[str, ...]
Command = Annotated[tuple[str | Texts, ...], about("arguments", min_length=1)]
Pattern = Annotated[str, about("a regular expression", min_length=1)]
_literal: Any = Literal
PrecisionName: Any = _literal[tuple(PRECISIONS)]


class VersionFile(Record, frozen=True):
    """How the tool says its version."""

    command: Annotated[Command, about("the command that prints it")]
    pattern: Annotated[Pattern, about("a regular expression for it, searched in what the command prints")]


class RunnerFile(Record, frozen=True):
    """How an artefact is run."""

    command: Annotated[Command, about("the command, with placeholders")]
    format: Annotated[Literal["npy", "raw"], about("of arrays; raw: little-endian elements in C order")] = "npy"
    samples: Annotated[Literal["each", "all"], about("each: one start per input; all: files of [N, ...]")] = "each"


class ErrorFile(Record, frozen=True):
    """What a line of the tool's output means."""

    pattern: Annotated[Pattern, about("a regular expression, searched in what the tool prints")]
    symptom: Annotated[
        Literal["unsupported", "invalid-model", "version-skew", "out-of-memory"], about("what it says of the model")
    ]


class CommandFile(Record, frozen=True):
    """A compiler that is a command line."""

    command: Annotated[Command, about("the tool with its arguments, or a list of such lists that run in turn")]
    artefact: Annotated[str | Texts, about("what the tool makes: a glob, or several; the first is what is run")]
    precisions: Annotated[
        dict[PrecisionName, Texts], about("precision -> the graphs that it can be given: original, qdq, w16, fp16 ...")
    ]
    title: Annotated[str, about("what grids call it (default: the name of the file)")] = ""
    toolchain: Annotated[str, about("whose bin folder goes first on PATH")] = ""
    inputs: Annotated[Texts, about("what it compiles from: onnx, or names of frameworks")] = ("onnx",)
    targets: Annotated[Texts, about("targets that it compiles for")] = ("local",)
    timeout: Annotated[float, about("seconds for each command", gt=0)] = 600
    names: Annotated[dict[str, str], about("its own words for precisions and targets")] = field(default_factory=dict)
    variables: Annotated[dict[str, str], about("environment variables")] = field(default_factory=dict)
    files: Annotated[
        Texts, about("files whose content results depend on, relative to this file; globs and folders may be")
    ] = ()
    environment: Annotated[Texts, about("environment variables whose values results depend on")] = ()
    bind: Annotated[Texts, about("what {binding} stands for, once per symbolic dimension")] = ()
    version: Annotated[VersionFile | None, about("how the tool says its version")] = None
    runner: Annotated[RunnerFile | None, about("how an artefact is run; without it none is")] = None
    obtain: Annotated[str, about("where the tool comes from; said where an executable is absent")] = ""
    errors: Annotated[tuple[ErrorFile, ...], about("what lines of the tool's output mean")] = ()
