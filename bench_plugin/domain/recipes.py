"""Recipes: one hash of all that a stage's result depends on, which is its address in the cache."""

from __future__ import annotations

import hashlib
import json
from typing import Any


def recipe(*, stage: str, **parts: Any) -> str:
    """SHA-256 of the canonical JSON of all parts, 64 hex digits. Raises TypeError for parts that are not plain data."""
    text = json.dumps({"stage": stage, **parts}, sort_keys=True, separators=(",", ":"), allow_nan=False, default=_plain)
    return hashlib.sha256(text.encode()).hexdigest()


def _plain(value: Any) -> Any:
    if hasattr(value, "items"):
        return dict(value)
    raise TypeError(f"{value!r} cannot be a part of a recipe")
