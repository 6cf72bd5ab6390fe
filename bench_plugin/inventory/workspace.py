"""The workspace of a run: models, adapters, toolchains, targets and expectation folders, all of them data."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench_plugin.agent import external
from bench_plugin.agent.adapter import InvalidModel
from bench_plugin.domain import paths as places
from bench_plugin.domain.cell import Cell
from bench_plugin.domain.choices import hint
from bench_plugin.domain.errors import UsageError
from bench_plugin.domain.settings import Settings
from bench_plugin.inventory.adapters import Catalog
from bench_plugin.inventory.cases import Case, find_index, read_cases
from bench_plugin.inventory.models import Model, load_models
from bench_plugin.inventory.target_file import read_target
from bench_plugin.reach.environments.toolchains import Toolchains

COPIES = 6  # how many times the bytes of its weights a file takes at most while it is evaluated in float64


@dataclass(frozen=True)
class Workspace:
    """The data of a run, loaded once and without running a framework; ``notes`` are remarks for a person."""

    models: Mapping[str, Model]
    catalog: Catalog
    toolchains: Toolchains
    targets: Mapping[str, Mapping[str, Any]]
    options: Mapping[str, Mapping[str, str]]
    calibration: str
    expectation_folders: tuple[Path, ...]
    operator_folders: tuple[Path, ...]
    search: str = "quick"
    seed: int = 0
    notes: tuple[str, ...] = ()  # remarks for a person
    variables: tuple[str, ...] = ()  # environment variables that agents get beside the usual ones

    @staticmethod
    def load(settings: Settings) -> Workspace:
        """Read every file that the settings point to. Raises UsageError for the first that is not valid."""
        notes: list[str] = []
        models = load_models([*settings.models, *places.folders("fixtures/models", settings.root)], notes.append)
        for path in settings.selection.onnx_files:
            model = plain_model(path)
            if model.name in models:
                raise UsageError(f"--bench-onnx: {path.name} has the name of a model of the project; rename the file")
            models[model.name] = model
        targets: dict[str, Mapping[str, Any]] = {"local": {"name": "local"}}
        for folder in reversed(places.folders("boards/targets", settings.root)):
            for path in sorted(folder.glob("*.toml")):
                targets[path.stem] = read_target(path)
        expectations = [*settings.expectations, *places.folders("suites/expectations", settings.root)]
        catalog = Catalog(settings.adapters)
        for folder in reversed(places.folders("fixtures/compilers", settings.root)):
            for path in sorted(folder.glob("*.toml")):
                catalog.describe(path)
        _check_options(catalog, settings.options)
        return Workspace(
            models,
            catalog,
            Toolchains(settings.toolchains),
            targets,
            settings.options,
            settings.calibration,
            tuple(expectations),
            tuple(places.folders("fixtures/operators", settings.root)),
            settings.search,
            settings.seed,
            notes=tuple(notes),
            variables=(*settings.environment, *_named_by_adapters(catalog)),
        )

    def cases(self) -> Mapping[str, Case]:
        """ONNX's backend tests by name, read on first use. Raises UsageError where there is no valid index."""
        return read_cases(find_index(self.operator_folders))

    def versions(self, adapters: Iterable[str], cell: Cell) -> dict[str, str]:
        """The locked versions of the distributions of a cell's adapters, its exporter and its importer."""
        found: dict[str, str] = {}
        for name in adapters:
            adapter = self.catalog[name]
            lock = self.toolchains.locked_versions(adapter.toolchain)
            used = [adapter.distribution, *(adapter.declaration.get("distributions", []))]
            if adapter.name == cell.framework and cell.exporter:
                used.append(adapter.exporters[cell.exporter].distribution)
            if adapter.name == cell.importer_framework:
                used.append(adapter.importers[cell.importer].distribution)
            found.update({name: lock[name] for name in used if name in lock})
        return found

    def locked_versions(self) -> dict[str, Mapping[str, str]]:
        """The locked versions by distribution, for each toolchain."""
        names: Sequence[str] = sorted({adapter.toolchain for adapter in self.catalog.adapters.values()})
        return {name: self.toolchains.locked_versions(name) for name in names}

    def titles(self) -> dict[str, Any]:
        """Titles and versions of frameworks, compilers and models for grids, and what compilers declare."""
        frameworks = {}
        for name, adapter in self.catalog.of_kind("framework").items():
            version = self.toolchains.locked_versions(adapter.toolchain).get(adapter.distribution, "")
            frameworks[name] = {"title": adapter.title, "version": version}
        compilers = {}
        for name, adapter in self.catalog.of_kind("compiler").items():
            several = "toolchains" in adapter.declaration  # it has as many versions as frameworks
            version = (
                "" if several else self.toolchains.locked_versions(adapter.toolchain).get(adapter.distribution, "")
            )
            compilers[name] = {
                "title": adapter.title, "version": version, "takes": list(adapter.takes),
                "precisions": {precision: list(graphs) for precision, graphs in adapter.graphs.items()},
                "targets": list(adapter.targets), "backends": list(adapter.backends),
            }  # fmt: skip
        models = {name: model.title for name, model in self.models.items()}
        return {"frameworks": frameworks, "compilers": compilers, "models": models}


def _named_by_adapters(catalog: Catalog) -> list[str]:
    """The environment variables that adapters and descriptions of commands declare, each once."""
    said = [adapter.declaration for adapter in catalog.adapters.values()]
    descriptions = [one.get("description", {}) for one in said]
    return sorted({name for one in (*said, *descriptions) for name in one.get("environment", ())})


def _check_options(catalog: Catalog, options: Mapping[str, Mapping[str, str]]) -> None:
    compilers = catalog.of_kind("compiler")
    for compiler, chosen in options.items():
        if compiler not in compilers:
            raise UsageError(f"--bench-option: unknown compiler {compiler!r}; {hint(compiler, compilers)}")
        declared: Mapping[str, list[str]] = compilers[compiler].declaration.get("options", {})
        for name, value in chosen.items():
            if name not in declared:
                listed = ", ".join(declared) or "none"
                raise UsageError(f"--bench-option: {compiler} has no option {name!r}; it has: {listed}")
            if value not in declared[name]:
                raise UsageError(
                    f"--bench-option: {compiler}.{name} is {value!r}; valid are: {', '.join(declared[name])}"
                )


def _content(path: Path) -> tuple[str, int]:
    """The content hash of a file with its external weights, and their size in bytes; read in chunks."""
    try:
        beside = [path.parent / location for location in external.locations(str(path))]
    except InvalidModel:
        beside = []  # the check reports it
    digests, size = [], 0
    for one in (path, *(one for one in beside if one.is_file())):
        with one.open("rb") as file:
            digests.append(hashlib.file_digest(file, "sha256").hexdigest())
        size += one.stat().st_size
    return digests[0] if len(digests) == 1 else hashlib.sha256("".join(digests).encode()).hexdigest(), size


def plain_model(path: Path) -> Model:
    """The model of a user's ONNX file; an agent reads its inputs later. Raises OSError for an unreadable file."""
    digest, size = _content(path)
    return Model(
        name=path.stem,
        title=path.name,
        family="",
        task="",
        application="",
        parameters=0,
        source=str(path),
        profiles=(),
        compiled_profiles=(),
        inputs=(),
        outputs=(),
        symbols={},
        constructors={},
        missing={},
        samples=16,
        seconds=300.0,
        memory_gb=2.0 + COPIES * size / 2**30,
        digest=digest,
        onnx=path.resolve(),
    )
