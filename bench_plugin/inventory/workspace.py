"""The workspace of a run: models, adapters, toolchains, targets and expectation folders, all of them data."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from bench_plugin.domain import paths as places
from bench_plugin.domain.cell import Cell
from bench_plugin.domain.errors import UsageError
from bench_plugin.domain.recipes import recipe
from bench_plugin.domain.settings import Settings
from bench_plugin.domain.texts.choices import hint
from bench_plugin.inventory.adapters import Adapter, Catalog
from bench_plugin.inventory.cases import Case, find_index, read_cases
from bench_plugin.inventory.fingerprints import Fingerprints
from bench_plugin.inventory.hardware.board_file import read_reach
from bench_plugin.inventory.hardware.target_file import for_tools, read_target
from bench_plugin.inventory.inputs_file import InputsFile, read_inputs
from bench_plugin.inventory.models import Model, load_models
from bench_plugin.reach.boards.board import Board
from bench_plugin.reach.boards.leasing.candidates import candidates
from bench_plugin.reach.boards.reach import Reach
from bench_plugin.reach.environments.toolchains import Toolchains
from bench_plugin.reach.processes.given_files import with_digests

LOCAL = "local"
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
    boards: Mapping[str, Reach] = field(default_factory=dict)  # by name; each is also one of the ``targets``
    hardware: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)  # the whole files of targets, with figures

    @staticmethod
    def load(settings: Settings) -> Workspace:
        """Read every file that the settings point to. Raises UsageError for the first that is not valid."""
        notes: list[str] = []
        models = load_models([*settings.models, *places.folders("fixtures/models", settings.root)], notes.append)
        inputs = dict(zip(settings.selection.onnx_files, settings.selection.onnx_inputs, strict=False))
        for path in settings.selection.onnx_files:
            try:
                model = plain_model(path, read_inputs(inputs[path]) if path in inputs else None)
            except OSError as error:
                raise UsageError(f"--bench-onnx: {path} cannot be read: {error.strerror}") from error
            if model.name in models:
                raise UsageError(f"--bench-onnx: {path.name} has the name of a model of the project; rename the file")
            models[model.name] = model
        _add_own_files(models, settings)
        hardware: dict[str, Mapping[str, Any]] = {"local": {"name": "local"}}
        for folder in reversed(places.folders("boards/targets", settings.root)):
            for path in sorted(folder.glob("*.toml")):
                hardware[path.stem] = read_target(path)
        boards = _boards(settings.root, hardware)
        targets = {name: for_tools(target) for name, target in hardware.items()}
        targets.update({name: _limited(targets, one.board) for name, one in boards.items() if name not in hardware})
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
            variables=(*settings.environment, *_declared(catalog, models.values())),
            boards=boards,
            hardware=hardware,
        )

    @cached_property
    def fingerprints(self) -> Fingerprints:
        """What identifies the tools of this run, for recipes and keys."""
        return Fingerprints(self.catalog, self.toolchains, given=self.variables)

    def target_name(self, target: str) -> str:
        """The name of a target's file, for a name of the axis of targets, which may be that of a board."""
        if target in self.hardware:
            return target
        return next((self.boards[name].board.target for name in self.boards_of(target)), target)

    def description(self, target: str) -> Mapping[str, Any] | None:
        """What compilers are told of a target, or of the target of a board; None for a name that nothing has."""
        if target in self.targets:
            return self.targets[target]
        return next((_limited(self.targets, self.boards[name].board) for name in self.boards_of(target)), None)

    def simulates(self, target: str) -> bool:
        """Whether a target is one that the runtime of its compiler simulates on this machine."""
        return bool(self.targets.get(target, {}).get("simulated"))

    def runs_here(self, target: str) -> bool:
        """Whether an artefact for the target runs on this machine, and needs no board."""
        return target == LOCAL or self.simulates(target)

    def boards_of(self, target: str) -> tuple[str, ...]:
        """The boards that a name of the axis of targets stands for: those of that target, or the board of that name."""
        return candidates({name: one.board for name, one in self.boards.items()}, target)

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
        """The locked versions by distribution, for each toolchain whose lock can be read."""
        names: Sequence[str] = sorted({adapter.toolchain for adapter in self.catalog.adapters.values()})
        return {name: lock for name in names if (lock := self.lock(name))}

    def lock(self, toolchain: str) -> Mapping[str, str]:
        """The locked versions by distribution; none where there is no lock that can be read.

        What is only listed needs no lock. A run that selects the toolchain gets the error from the keys of its cells.
        """
        try:
            return self.toolchains.locked_versions(toolchain)
        except UsageError:
            return {}

    def version(self, adapter: Adapter) -> str:
        """The version of an adapter's tool, or of the build of it that its toolchain has; "" where none is known."""
        lock = self.lock(adapter.toolchain)
        return lock.get(adapter.build(lock), "")

    def titles(self) -> dict[str, Any]:
        """Titles and versions of frameworks, compilers and models for grids, and what compilers declare."""
        frameworks = {}
        for name, adapter in self.catalog.of_kind("framework").items():
            version = self.version(adapter)
            frameworks[name] = {"title": adapter.title, "version": version}
        compilers = {}
        for name, adapter in self.catalog.of_kind("compiler").items():
            several = "toolchains" in adapter.declaration  # it has as many versions as frameworks
            version = "" if several else self.version(adapter)
            compilers[name] = {
                "title": adapter.title, "version": version, "takes": list(adapter.takes),
                "precisions": {precision: list(graphs) for precision, graphs in adapter.graphs.items()},
                "targets": list(adapter.targets), "backends": list(adapter.backends),
            }  # fmt: skip
        models = {name: model.title for name, model in self.models.items()}
        families = {name: model.family for name, model in self.models.items() if model.family}
        tasks = {name: model.task for name, model in self.models.items() if model.task}
        return {
            "frameworks": frameworks, "compilers": compilers, "models": models, "families": families, "tasks": tasks,
        }  # fmt: skip


def _add_own_files(models: dict[str, Model], settings: Settings) -> None:
    """The ONNX files that the configuration names. One that the command line names, too, is the model already.

    Raises UsageError for a file that cannot be read, or has the name of another model.
    """
    named = {path.resolve() for path in settings.selection.onnx_files}
    for path in settings.onnx:
        if path.resolve() in named:
            continue
        try:
            model = plain_model(path)
        except OSError as error:
            raise UsageError(f"configuration: onnx: {path} cannot be read: {error.strerror}") from error
        if model.name in models:
            raise UsageError(
                f"configuration: onnx: {path.name} has the name of another model of the project; rename the file"
            )
        models[model.name] = model


def _boards(root: Path, targets: Mapping[str, Any]) -> dict[str, Reach]:
    """The boards of the project and of the plugin, by name; a file of the project comes before the plugin's."""
    found: dict[str, Reach] = {}
    for folder in reversed(places.folders("boards", root)):
        for path in sorted(folder.glob("*.toml")):
            found[path.stem] = read_reach(path, targets)
    return found


def _limited(targets: Mapping[str, Mapping[str, Any]], board: Board) -> dict[str, Any]:
    """The target of a board, with the memory that models may use on this one."""
    own = {"flash_bytes": board.flash_bytes, "ram_bytes": board.ram_bytes}
    return {**targets[board.target], **{key: size for key, size in own.items() if size}}


def _declared(catalog: Catalog, models: Iterable[Model]) -> list[str]:
    """The environment variables that adapters, descriptions of commands and models declare, each once."""
    said = [adapter.declaration for adapter in catalog.adapters.values()]
    descriptions = [one.get("description", {}) for one in said]
    named = {name for one in (*said, *descriptions) for name in one.get("environment", ())}
    return sorted(named.union(*(model.environment for model in models)))


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


def plain_model(path: Path, given: InputsFile | None = None) -> Model:
    """The model of a user's ONNX file, with the user's own inputs if there are any; an agent reads later which inputs
    it has. Its content is hashed now.

    Raises OSError for an unreadable file.
    """
    file = with_digests(path.resolve())
    size = sum(one.stat().st_size for one in (file.path, *(file.path.parent / name for name in file.beside)))
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
        digest=recipe(stage="model", file=file.content, inputs=given.digest) if given else file.content,
        onnx=file,
        given=given,
    )
