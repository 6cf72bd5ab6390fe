"""Command-line options: registration, and their way into the frozen settings."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

AXES = ("frameworks", "compilers", "targets", "precisions", "models")
CALIBRATIONS = ("minmax", "entropy", "percentile")
SEARCHES = ("quick", "nightly")
GROUP = ("bench", "bench: conversion and equivalence of trained models")


def add_options(parser: pytest.Parser) -> None:
    """Every option that starts with ``--bench-``, the long spelling of the axes included."""
    group = parser.getgroup(*GROUP)
    for axis in AXES:
        group.addoption(
            f"--bench-{axis}", dest=f"bench_{axis}", metavar="A,B", help=f"{axis} to select, comma-separated"
        )
    for axis in ("exporters", "importers", "opsets", "cases"):
        group.addoption(
            f"--bench-{axis}", dest=f"bench_{axis}", metavar="A,B", help=f"{axis} to select, comma-separated"
        )
    group.addoption(
        "--bench-profile", dest="bench_profile", metavar="NAME", help="smoke, quick (default), published or full"
    )
    group.addoption(
        "--bench-model", dest="bench_onnx", action="append", default=[], metavar="FILE.onnx",
        help="a plain ONNX file: check it, run it, import it into every framework, compare; may be repeated",
    )  # fmt: skip
    group.addoption(
        "--bench-jobs", dest="bench_jobs", type=int, metavar="N", help="cells computed side by side (default 2)"
    )
    group.addoption(
        "--bench-threads", dest="bench_threads", type=int, metavar="N", help="threads per runtime (default: all cores)"
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
        help="how drawn graphs are searched: quick (default; seconds, always the same) or nightly (minutes, random)",
    )  # fmt: skip
    group.addoption(
        "--bench-option", dest="bench_option", action="append", default=[], metavar="COMPILER.NAME=VALUE",
        help="an option that a compiler's adapter declares, such as onnxruntime.optimisation=none; may be repeated",
    )  # fmt: skip
    group.addoption(
        "--bench-results", dest="bench_results", metavar="FILE", help="rows are written here (reports/results.jsonl)"
    )
    group.addoption(
        "--bench-cache", dest="bench_cache", metavar="DIR", help="stage cache (default: in the user's cache folder)"
    )
    group.addoption(
        "--bench-resume",
        dest="bench_resume",
        action="store_true",
        help="reuse rows of the results file that are still valid",
    )
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
    for axis in AXES:
        if f"--{axis}" in taken:
            refused.append(axis)
        else:
            group.addoption(f"--{axis}", dest=f"bench_{axis}", metavar="A,B", help=f"the same as --bench-{axis}")
    return refused


def concerns(config: pytest.Config) -> bool:
    """Whether an option of the plugin was given, or a project's configuration speaks of it."""
    if any(value for name, value in vars(config.option).items() if name.startswith("bench_")):
        return True
    from bench_plugin.domain.settings import configured

    return configured(config.rootpath)


def split(text: str | None) -> tuple[str, ...]:
    """A comma-separated option's values, without blanks and repeats."""
    return tuple(dict.fromkeys(part.strip() for part in (text or "").split(",") if part.strip()))


def _registered(parser: pytest.Parser) -> set[str]:
    groups: Iterable[Any] = [parser._anonymous, *parser._groups]  # pytest has no public way to ask
    return {name for group in groups for option in group.options for name in option.names()}


def read_settings(config: pytest.Config) -> Any:
    """The run's Settings from options over the configuration file. Raises UsageError."""
    from bench_plugin.domain.errors import UsageError
    from bench_plugin.domain.settings import Selection, Settings, compiler_options, read_rules, read_table

    option = config.option
    table = read_table(config.rootpath)
    try:
        opsets = tuple(int(text) for text in split(option.bench_opsets))
    except ValueError:
        raise UsageError(
            f"--bench-opsets: {option.bench_opsets!r} is not a list of whole numbers, such as 13,17"
        ) from None
    for name in ("jobs", "threads"):
        given = getattr(option, f"bench_{name}")
        if given is not None and given < 1:
            raise UsageError(f"--bench-{name}: {given} is not a positive number")
    files = tuple(Path(config.invocation_params.dir, name) for name in option.bench_onnx)
    for path in files:
        if not path.is_file():
            raise UsageError(f"--bench-model: there is no file {path}")
    selection = Selection(
        profile=option.bench_profile or table.get("profile", "quick"),
        **{axis: split(getattr(option, f"bench_{axis}")) for axis in (*AXES, "exporters", "importers", "cases")},
        opsets=opsets, onnx_files=files, include=read_rules(table, "include"), exclude=read_rules(table, "exclude"),
    )  # fmt: skip
    cache = option.bench_cache or table.get("cache")
    paths: dict[str, Any] = {
        name: tuple(config.rootpath / path for path in table.get(name, []))
        for name in ("adapters", "toolchains", "models", "expectations")
    }
    return Settings(
        root=config.rootpath,
        selection=selection,
        jobs=option.bench_jobs or table.get("jobs", 2),
        threads=option.bench_threads or table.get("threads", 0),
        seed=option.bench_seed if option.bench_seed is not None else table.get("seed", 0),
        results=config.rootpath / (option.bench_results or table.get("results", "reports/results.jsonl")),
        cache=Path(cache).expanduser() if cache else None,
        resume=option.bench_resume,
        refresh=option.bench_refresh,
        search=_search(option.bench_search or SEARCHES[0]),
        calibration=_calibration(option.bench_calibration or table.get("calibration", CALIBRATIONS[0])),
        options=compiler_options(option.bench_option),
        **paths,
    )


def _calibration(name: str) -> str:
    from bench_plugin.domain.errors import UsageError

    if name not in CALIBRATIONS:
        raise UsageError(f"--bench-calibration: unknown method {name!r}; valid are {', '.join(CALIBRATIONS)}")
    return name


def _search(name: str) -> str:
    from bench_plugin.domain.errors import UsageError

    if name not in SEARCHES:
        raise UsageError(f"--bench-search: unknown name {name!r}; valid are {', '.join(SEARCHES)}")
    return name
