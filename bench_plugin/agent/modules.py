"""Adapters as modules: each under its dotted name, so that one imports another by a plain import.

Their packages are empty: what was not sent cannot be imported, whatever lies on this machine's disk.
"""

from __future__ import annotations

import importlib.util
import re
import sys
from types import ModuleType

OWN = "bench_plugin.adapters.own."  # adapters that are not built in


def own(name: str) -> str:
    """The dotted name of an adapter that is not built in, by its ADAPTER name."""
    return OWN + re.sub(r"\W", "_", name)


def loaded(module: str, path: str) -> ModuleType:
    """The file as the module of that dotted name, run once more if it was there before. Raises what the file raises."""
    spec = importlib.util.spec_from_file_location(module, path)
    if spec is None or spec.loader is None:
        raise ImportError("%s cannot be loaded" % path)
    found = importlib.util.module_from_spec(spec)
    package, _, name = module.rpartition(".")
    sys.modules[module] = found
    setattr(_package(package), name, found)
    spec.loader.exec_module(found)
    return found


def _package(name: str) -> ModuleType:
    """A package by its dotted name, with its parents; an empty one where there is none in this process."""
    if name in sys.modules:
        return sys.modules[name]
    package = sys.modules[name] = ModuleType(name)
    package.__path__ = []
    parent, _, last = name.rpartition(".")
    if parent:
        setattr(_package(parent), last, package)
    return package
