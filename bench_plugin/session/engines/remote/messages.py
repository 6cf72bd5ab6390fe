"""What a run and its workers tell each other, as JSON: the settings, what must be equal on both sides, and outcomes."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec

from bench_plugin import __version__
from bench_plugin.domain.cell import Cell
from bench_plugin.domain.errors import UsageError
from bench_plugin.domain.outcome import Outcome
from bench_plugin.domain.recipes import recipe
from bench_plugin.domain.settings import Settings, configuration_file
from bench_plugin.reach.processes.zipapp import agent_digest
from bench_plugin.results.rows import cell_row, outcome_of
from bench_plugin.session.basis import Basis
from bench_plugin.session.row_keys import judging_digest

SHOWN = 5  # differences that a message lists


def settings_data(settings: Settings) -> dict[str, Any]:
    """The settings as plain data: paths below the project's folder are relative to it, threads are a number."""

    def path(value: Any) -> str:
        if not isinstance(value, Path):
            raise TypeError(f"{type(value).__name__} is not plain data")
        full = value.absolute()
        return str(full.relative_to(settings.root) if full.is_relative_to(settings.root) else full)

    plain = replace(settings, threads=settings.runtime_threads())
    data: dict[str, Any] = msgspec.to_builtins(plain, enc_hook=path)
    return data


def settings_of(data: Mapping[str, Any], root: Path) -> Settings:
    """The inverse of :func:`settings_data`, for the project's folder on this machine. Raises UsageError."""

    def path(kind: type, value: Any) -> Any:
        if kind is not Path:
            raise NotImplementedError(kind)
        return root / str(value)

    try:
        return msgspec.convert(data, Settings, dec_hook=path)
    except msgspec.ValidationError as error:
        raise UsageError(f"the settings of the run are not valid on this worker: {error}") from error


def agreement(basis: Basis, toolchains: Iterable[str]) -> dict[str, str]:
    """What must be equal on both sides, by its name for a person: versions and digests.

    ``toolchains`` are those of the run's cells. Raises UsageError for one without a valid lock.
    """
    workspace = basis.workspace
    configuration = configuration_file(basis.settings.root)
    said = {
        "version of bench_plugin": __version__,
        "code of bench_plugin": recipe(stage="code", judging=judging_digest(), agent=agent_digest()),
        "project configuration": recipe(
            stage="configuration", text=configuration.read_text("utf-8") if configuration else ""
        ),
    }
    said.update({f"lock of toolchain {name}": workspace.toolchains.lock_hash(name) for name in sorted(set(toolchains))})
    said.update({f"adapter {name}": one.digest for name, one in workspace.catalog.adapters.items()})
    said.update({f"model {name}": one.digest for name, one in workspace.models.items()})
    said.update({f"target {name}": recipe(stage="target", said=dict(one)) for name, one in workspace.targets.items()})
    said.update({f"board {name}": one.board.digest for name, one in workspace.boards.items()})
    return {name: value if len(value) < len(recipe(stage="")) else value[:12] for name, value in said.items()}


def differences(theirs: Mapping[str, str], ours: Mapping[str, str]) -> str:
    """What differs between a run and a worker, for a person; empty where nothing does."""
    names = [name for name in {**theirs, **ours} if theirs.get(name) != ours.get(name)]
    shown = [f"{name} is {ours.get(name, 'absent')} there and {theirs.get(name, 'absent')} here" for name in names]
    more = f", and {len(shown) - SHOWN} more differences" if len(shown) > SHOWN else ""
    return f"{', '.join(shown[:SHOWN])}{more}" if shown else ""


def outcome_data(cell: Cell, outcome: Outcome) -> dict[str, Any]:
    """An outcome as the row that it makes, with nothing in it that is not of the outcome."""
    return cell_row(
        cell.axes(), outcome, key="", nodeid="", expected=None, repro=(), result="", settings={}, host=""
    )  # fmt: skip


def outcome_from(data: Mapping[str, Any]) -> Outcome:
    """The inverse of :func:`outcome_data`."""
    return outcome_of(data)


def written(message: Mapping[str, Any]) -> str:
    """A message as text."""
    return json.dumps(message)


def read(text: str) -> Any:
    """The message of a text."""
    return json.loads(text)
