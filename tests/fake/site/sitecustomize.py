"""Adds the tests' own kind of reach to every process of a run; its folder is on PYTHONPATH of these runs alone."""

from __future__ import annotations

from pathlib import Path

import bench_plugin.reach.boards as kinds
from bench_plugin.reach.boards import registry

registry.MODULES["wired"] = "wired"
kinds.__path__.append(str(Path(__file__).parents[1] / "boards"))
