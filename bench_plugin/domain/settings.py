"""The settings of a run, from the configuration file and the command line, in one frozen object."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, get_args

from bench_plugin.domain.errors import UsageError
from bench_plugin.domain.thresholds import Threshold, Thresholds

Profile = Literal["smoke", "quick", "published", "full"]
Calibration = Literal["minmax", "entropy", "percentile"]
Search = Literal["quick", "nightly"]
PROFILES, CALIBRATIONS, SEARCHES = get_args(Profile), get_args(Calibration), get_args(Search)
ENGINES = ("local", "dask")  # what computes cells; each is a file of session/engines/
SCENARIOS = ("single-stream", "multi-stream", "offline", "server")  # of MLPerf, which LoadGen drives
LOCAL_SCHEDULER = "tcp://127.0.0.1:8786"  # where `dask scheduler --host 127.0.0.1` listens
DEFAULT_RESULTS = Path("reports/results.jsonl")
MOST_SEED = 2**32 - 1  # the largest seed that every framework accepts
OF_CELLS = ("seed", "threads", "calibration", "search")  # these change how a cell is computed


@dataclass(frozen=True)
class Rule:
    """An ``include`` or ``exclude`` row: a selector on the axes with a mandatory reason."""

    selector: Mapping[str, tuple[str, ...]]
    reason: str
    where: str = ""  # the file and the row, for messages

    def matches(self, axes: Mapping[str, Any]) -> bool:
        """Whether every axis of the selector has one of its values."""
        return all(str(axes.get(key, "")) in values for key, values in self.selector.items())


@dataclass(frozen=True)
class Selection:
    """The selected values of each axis; an empty tuple stands for those of the profile.

    ``onnx_inputs`` are the files with the inputs of ``onnx_files``, in their order; those of later ones are generated.
    """

    profile: str = "quick"
    frameworks: tuple[str, ...] = ()
    compilers: tuple[str, ...] = ()
    targets: tuple[str, ...] = ()
    precisions: tuple[str, ...] = ()
    models: tuple[str, ...] = ()
    exporters: tuple[str, ...] = ()
    importers: tuple[str, ...] = ()
    opsets: tuple[int, ...] = ()
    batches: tuple[int, ...] = ()
    kept: tuple[int, ...] = ()
    threads: tuple[int, ...] = ()
    streams: tuple[int, ...] = ()
    modes: tuple[str, ...] = ()
    cases: tuple[str, ...] = ()
    checks: tuple[str, ...] = ()
    onnx_files: tuple[Path, ...] = ()
    onnx_inputs: tuple[Path, ...] = ()
    include: tuple[Rule, ...] = ()
    exclude: tuple[Rule, ...] = ()


@dataclass(frozen=True)
class Shard:
    """One part of a selection that several runs divide among themselves: number ``index`` of ``count``, from 1.

    >>> Shard.parse("2/3")
    Shard(index=2, count=3)
    """

    index: int
    count: int

    @staticmethod
    def parse(text: str) -> Shard:
        """The shard that a text such as ``2/3`` names. Raises UsageError for any other text."""
        numbers = re.fullmatch(r"\s*(\d{1,6})\s*/\s*(\d{1,6})\s*", text, re.ASCII)
        index, count = (int(one) for one in numbers.groups()) if numbers else (0, 0)
        if not 1 <= index <= count:
            raise UsageError(f"--bench-shard: {text!r} is not a shard I/N with I from 1 to N, as 1/3, 2/3 and 3/3 are")
        return Shard(index, count)

    def __str__(self) -> str:
        return f"{self.index}/{self.count}"


@dataclass(frozen=True)
class AgainstRun:
    """The run of ``--bench-against``: its results file, and its id, under which it moves to the history meanwhile."""

    path: Path
    run: str

    def file(self) -> Path:
        """Where its rows are now: a new run moves an older one's to the history beside it."""
        moved = self.path.parent / "history" / f"{self.run}.jsonl"
        return moved if self.run and moved.is_file() else self.path


@dataclass(frozen=True)
class Settings:
    """The settings of a run, made once, in the pytest process.

    ``jobs`` counts cells at the same time, ``threads`` those of each runtime (0: one for each core).
    With ``all_boards`` a cell for a target runs on each of the target's boards. Of the selection only what is in
    ``shard`` is computed, if there is one; it is balanced by the durations in the results file ``shard_durations``.
    ``workers`` is the number of pytest-xdist's workers, of which this process is one: each computes one cell at a time.
    ``given_toolchains`` are those folders of ``toolchains`` that the command line names.
    ``onnx`` are the project's own ONNX files, models by their names; those of ``selection`` are selected, too.
    ``licence`` and ``contributor`` are those of the rows.
    ``scheduler`` is the address of the cluster that an ``engine`` other than ``local`` computes on.
    ``scenarios`` are those that timed cells are driven through beside their times.
    """

    root: Path
    selection: Selection = field(default_factory=Selection)
    jobs: int = 2
    threads: int = 0
    seed: int = 0
    calibration: str = "minmax"
    search: str = "quick"
    options: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    results: Path = DEFAULT_RESULTS
    cache: Path | None = None
    resume: bool = False
    refresh: bool = False
    all_boards: bool = False
    shard: Shard | None = None
    shard_durations: Path | None = None
    workers: int = 0
    engine: str = "local"
    scheduler: str = LOCAL_SCHEDULER
    adapters: tuple[Path, ...] = ()
    toolchains: tuple[Path, ...] = ()
    given_toolchains: tuple[Path, ...] = ()
    models: tuple[Path, ...] = ()
    onnx: tuple[Path, ...] = ()
    expectations: tuple[Path, ...] = ()
    environment: tuple[str, ...] = ()
    licence: str = ""
    contributor: str = ""
    thresholds: Thresholds = field(default_factory=Thresholds)
    against: AgainstRun | None = None
    scenarios: tuple[str, ...] = ()

    @property
    def beside_others(self) -> bool:
        """Whether other processes compute cells of the same run."""
        return self.workers > 0

    @property
    def at_once(self) -> int:
        """How many cells of the run this machine computes at the same time."""
        return self.workers or self.jobs

    def runtime_threads(self) -> int:
        """The number of threads that each runtime gets."""
        return self.threads or os.cpu_count() or 1

    def of_cells(self) -> dict[str, Any]:
        """The settings that decide how a cell is computed, as plain data for its row."""
        options = {compiler: dict(chosen) for compiler, chosen in self.options.items()}
        files = {key: [str(path) for path in getattr(self.selection, key)] for key in ("onnx_files", "onnx_inputs")}
        return {**{name: getattr(self, name) for name in OF_CELLS}, "options": options, **files}

    def as_computed(self, row: Mapping[str, Any]) -> Settings:
        """These settings, changed to those of a row's cell. Raises UsageError for a row without them."""
        said = row.get("settings")
        if said is None:
            raise UsageError(
                f"{row.get('key')}: the row is of an older version and does not say its settings; run again"
            )
        files, inputs = (tuple(map(Path, said.get(key, ()))) for key in ("onnx_files", "onnx_inputs"))
        return replace(
            self, selection=replace(self.selection, onnx_files=files, onnx_inputs=inputs), options=said["options"],
            **{name: said[name] for name in OF_CELLS},
        )  # fmt: skip


def read_settings_file(root: Path) -> Settings:
    """The settings of the configuration file in ``root``, with which a run and every command start.

    Missing keys have defaults; relative paths are relative to the folder of the file. Raises UsageError for a file that
    is not valid.
    """
    from bench_plugin.domain.configuration import read_configuration
    from bench_plugin.domain.paths import check_file_name

    path, said = read_configuration(root)
    check_file_name(said.results, f"{path.name}: results")

    def paths(names: tuple[str, ...]) -> tuple[Path, ...]:
        return tuple(_below(root, name) for name in names)

    return Settings(
        root=root,
        selection=Selection(
            profile=said.profile, include=_rules(path, "include", said.include),
            exclude=_rules(path, "exclude", said.exclude),
        ),
        jobs=said.jobs, threads=said.threads, seed=said.seed, calibration=said.calibration,
        results=_below(root, said.results), cache=None if said.cache is None else _below(root, said.cache),
        adapters=paths(said.adapters), toolchains=paths(said.toolchains), models=paths(said.models),
        onnx=paths(said.onnx), expectations=paths(said.expectations), environment=said.environment,
        licence=said.licence, contributor=said.contributor,
        thresholds=_thresholds(path, said.thresholds),
    )  # fmt: skip


def settings_here() -> Settings:
    """The settings of the user's project: of the nearest folder upwards with a configuration, else the current folder.

    Raises UsageError for a file that is not valid.
    """
    here = Path.cwd()
    return read_settings_file(nearest_configured(here) or here)


def nearest_configured(folder: Path) -> Path | None:
    """The nearest folder with a configuration: this one or one above it; None where there is none."""
    return next((one for one in (folder, *folder.parents) if configured(one)), None)


def configured(root: Path) -> bool:
    """Whether the folder ``root`` has a configuration, without parsing it as TOML."""
    return configuration_file(root) is not None


def configuration_file(root: Path) -> Path | None:
    """The file of the folder ``root`` that holds a configuration; None where there is none that can be read."""
    own, project = root / "bench.toml", root / "pyproject.toml"
    try:
        if own.is_file():
            return own
        return project if project.is_file() and b"tool.bench_plugin" in project.read_bytes() else None
    except OSError:  # a folder above the user's own that may not be read
        return None


def compiler_options(texts: Iterable[str]) -> dict[str, dict[str, str]]:
    """Texts ``compiler.name=value`` as values by compiler and name, which are checked once the adapters are known.

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


def _rules(path: Path, key: str, rows: Iterable[Any]) -> tuple[Rule, ...]:
    from bench_plugin.domain.configuration import selector_of

    return tuple(
        Rule(selector_of(row), row.reason, f"{path.name}: {key} row {number}") for number, row in enumerate(rows, 1)
    )


def _thresholds(path: Path, rows: Iterable[Any]) -> Thresholds:
    """The rows ``thresholds``. Raises UsageError for one that says no threshold."""
    from bench_plugin.domain.configuration import selector_of

    found = []
    for number, row in enumerate(rows, 1):
        if row.max_slowdown is None and row.max_growth is None:
            raise UsageError(f"{path.name}: thresholds row {number}: neither max_slowdown nor max_growth is said")
        found.append(Threshold(selector_of(row), row.max_slowdown, row.max_growth))
    return Thresholds(tuple(found))


def _below(root: Path, name: str) -> Path:
    """A path in the file: relative to the file's folder, with ``~`` for the user's home."""
    return root / Path(name).expanduser()
