"""A board: one reachable machine of a target, as ``boards/<name>.toml`` describes it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Board:
    """A board by name. ``target`` is the name of its target's file.

    ``kind`` is the kind of reach (a file of ``reach/boards/``), ``settings`` the other keys of the table ``reach``.
    """

    name: str
    target: str
    kind: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    title: str = ""
