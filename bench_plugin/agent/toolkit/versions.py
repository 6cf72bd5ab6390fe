"""Versions of installed distributions, as an adapter reports them."""

from __future__ import annotations

import importlib.metadata
from typing import Dict


def installed(*names: str) -> Dict[str, str]:
    """The version of each distribution. Raises importlib.metadata.PackageNotFoundError where one is absent."""
    return {name: importlib.metadata.version(name) for name in names}


def found(*names: str) -> Dict[str, str]:
    """The versions of those distributions that are installed: an adapter works in several toolchains."""
    versions = {}
    for name in names:
        try:
            versions[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return versions
