"""Fingerprints: all that identifies the tools of a stage, for its recipe and for the keys of rows."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from bench_plugin.domain.recipes import recipe
from bench_plugin.inventory.adapters import BUILT_IN, Adapter, Catalog
from bench_plugin.inventory.declared_parts import content_of, declared_files, declared_variables
from bench_plugin.inventory.imports_beside import imports_beside
from bench_plugin.inventory.programs import Programs
from bench_plugin.reach.environments.toolchains import Toolchains
from bench_plugin.reach.host import host_facts
from bench_plugin.reach.processes.variables import for_agents, matches


class Fingerprints:
    """Makes the fingerprints of a run, each once; safe to use from several threads. ``host`` are the facts of the host,
    with those variables alone that agents get: what they do not get changes no result.

    Files, programs and variables are those of the moment when a fingerprint is asked for first.
    """

    def __init__(
        self, catalog: Catalog, toolchains: Toolchains, environment: Mapping[str, str] = os.environ, *,
        given: Iterable[str] = (),
    ) -> None:  # fmt: skip
        """``given`` are names and patterns of variables that agents get beside the usual ones."""
        self._catalog = catalog
        self._toolchains = toolchains
        self._environment = dict(environment)
        named = tuple(given)
        self.host: Mapping[str, Any] = host_facts(for_agents(self._environment, named).variables)
        self._given = {name: value for name, value in self._environment.items() if matches(name, named)}
        self._programs = Programs(self._environment)
        self._adapters: dict[str, Mapping[str, Any]] = {}
        self._digests: dict[tuple[str, str, str], str] = {}
        self._lock = threading.RLock()

    def of(self, adapter: str, toolchain: str = "", target: Mapping[str, Any] | None = None) -> Mapping[str, Any]:
        """What identifies an adapter in a toolchain (by default its own), as plain data.

        ``target`` is the description of the machine that a compiler compiles for: its ``gcc`` is one of the programs.
        Raises UsageError for a toolchain that does not exist, or whose lock and toml disagree.
        """
        toolchain = toolchain or self._catalog[adapter].toolchain
        with self._lock:
            parts = [self._part(name) for name in self._catalog.used(adapter)]
            programs = {name: self._programs.named(name) for name in self._toolchains[toolchain].tools}
            compiler = self._catalog[adapter]
            crosses = compiler.kind == "compiler" and not compiler.declaration.get("own_cross_compiler")
            cross = (target or {}).get("gcc") if crosses else None
            if cross:
                programs[cross] = self._programs.named(cross)
            return {
                "adapters": parts, "lock": self._toolchains.lock_hash(toolchain),
                "interpreter": self._toolchains.interpreter_version(toolchain), "programs": programs,
                "host": self.host["digest"], "environment": self._given,
            }  # fmt: skip

    def digest(self, adapter: str, toolchain: str = "", target: Mapping[str, Any] | None = None) -> str:
        """SHA-256 of :meth:`of`, 64 hex digits. Raises UsageError as that does."""
        toolchain = toolchain or self._catalog[adapter].toolchain
        place = (adapter, toolchain, str((target or {}).get("gcc", "")))
        with self._lock:
            if place not in self._digests:
                self._digests[place] = recipe(stage="tools", **self.of(adapter, toolchain, target))
            return self._digests[place]

    def _part(self, name: str) -> Mapping[str, Any]:
        if name not in self._adapters:
            self._adapters[name] = self._identified(self._catalog[name])
        return self._adapters[name]

    def _identified(self, adapter: Adapter) -> Mapping[str, Any]:
        """One adapter: its text, what it imports from its folder, what it declares, and the programs that it runs."""
        declared = adapter.declaration
        said = declared.get("description")
        texts, variables = declared.get("files", ()), declared.get("environment", ())
        part: dict[str, Any] = {"digest": adapter.digest}
        if said:
            part["command"] = self._described(adapter, said)
            texts, variables = (*texts, *said.get("files", ())), (*variables, *said.get("environment", ()))
        elif BUILT_IN not in adapter.path.parents:  # built-in adapters import only what they declare in "uses"
            part["imports"] = {key: content_of(path) for key, path in imports_beside(adapter.path).items()}
        folder = Path(said["path"]).parent if said else adapter.path.parent
        part["files"] = declared_files(folder, texts)
        part["environment"] = declared_variables(variables, self._environment)
        part["programs"] = {name: self._programs.named(name) for name in declared.get("needs", ())}
        return part

    def _described(self, adapter: Adapter, said: Mapping[str, Any]) -> Mapping[str, Any]:
        own = self._toolchains[adapter.toolchain].python
        if own is not None:
            return self._programs.described(said, python=own, folder=None)
        folder = self._toolchains.folder(adapter.toolchain)
        return self._programs.described(said, python=folder / "bin" / "python", folder=folder)
