"""The engines by name: each is the file of that name in this folder."""

from __future__ import annotations

from importlib import import_module
from typing import cast

from bench_plugin.session.engines.protocol import EngineModule


def engine_module(name: str) -> EngineModule:
    """The file of an engine; it is imported only where the engine is asked for."""
    return cast(EngineModule, import_module(f"bench_plugin.session.engines.{name}"))
