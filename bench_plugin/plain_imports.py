"""Keeps our modules out of pytest's rewriting of asserts, which is for modules of tests."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType

PACKAGE = "bench_plugin."
SUITES = "bench_plugin.data."


class PlainImports(MetaPathFinder):
    """Finds our modules as Python does, before pytest's finder is asked.

    pytest marks every module of a distribution that brings a plugin. It would parse and rewrite ours at every start
    where compiled modules are not kept (PYTHONDONTWRITEBYTECODE), although none of them is a test. The suites are.
    """

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """The specification of one of our modules; None for any other, and for the suites."""
        if not fullname.startswith(PACKAGE) or fullname.startswith(SUITES):
            return None
        return PathFinder.find_spec(fullname, path, target)

    def install(self) -> None:
        """Be asked first from now on."""
        sys.meta_path.insert(0, self)

    def remove(self) -> None:
        """Be asked no longer."""
        sys.meta_path.remove(self)
