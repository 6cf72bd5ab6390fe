"""``bench list KIND``: what can be named on the command line: models, frameworks, compilers and so on."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from bench_plugin.cli.shared.arguments import add_json
from bench_plugin.cli.shared.board.rows import BOARD_COLUMNS, board_rows
from bench_plugin.cli.shared.output import note, print_json, print_table
from bench_plugin.domain.precision import ALIASES, PRECISIONS
from bench_plugin.domain.settings import Settings, settings_here
from bench_plugin.inventory.adapters import Adapter, Converter
from bench_plugin.inventory.workspace import Workspace

HELP = "list models, frameworks, compilers and all else that can be named on the command line"
Row = Mapping[str, Any]


@dataclass(frozen=True)
class Kind:
    """Something that can be listed; ``columns`` are the keys of its rows that the terminal shows."""

    rows: Callable[[Workspace, Settings], list[Row]]
    columns: tuple[str, ...]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The kind."""
    parser.add_argument("kind", metavar="KIND", choices=tuple(KINDS), help=", ".join(KINDS))
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    """Print the list; always 0, also where it is empty."""
    settings = settings_here()
    rows = rows_of(args.kind, Workspace.load(settings), settings)
    if args.json:
        print_json(rows)
    elif rows:
        print_table(rows, KINDS[args.kind].columns)
    else:
        note(f"there are no {args.kind} here")
    return 0


def rows_of(kind: str, workspace: Workspace, settings: Settings) -> list[Row]:
    """What there is of a kind, one plain dictionary each, with the key ``name``."""
    return KINDS[kind].rows(workspace, settings)


def _models(workspace: Workspace, settings: Settings) -> list[Row]:
    return [
        {
            "name": model.name, "title": model.title, "task": model.task, "family": model.family,
            "parameters": model.parameters, "frameworks": list(model.constructors), "profiles": list(model.profiles),
            "compiled_profiles": list(model.compiled_profiles), "dataset": model.dataset or None,
            "memory_gb": model.memory_gb, "source": model.source,
        }
        for _, model in sorted(workspace.models.items())
    ]  # fmt: skip


def _frameworks(workspace: Workspace, settings: Settings) -> list[Row]:
    return [
        {
            **_adapter(workspace, adapter), "exporters": list(adapter.exporters), "importers": list(adapter.importers),
            "opt_in": _opt_in(adapter),
        }
        for adapter in workspace.catalog.of_kind("framework").values()
    ]  # fmt: skip


def _compilers(workspace: Workspace, settings: Settings) -> list[Row]:
    return [
        {
            **_adapter(workspace, adapter), "takes": list(adapter.takes),
            "precisions": {name: list(graphs) for name, graphs in adapter.graphs.items()},
            "targets": list(adapter.targets), "backends": list(adapter.backends),
            "options": dict(adapter.declaration.get("options", {})),
            "operators": bool(adapter.declaration.get("operators")), "opt_in": _opt_in(adapter),
        }
        for adapter in workspace.catalog.of_kind("compiler").values()
    ]  # fmt: skip


def _targets(workspace: Workspace, settings: Settings) -> list[Row]:
    compilers = workspace.catalog.of_kind("compiler")
    return [
        {
            **target, "name": name, "title": target.get("title", "this machine" if name == "local" else name),
            "architecture": target.get("architecture"), "cpu": target.get("cpu"), "vendor": target.get("vendor"),
            "compilers": [one for one, adapter in compilers.items() if name in adapter.targets],
            "boards": list(workspace.boards_of(name)),
        }
        for name, target in sorted(workspace.hardware.items())
    ]  # fmt: skip


def _boards(workspace: Workspace, settings: Settings) -> list[Row]:
    return [*board_rows(workspace)]


def _precisions(workspace: Workspace, settings: Settings) -> list[Row]:
    compilers = workspace.catalog.of_kind("compiler")
    return [
        {
            "name": name, "aliases": [alias for alias, meant in ALIASES.items() if meant == name],
            "weights": one.weights, "activations": one.activations, "accumulate": one.accumulate,
            "scheme": one.scheme or None, "calibration": one.calibration or None,
            "compilers": [compiler for compiler, adapter in compilers.items() if name in adapter.graphs],
        }
        for name, one in PRECISIONS.items()
    ]  # fmt: skip


def _exporters(workspace: Workspace, settings: Settings) -> list[Row]:
    frameworks = workspace.catalog.of_kind("framework").values()
    return [_converter(workspace, adapter, one) for adapter in frameworks for one in adapter.exporters.values()]


def _importers(workspace: Workspace, settings: Settings) -> list[Row]:
    frameworks = workspace.catalog.of_kind("framework").values()
    return [_converter(workspace, adapter, one) for adapter in frameworks for one in adapter.importers.values()]


def _cases(workspace: Workspace, settings: Settings) -> list[Row]:
    return [
        {
            "name": case.name, "category": case.category, "opset": case.opset or None, "nodes": case.nodes,
            "operators": list(case.operators),
        }
        for case in workspace.cases().values()
    ]  # fmt: skip


def _toolchains(workspace: Workspace, settings: Settings) -> list[Row]:
    toolchains = workspace.toolchains
    return [
        {
            "name": name, "title": toolchains[name].title, "ready": toolchains.ready(name),
            "python": toolchains[name].interpreter or str(toolchains[name].python),
            "memory_gb": toolchains[name].memory_gb, "serves": list(toolchains[name].serves),
            "versions": workspace.lock(name),
        }
        for name in toolchains.names
    ]  # fmt: skip


def _adapter(workspace: Workspace, adapter: Adapter) -> Row:
    # One that follows the frameworks has as many versions as they have; a described command's is not known.
    versionless = "toolchains" in adapter.declaration or "description" in adapter.declaration
    return {
        "name": adapter.name, "title": adapter.title, "toolchain": adapter.toolchain,
        "version": None if versionless else workspace.version(adapter) or None, "path": adapter.path,
    }  # fmt: skip


def _converter(workspace: Workspace, adapter: Adapter, converter: Converter) -> Row:
    low, high = converter.opsets
    return {
        "name": converter.name, "framework": adapter.name, "distribution": converter.distribution,
        "version": workspace.lock(adapter.toolchain).get(converter.distribution), "opsets": f"{low}-{high}",
        "default_opset": converter.opset,
    }  # fmt: skip


def _opt_in(adapter: Adapter) -> bool:
    """Whether it takes part only in a run that names it."""
    return bool(adapter.declaration.get("on_request"))


KINDS: Mapping[str, Kind] = {
    "models": Kind(_models, ("name", "title", "task", "frameworks", "profiles")),
    "frameworks": Kind(_frameworks, ("name", "title", "version", "exporters", "importers")),
    "compilers": Kind(_compilers, ("name", "title", "version", "takes", "precisions", "targets", "backends")),
    "targets": Kind(_targets, ("name", "title", "architecture", "vendor", "compilers", "boards")),
    "boards": Kind(_boards, BOARD_COLUMNS),
    "precisions": Kind(_precisions, ("name", "aliases", "weights", "activations", "accumulate", "compilers")),
    "exporters": Kind(_exporters, ("name", "framework", "version", "opsets", "default_opset")),
    "importers": Kind(_importers, ("name", "framework", "version", "opsets")),
    "cases": Kind(_cases, ("name", "category", "opset", "nodes", "operators")),
    "toolchains": Kind(_toolchains, ("name", "title", "ready", "python", "serves")),
}
