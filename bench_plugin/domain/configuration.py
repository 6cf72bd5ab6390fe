"""The configuration file: ``bench.toml``, or the table ``[tool.bench_plugin]`` of pyproject.toml.

Its rows select cells by their axes, each axis with one value or a list, as the rows of other files do.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec

from bench_plugin.domain.axes import AXES, Axis, Check
from bench_plugin.domain.errors import UsageError
from bench_plugin.domain.precision import ALIASES, PRECISIONS
from bench_plugin.domain.records import NOT_BLANK, Place, Record, about, convert, load, wrong
from bench_plugin.domain.settings import MOST_SEED, Calibration, Profile
from bench_plugin.domain.thresholds import LEAST_SLOWDOWN, MOST_SLOWDOWN

OWN, PROJECT = "bench.toml", "pyproject.toml"
TABLE = ("tool", "bench_plugin")
MISSPELT = ("bench-plugin", "bench")  # other spellings of the table's name
_literal: Any = Literal  # values that are only known when the program runs
FIXED: Mapping[str, Any] = {  # axes with values that are known without reading any file
    "check": Check,
    "precision": _literal[(*PRECISIONS, *ALIASES)],
}


def selector_fields() -> list[tuple[str, Any, Any]]:
    """One optional field per axis, for ``msgspec.defstruct``: None where a row does not name the axis."""
    return [(axis.name, Annotated[_one_or_more(axis) | None, about(axis.help)], None) for axis in AXES]


def selector_of(row: Any) -> dict[str, tuple[str, ...]]:
    """The axes that a row names, each with its values as text, in the order of the table of axes."""
    named = {axis.name: getattr(row, axis.name) for axis in AXES}
    return {name: _texts(name, value) for name, value in named.items() if value is not None}


def _one_or_more(axis: Axis) -> Any:
    one: Any = FIXED.get(axis.name, str | int if axis.kind is int else str)
    many: Any = tuple.__class_getitem__((one, ...))
    return one | many


def _texts(name: str, value: Any) -> tuple[str, ...]:
    many = value if isinstance(value, tuple) else (value,)
    texts = (str(one) for one in many)
    return tuple(ALIASES.get(text, text) if name == "precision" else text for text in texts)


REASON = ("reason", Annotated[str, about("why, in a sentence; it stands in the results", pattern=NOT_BLANK)])
RuleRow: Any = msgspec.defstruct("RuleRow", [REASON, *selector_fields()], bases=(Record,), frozen=True)
RuleRow.__doc__ = "An include or exclude row: which cells, by their axes, and why."
SLOWDOWN = about(
    "from which share more of its time a cell is slower (default 0.03)", ge=LEAST_SLOWDOWN, le=MOST_SLOWDOWN
)
GROWTH = about("how much its instructions, flash and RAM may grow, as a share (default 0)", ge=0, le=MOST_SLOWDOWN)
ThresholdRow: Any = msgspec.defstruct(
    "ThresholdRow",
    [
        ("max_slowdown", Annotated[float, SLOWDOWN] | None, None),
        ("max_growth", Annotated[float, GROWTH] | None, None),
        *selector_fields(),
    ],
    bases=(Record,), frozen=True,
)  # fmt: skip
ThresholdRow.__doc__ = "From which change on cells are called slower or larger than in another run; the last row wins."
Paths = tuple[str, ...]


class ConfigurationFile(Record, frozen=True, kw_only=True):
    """Every key of the configuration. Relative paths are relative to the folder of the file."""

    profile: Annotated[Profile, about("what runs when nothing is selected on the command line")] = "quick"
    jobs: Annotated[int, about("cells computed side by side", ge=1)] = 2
    threads: Annotated[int, about("threads per runtime; 0: all cores", ge=0)] = 0
    seed: Annotated[int, about("seed of weights and inputs", ge=0, le=MOST_SEED)] = 0
    calibration: Annotated[Calibration, about("how the ranges of activations are found for integers")] = "minmax"
    results: Annotated[str, about("the file that rows are written to")] = "reports/results.jsonl"
    cache: Annotated[str | None, about("folder of finished stages (default: in the user's cache folder)")] = None
    models: Annotated[Paths, about("folders of models of your own, each a <name>.toml")] = ()
    onnx: Annotated[Paths, about("ONNX files of your own, each a model by the name of its file, without .onnx")] = ()
    adapters: Annotated[Paths, about("adapters of your own: Python files, or folders of them")] = ()
    toolchains: Annotated[Paths, about("folders of toolchains of your own, each a <name>.toml and <name>.lock")] = ()
    expectations: Annotated[Paths, about("folders of known failures, each file a list of [[expectation]] rows")] = ()
    environment: Annotated[
        Paths, about("environment variables that agents get beside the usual ones; * stands for any characters")
    ] = ()
    licence: Annotated[str, about("licence of the rows that runs write, an SPDX identifier such as CC-BY-4.0")] = ""
    contributor: Annotated[str, about("who makes these rows: a person or an organisation")] = ""
    include: Annotated[
        tuple[RuleRow, ...], about("cells that are run beside those of the profile; a narrower command line wins")
    ] = ()
    thresholds: Annotated[
        tuple[ThresholdRow, ...], about("from which change on cells count as slower or larger (docs/comparison.md)")
    ] = ()
    exclude: Annotated[tuple[RuleRow, ...], about("cells that are not run; each leaves a row with the reason")] = ()


KEYS = tuple(one.encode_name for one in msgspec.structs.fields(ConfigurationFile))


def read_configuration(root: Path) -> tuple[Path, ConfigurationFile]:
    """The file of a project's configuration, and the configuration; defaults where there is no file.

    Raises UsageError for a file that is not TOML, for an unknown or misplaced key, for a value that is not valid, and
    for a folder with two configurations.
    """
    own, project = root / OWN, root / PROJECT
    table = _table_of(project) if project.is_file() else None
    if own.is_file():
        if table is not None:
            raise UsageError(f"{own}: there is a table [tool.bench_plugin] in {project} too; keep one of them")
        return own, _own(own)
    if table is None:
        return own, ConfigurationFile()
    text, found = table
    return project, convert(found, ConfigurationFile, path=project, text=text, below=TABLE)


def _own(path: Path) -> ConfigurationFile:
    text, data = load(path)
    if TABLE[0] in data or TABLE[1] in data:
        name = ".".join(TABLE) if TABLE[0] in data else TABLE[1]
        place: Place = TABLE if TABLE[0] in data else TABLE[1:]
        message = f"a {OWN} is this table: write its keys at the top level, without [{name}] (and [[exclude]])"
        raise wrong(path, text, place, message)
    return convert(data, ConfigurationFile, path=path, text=text)


def _table_of(path: Path) -> tuple[str, Any] | None:
    """The text and our table of a pyproject.toml, None without one. Raises UsageError for one of our keys elsewhere."""
    text, data = load(path)
    for key in (*KEYS, TABLE[1]):
        if key in data:
            raise wrong(path, text, (key,), f"nobody reads this here; write {_right(key, data[key])}")
    tools: Mapping[str, Any] = data.get(TABLE[0], {})
    for name in MISSPELT:
        if isinstance(tools.get(name), Mapping) and set(tools[name]) & set(KEYS):
            raise wrong(path, text, (TABLE[0], name), "the name of the table is [tool.bench_plugin]")
    return (text, tools[TABLE[1]]) if TABLE[1] in tools else None


def _right(key: str, value: Any) -> str:
    """The place where a misplaced key belongs."""
    if key == TABLE[1]:
        return "[tool.bench_plugin]"
    rows = isinstance(value, list) and value and isinstance(value[0], Mapping)
    return f"[[tool.bench_plugin.{key}]]" if rows else f"{key} = ... below [tool.bench_plugin]"
