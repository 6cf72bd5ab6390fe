"""Configuration of a run: the file's table and the command line's options, checked and frozen."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bench_plugin.domain.errors import UsageError

AXIS_KEYS = (
    "check",
    "model",
    "framework",
    "exporter",
    "opset",
    "importer_framework",
    "importer",
    "compiler",
    "precision",
    "target",
    "dtype",
    "graph",
)
LISTS = ("adapters", "toolchains", "models", "expectations")
NUMBERS = ("jobs", "threads", "seed")
TEXTS = ("profile", "cache", "results", "calibration")


@dataclass(frozen=True)
class Rule:
    """An ``include`` or ``exclude`` row: a selector on the axes with a mandatory reason."""

    selector: Mapping[str, tuple[str, ...]]
    reason: str

    def matches(self, axes: Mapping[str, Any]) -> bool:
        """Whether every axis of the selector has one of its values."""
        return all(str(axes.get(key, "")) in values for key, values in self.selector.items())


@dataclass(frozen=True)
class Selection:
    """What was asked for on each axis; an empty tuple means what the profile says."""

    profile: str = "quick"
    frameworks: tuple[str, ...] = ()
    compilers: tuple[str, ...] = ()
    targets: tuple[str, ...] = ()
    precisions: tuple[str, ...] = ()
    models: tuple[str, ...] = ()
    exporters: tuple[str, ...] = ()
    importers: tuple[str, ...] = ()
    opsets: tuple[int, ...] = ()
    cases: tuple[str, ...] = ()
    onnx_files: tuple[Path, ...] = ()
    include: tuple[Rule, ...] = ()
    exclude: tuple[Rule, ...] = ()


@dataclass(frozen=True)
class Settings:
    """Everything that a run is configured by; made once, in the pytest process."""

    root: Path
    selection: Selection = field(default_factory=Selection)
    jobs: int = 2
    threads: int = 0
    seed: int = 0
    calibration: str = "minmax"
    search: str = "quick"
    options: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    results: Path = Path("reports/results.jsonl")
    cache: Path | None = None
    resume: bool = False
    refresh: bool = False
    adapters: tuple[Path, ...] = ()
    toolchains: tuple[Path, ...] = ()
    models: tuple[Path, ...] = ()
    expectations: tuple[Path, ...] = ()


def read_table(root: Path) -> dict[str, Any]:
    """The configuration table of ``bench.toml``, or ``[tool.bench_plugin]`` of pyproject.toml, below ``root``.

    Raises UsageError for a file that is not TOML, an unknown key, or a value of the wrong type.
    """
    own, project = root / "bench.toml", root / "pyproject.toml"
    if own.is_file():
        return _checked(own, _load(own))
    if project.is_file():
        return _checked(project, _load(project).get("tool", {}).get("bench_plugin", {}))
    return {}


def configured(root: Path) -> bool:
    """Whether there is a configuration below ``root``, without reading it as TOML."""
    project = root / "pyproject.toml"
    return (root / "bench.toml").is_file() or (project.is_file() and "tool.bench_plugin" in project.read_text("utf-8"))


def read_rules(table: Mapping[str, Any], key: str) -> tuple[Rule, ...]:
    """The ``include`` or ``exclude`` rows of a checked table."""
    return tuple(_rule(key, index, row) for index, row in enumerate(table.get(key, []), 1))


def compiler_options(texts: Iterable[str]) -> dict[str, dict[str, str]]:
    """``compiler.name=value`` texts as compiler -> name -> value; the names are checked when adapters are known.

    Raises UsageError for a text of another form.
    """
    found: dict[str, dict[str, str]] = {}
    for text in texts:
        left, equals, value = text.partition("=")
        compiler, dot, name = left.partition(".")
        if not (equals and dot and compiler and name and value):
            raise UsageError(
                f"--bench-option: {text!r} is not COMPILER.NAME=VALUE, as onnxruntime.optimisation=none is"
            )
        found.setdefault(compiler, {})[name] = value
    return found


def _load(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text("utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"{path}: not a TOML file: {error}") from error


def _checked(path: Path, table: Mapping[str, Any]) -> dict[str, Any]:
    kinds: dict[str, type] = {**dict.fromkeys((*LISTS, "include", "exclude"), list), **dict.fromkeys(NUMBERS, int)}
    kinds.update(dict.fromkeys(TEXTS, str))
    for key, value in table.items():
        if key not in kinds:
            raise UsageError(
                f"{path}: unknown key {key!r} in the bench_plugin table; valid keys are {', '.join(sorted(kinds))}"
            )
        if not isinstance(value, kinds[key]) or isinstance(value, bool):
            raise UsageError(f"{path}: {key} must be a {kinds[key].__name__}, found {value!r}")
    return dict(table)


def _rule(key: str, index: int, row: Any) -> Rule:
    where = f"{key} row {index}"
    if not isinstance(row, Mapping) or not str(row.get("reason", "")).strip():
        raise UsageError(f"{where}: a reason is mandatory")
    unknown = sorted(set(row) - {*AXIS_KEYS, "reason"})
    if unknown:
        raise UsageError(f"{where}: unknown axis {unknown[0]!r}; valid are {', '.join(AXIS_KEYS)}")
    return Rule({axis: _values(row[axis]) for axis in row if axis != "reason"}, str(row["reason"]))


def _values(value: Any) -> tuple[str, ...]:
    many: Sequence[Any] = value if isinstance(value, list) else [value]
    return tuple(str(one) for one in many)


def read_settings_file(root: Path) -> Settings:
    """The settings of the configuration file alone, for commands that run no cell. Raises UsageError."""
    table = read_table(root)

    def paths(name: str) -> tuple[Path, ...]:
        return tuple(root / path for path in table.get(name, []))

    cache = root / Path(table["cache"]).expanduser() if "cache" in table else None
    return Settings(
        root=root, cache=cache, results=root / table.get("results", "reports/results.jsonl"),
        adapters=paths("adapters"), toolchains=paths("toolchains"), models=paths("models"),
        expectations=paths("expectations"),
    )  # fmt: skip


def settings_here() -> Settings:
    """The settings of the project that the user stands in: the nearest folder upwards that has a configuration, else
    the current one. Raises UsageError for a file that is wrong.
    """
    here = Path.cwd()
    return read_settings_file(next((folder for folder in (here, *here.parents) if configured(folder)), here))
