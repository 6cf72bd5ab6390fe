"""Command-line options: registration, and their way into the frozen settings."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from bench_plugin.domain.axes import OPTIONS, Axis

GROUP = ("bench", "bench: conversion and equivalence of trained models")
NUMBERS = {"jobs": 1, "seed": 0}  # options that are whole numbers, each with its least value


def add_options(parser: pytest.Parser) -> None:
    """Every option that starts with ``--bench-``, the long spelling of the axes included."""
    group = parser.getgroup(*GROUP)
    for axis in OPTIONS:
        group.addoption(axis.option, dest=f"bench_{axis.plural}", metavar="A,B", help=f"{axis.help} (comma-separated)")
    group.addoption(
        "--bench-profile", dest="bench_profile", metavar="NAME",
        help="what runs when nothing is selected: smoke, quick (default), published or full",
    )  # fmt: skip
    group.addoption(
        "--bench-onnx", dest="bench_onnx", action="append", default=[], metavar="FILE.onnx",
        help="a plain ONNX file: check it, run it, import it into every framework, compare; may be repeated",
    )  # fmt: skip
    group.addoption(
        "--bench-inputs", dest="bench_inputs", action="append", default=[], metavar="FILE.npz",
        help="inputs for the file of --bench-onnx instead of generated ones: arrays by the names of its inputs, one "
        "sample, or N samples with N as a first dimension; repeated, the n-th is for the n-th --bench-onnx",
    )  # fmt: skip
    # The old spelling of --bench-onnx, one letter away from --bench-models; rows of earlier runs name it.
    group.addoption("--bench-model", dest="bench_onnx", action="append", help=argparse.SUPPRESS)
    group.addoption(
        "--bench-jobs", dest="bench_jobs", type=int, metavar="N", help="cells computed side by side (default 2)"
    )
    group.addoption(
        "--bench-seed", dest="bench_seed", type=int, metavar="N", help="seed of weights and inputs (default 0)"
    )
    group.addoption(
        "--bench-calibration", dest="bench_calibration", metavar="NAME",
        help="how ranges of activations are found: minmax (default), entropy or percentile",
    )  # fmt: skip
    group.addoption(
        "--bench-search", dest="bench_search", metavar="NAME",
        help="how generated graphs are searched: quick (default; seconds, always the same) or nightly (minutes, "
        "random)",
    )  # fmt: skip
    group.addoption(
        "--bench-option", dest="bench_option", action="append", default=[], metavar="COMPILER.NAME=VALUE",
        help="an option that a compiler's adapter declares, such as onnxruntime.optimisation=none; may be repeated",
    )  # fmt: skip
    group.addoption(
        "--bench-results", dest="bench_results", metavar="FILE",
        help="rows are written here (default reports/results.jsonl in the project's folder)",
    )  # fmt: skip
    group.addoption(
        "--bench-against", dest="bench_against", metavar="BASE",
        help="timing cells are measured in turn with the artefacts of this run, a results file or a run id; a cell "
        "that is slower fails (docs/comparison.md)",
    )  # fmt: skip
    group.addoption(
        "--bench-scenarios", dest="bench_scenarios", metavar="A,B",
        help="timed cells are driven through these scenarios of MLPerf, too: single-stream, multi-stream, offline, "
        "server (docs/scenarios.md); not an MLPerf result",
    )  # fmt: skip
    group.addoption(
        "--bench-cache", dest="bench_cache", metavar="FOLDER",
        help="finished stages are kept here (default: in the user's cache folder)",
    )  # fmt: skip
    group.addoption(
        "--bench-toolchains", dest="bench_toolchains", action="append", default=[], metavar="FOLDER",
        help="a folder of <name>.toml and <name>.lock, searched before those of the configuration; may be repeated",
    )  # fmt: skip
    group.addoption(
        "--bench-all-boards", dest="bench_all_boards", action="store_true",
        help="a cell for a target that has several boards runs on each of them, and reports once",
    )  # fmt: skip
    group.addoption(
        "--bench-engine", dest="bench_engine", metavar="NAME",
        help="what computes cells: local (default; this machine), or dask (the workers of a Dask cluster, which take "
        "as many cells side by side as they have threads; --bench-jobs is for local)",
    )  # fmt: skip
    group.addoption(
        "--bench-scheduler", dest="bench_scheduler", metavar="ADDRESS",
        help="the scheduler of the Dask cluster, such as tls://host:8786 (default tcp://127.0.0.1:8786)",
    )  # fmt: skip
    group.addoption(
        "--bench-resume", dest="bench_resume", action="store_true",
        help="reuse rows of the results file that are still valid",
    )  # fmt: skip
    group.addoption(
        "--bench-shard", dest="bench_shard", metavar="I/N",
        help="run the I-th of N parts of the selection, which together are all of it; `bench merge` joins the results",
    )  # fmt: skip
    group.addoption(
        "--bench-shard-durations", dest="bench_shard_durations", metavar="RESULTS",
        help="balance the shards by the durations in this results file, or of the run with this id; all shards must be "
        "given the same (default: estimates by the kind of check)",
    )  # fmt: skip
    group.addoption(
        "--bench-refresh",
        dest="bench_refresh",
        action="store_true",
        help="make again what the compared tools gave, although it is stored; the corpus of operator cases and its "
        "references stay (`bench cache prune --keep-gb 0` drops everything)",
    )


def add_short_axes(parser: pytest.Parser) -> list[str]:
    """``--frameworks`` and the like, beside other plugins: a name that is taken is left alone and returned.

    Called when every other plugin and the initial conftest files have registered their options.
    """
    taken = _registered(parser)
    group = parser.getgroup(*GROUP)
    refused = []
    for axis in (axis for axis in OPTIONS if axis.short):
        if f"--{axis.plural}" in taken:
            refused.append(axis.plural)
        else:
            group.addoption(
                f"--{axis.plural}", dest=f"bench_{axis.plural}", metavar="A,B", help=f"the same as {axis.option}"
            )
    return refused


def concerns(config: pytest.Config) -> bool:
    """Whether an option of the plugin was given, or a project's configuration speaks of it."""
    given = (value for name, value in vars(config.option).items() if name.startswith("bench_"))
    if any(value not in (None, False, []) for value in given):
        return True
    from bench_plugin.domain.settings import configured

    return configured(project_folder(config))


def project_folder(config: pytest.Config) -> Path:
    """The folder of the project, whose configuration is read, and below which reports, models and suites are.

    It is pytest's rootdir. Where that has no configuration, it is the nearest folder that has one, upwards from where
    the user stands: pytest takes the value of an option that is an existing folder (``--bench-cache FOLDER``) for a
    place of tests, and moves its rootdir to the folder above both.
    """
    from bench_plugin.domain.settings import configured, nearest_configured

    root = config.rootpath
    return root if configured(root) else nearest_configured(config.invocation_params.dir) or root


def configuration_line(config: pytest.Config) -> str:
    """Which configuration file is read, and which one nearer to the user is not; empty where there is none."""
    from bench_plugin.domain.settings import configuration_file, nearest_configured

    start, root = config.invocation_params.dir, project_folder(config)
    path, nearest = configuration_file(root), nearest_configured(start)
    if path is None:
        return ""
    line = f"configuration: {os.path.relpath(path, start)}"
    if nearest is None or nearest == root or (other := configuration_file(nearest)) is None:
        return line
    return f"{line}, of pytest's rootdir; {os.path.relpath(other, start)} is not read (--rootdir . takes that)"


def read_settings(config: pytest.Config) -> Any:
    """The run's Settings: the command line's options over the configuration file.

    Relative paths of options are relative to where pytest was started. Raises UsageError.
    """
    from dataclasses import replace

    from bench_plugin.domain.errors import UsageError
    from bench_plugin.domain.paths import check_file_name
    from bench_plugin.domain.settings import CALIBRATIONS, SEARCHES, compiler_options, read_settings_file

    option, said = config.option, read_settings_file(project_folder(config))
    if option.bench_resume and option.bench_refresh:
        raise UsageError("--bench-resume reuses finished cells and --bench-refresh makes them again: give one of them")
    given: dict[str, Any] = {name: value for name in NUMBERS if (value := _number(option, name)) is not None}
    selection = _selection(config, said.selection)
    if len(selection.threads) == 1:  # a list is a sweep of timed cells; all others keep the number of the configuration
        given["threads"] = selection.threads[0]
    for name in ("results", "cache"):
        if (path := getattr(option, f"bench_{name}")) is not None:
            if name == "results" and path.strip():
                check_file_name(path, "--bench-results")
            given[name] = _path(config, f"--bench-{name}", path)
    folders = tuple(_path(config, "--bench-toolchains", name) for name in option.bench_toolchains)
    given |= {"toolchains": (*folders, *said.toolchains), "given_toolchains": folders}
    given |= _shard(option, given.get("results", said.results))
    if option.bench_against is not None:
        given["against"] = _against(config, option.bench_against, given.get("results", said.results))
    if option.bench_scenarios is not None:
        given["scenarios"] = _scenarios(option.bench_scenarios)
    calibration = _one_of(option, "calibration", CALIBRATIONS) or said.calibration
    search = _one_of(option, "search", SEARCHES) or said.search
    given.update(_engine(config))
    return replace(
        said, **given, selection=selection, resume=option.bench_resume,
        all_boards=option.bench_all_boards, refresh=option.bench_refresh, search=search, calibration=calibration,
        options=compiler_options(option.bench_option),
    )  # fmt: skip


def _engine(config: pytest.Config) -> dict[str, str]:
    """The engine and the address of its scheduler, where they were given."""
    from bench_plugin.domain.errors import UsageError
    from bench_plugin.domain.settings import ENGINES

    option = config.option
    name, address = _one_of(option, "engine", ENGINES), option.bench_scheduler
    if name in (None, ENGINES[0]):
        if address is not None:
            raise UsageError(f"--bench-scheduler: {address} is for --bench-engine dask, which was not given")
        return {}
    if getattr(option, "dist", "no") != "no" or hasattr(config, "workerinput"):
        raise UsageError(
            f"--bench-engine {name}: workers of pytest-xdist (-n) and those of a cluster cannot be combined; add -n0"
        )
    if option.bench_against is not None:
        raise UsageError(
            f"--bench-against: both runs are measured in turn on this machine or its boards, not with --bench-engine "
            f"{name}; leave one of them out"
        )
    if option.bench_jobs is not None:
        raise UsageError(
            f"--bench-jobs: with --bench-engine {name} every worker computes as many cells side by side as it has "
            "threads (dask worker --nthreads N); leave --bench-jobs out"
        )
    if address is not None and "://" not in address:
        raise UsageError(f"--bench-scheduler: {address!r} is not an address such as tls://host:8786 or tcp://host:8786")
    return {"engine": str(name), **({"scheduler": address} if address is not None else {})}


def _selection(config: pytest.Config, said: Any) -> Any:
    from dataclasses import replace

    from bench_plugin.domain.errors import UsageError

    option = config.option
    chosen = {axis.plural: _values(option, axis) for axis in OPTIONS}
    files = tuple(_path(config, "--bench-onnx", name) for name in option.bench_onnx)
    for path in files:
        if not path.is_file():
            raise UsageError(f"--bench-onnx: there is no file {path}")
    inputs = tuple(_path(config, "--bench-inputs", name) for name in option.bench_inputs)
    if len(inputs) > len(files):
        raise UsageError(f"--bench-inputs: {inputs[len(files)]} has no --bench-onnx FILE.onnx that it is for")
    profile = option.bench_profile or said.profile
    return replace(said, profile=profile, onnx_files=files, onnx_inputs=inputs, **chosen)


def _shard(option: Any, results: Path) -> dict[str, Any]:
    """The part of the selection that was asked for, and the results file by whose durations the parts are balanced."""
    from bench_plugin.domain.errors import UsageError
    from bench_plugin.domain.settings import Shard

    if option.bench_shard is None:
        if option.bench_shard_durations is not None:
            raise UsageError("--bench-shard-durations balances shards: give --bench-shard I/N with it")
        return {}
    given: dict[str, Any] = {"shard": Shard.parse(option.bench_shard)}
    if option.bench_shard_durations is not None:
        from bench_plugin.results.history import find_run

        given["shard_durations"] = find_run(option.bench_shard_durations, results)
    return given


def _values(option: Any, axis: Axis) -> tuple[Any, ...]:
    """A comma-separated option's values, without blanks and repeats. Raises UsageError for an option without any."""
    from bench_plugin.domain.errors import UsageError

    text = getattr(option, f"bench_{axis.plural}")
    if text is None:
        return ()
    parts = tuple(dict.fromkeys(part.strip() for part in text.split(",") if part.strip()))
    if not parts:
        raise UsageError(f"{axis.option}: {text!r} names none; leave the option out for what the profile says")
    try:
        return tuple(axis.parse(part) for part in parts)
    except ValueError:
        raise UsageError(f"{axis.option}: {text!r} is not a list of whole numbers, such as 13,17") from None


def _scenarios(text: str) -> tuple[str, ...]:
    """The names of scenarios, each once. Raises UsageError for one that does not exist, and for none."""
    from bench_plugin.domain.errors import UsageError
    from bench_plugin.domain.settings import SCENARIOS
    from bench_plugin.domain.texts.choices import hint

    names = tuple(dict.fromkeys(part.strip() for part in text.split(",") if part.strip()))
    unknown = next((name for name in names if name not in SCENARIOS), None)
    if unknown is not None or not names:
        wrong = f"unknown name {unknown!r}; {hint(unknown, SCENARIOS)}" if unknown else f"{text!r} names none"
        raise UsageError(f"--bench-scenarios: {wrong}")
    return names


def _number(option: Any, name: str) -> int | None:
    from bench_plugin.domain.errors import UsageError
    from bench_plugin.domain.settings import MOST_SEED

    given: int | None = getattr(option, f"bench_{name}")
    if given is not None and given < NUMBERS[name]:
        wanted = "a positive number" if NUMBERS[name] else f"a number from 0 to {MOST_SEED}"
        raise UsageError(f"--bench-{name}: {given} is not {wanted}")
    if given is not None and name == "seed" and given > MOST_SEED:
        raise UsageError(f"--bench-seed: {given} is not a number from 0 to {MOST_SEED}")
    return given


def _one_of(option: Any, name: str, valid: tuple[str, ...]) -> str | None:
    from bench_plugin.domain.errors import UsageError
    from bench_plugin.domain.texts.choices import hint

    given: str | None = getattr(option, f"bench_{name}")
    if given is not None and given not in valid:
        raise UsageError(f"--bench-{name}: unknown name {given!r}; {hint(given, valid)}")
    return given


def _path(config: pytest.Config, name: str, text: str) -> Path:
    """An option's path, relative to where the user stands."""
    from bench_plugin.domain.errors import UsageError

    if not text.strip():
        raise UsageError(f"{name}: the path is empty")
    return Path(config.invocation_params.dir, Path(text).expanduser())


def _against(config: pytest.Config, name: str, results: Path) -> Any:
    """The run that is measured against. Raises UsageError where there is none of that name."""
    from bench_plugin.domain.errors import UsageError
    from bench_plugin.domain.settings import AgainstRun
    from bench_plugin.results.history import find_run, run_of_file

    path = _path(config, "--bench-against", name)
    try:
        found = path if path.is_file() else find_run(name, results)
    except UsageError as error:
        raise UsageError(f"--bench-against: {error}") from error
    return AgainstRun(found.absolute(), run_of_file(found))


def _registered(parser: pytest.Parser) -> set[str]:
    groups: Iterable[Any] = [parser._anonymous, *parser._groups]  # pytest has no public way to ask
    return {name for group in groups for option in group.options for name in option.names()}
