"""What a run works with, all of it data: models, adapters, toolchains, targets, expectation folders."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench_plugin.core import places
from bench_plugin.core.catalog import Catalog
from bench_plugin.core.cell import Cell
from bench_plugin.core.errors import UsageError
from bench_plugin.core.models import Model, load_models
from bench_plugin.core.recipes import recipe
from bench_plugin.core.settings import Settings
from bench_plugin.reach.toolchains import Toolchains
from bench_plugin.reach.zipapp import agent_digest

TOOLS = ("onnx_check", "onnx_float64", "onnx_mutants", "onnxruntime")


@dataclass(frozen=True)
class Workspace:
    """Loaded once per run; nothing in it runs a framework."""

    models: Mapping[str, Model]
    catalog: Catalog
    toolchains: Toolchains
    targets: tuple[str, ...]
    expectation_folders: tuple[Path, ...]

    @staticmethod
    def load(settings: Settings) -> Workspace:
        """Read every file that the settings point to. Raises UsageError for the first that is wrong."""
        models = load_models([*settings.models, *places.folders("fixtures/models", settings.root)])
        for path in settings.selection.onnx_files:
            model = plain_model(path)
            if model.name in models:
                raise UsageError(f"--bench-model: {path.name} has the name of a model of the project; rename the file")
            models[model.name] = model
        targets = [
            path.stem
            for folder in places.folders("boards/targets", settings.root)
            for path in sorted(folder.glob("*.toml"))
        ]
        expectations = [*settings.expectations, *places.folders("suites/expectations", settings.root)]
        return Workspace(
            models,
            Catalog(settings.adapters),
            Toolchains(settings.toolchains),
            tuple(dict.fromkeys(["local", *targets])),
            tuple(expectations),
        )

    def adapters_of(self, cell: Cell) -> list[str]:
        """The adapters that a round-trip cell uses."""
        frameworks = [name for name in (cell.framework, cell.importer_framework) if name in self.catalog.adapters]
        return list(dict.fromkeys([*frameworks, *TOOLS]))

    def key(self, cell: Cell, seed: int, overrides: Mapping[str, float]) -> str:
        """The row's key: 12 hex digits over the cell and all that decides its outcome, locks and adapters included."""
        from bench_plugin.compare.table import TABLE_HASH

        adapters = [self.catalog[name] for name in self.adapters_of(cell)]
        locks = {adapter.toolchain: self.toolchains.lock_hash(adapter.toolchain) for adapter in adapters}
        return recipe(
            stage="cell", cell=cell.axes(), model=self.models[cell.model].digest, seed=seed, tolerances=dict(overrides),
            table=TABLE_HASH, adapters=[adapter.digest for adapter in adapters], locks=locks, agent=agent_digest(),
        )[:12]  # fmt: skip

    def versions(self, cell: Cell) -> dict[str, str]:
        """Locked versions of the distributions that a cell speaks of: frameworks, converters, onnx, onnxruntime."""
        found: dict[str, str] = {}
        for name in self.adapters_of(cell):
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
        """Every toolchain's lock: distribution -> version."""
        names: Sequence[str] = sorted({adapter.toolchain for adapter in self.catalog.adapters.values()})
        return {name: self.toolchains.locked_versions(name) for name in names}

    def titles(self) -> dict[str, Any]:
        """How grids call frameworks and models: title and version."""
        frameworks = {}
        for name, adapter in self.catalog.of_kind("framework").items():
            version = self.toolchains.locked_versions(adapter.toolchain).get(adapter.distribution, "")
            frameworks[name] = {"title": adapter.title, "version": version}
        return {"frameworks": frameworks, "models": {name: model.title for name, model in self.models.items()}}


def plain_model(path: Path) -> Model:
    """A model that is just an ONNX file; its inputs are read by an agent when a cell runs."""
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
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
        memory_gb=2.0,
        digest=digest,
        onnx=path.resolve(),
    )
