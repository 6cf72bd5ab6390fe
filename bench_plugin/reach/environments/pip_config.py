"""pip's configuration of the package registry, read without pip: configuration files, then PIP_ variables."""

from __future__ import annotations

import configparser
import os
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from bench_plugin.domain.errors import UsageError


@dataclass(frozen=True)
class PipConfig:
    """pip's settings of where distributions come from; empty where they are not set."""

    index_url: str = ""
    extra_index_urls: tuple[str, ...] = ()
    find_links: tuple[str, ...] = ()
    cert: str = ""
    no_index: bool = False


def read_pip_config(environment: Mapping[str, str]) -> PipConfig:
    """The configuration of ``pip install`` under these environment variables, in pip's own order of precedence."""
    settings: dict[str, str] = {}
    for path in _files(environment):
        settings.update(_settings(path))
    prefix = "PIP_"
    for name, value in environment.items():
        if name.startswith(prefix) and value:
            settings[name.removeprefix(prefix).lower().replace("_", "-")] = value
    return PipConfig(
        index_url=settings.get("index-url", ""),
        extra_index_urls=tuple(settings.get("extra-index-url", "").split()),
        find_links=tuple(settings.get("find-links", "").split()),
        cert=settings.get("cert", ""),
        no_index=settings.get("no-index", "").lower() in {"1", "true", "yes", "on"},
    )


def _files(environment: Mapping[str, str]) -> Iterator[Path]:
    named = environment.get("PIP_CONFIG_FILE")
    if named == os.devnull:
        return
    for folder in reversed(environment.get("XDG_CONFIG_DIRS", "/etc/xdg").split(os.pathsep)):
        yield Path(folder, "pip", "pip.conf")
    yield Path("/etc/pip.conf")
    home = environment.get("HOME")
    if home:
        yield Path(home, ".pip", "pip.conf")
        yield Path(environment.get("XDG_CONFIG_HOME") or Path(home, ".config"), "pip", "pip.conf")
    yield Path(sys.prefix, "pip.conf")
    if named:
        yield Path(named)


def _settings(path: Path) -> dict[str, str]:
    parser = configparser.RawConfigParser()
    try:
        text = path.read_text("utf-8")
    except OSError:
        return {}
    try:
        parser.read_string(text, str(path))
    except configparser.Error as error:
        raise UsageError(f"{path}: pip's configuration cannot be read: {error}") from error
    found: dict[str, str] = {}
    for section in ("global", "install"):
        if parser.has_section(section):
            found.update({key.replace("_", "-"): value for key, value in parser.items(section)})
    return found
