"""The check of what toolchains need: what is missing and how to fix it."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from bench_plugin.domain.errors import BenchError
from bench_plugin.domain.paths import cache_root
from bench_plugin.reach.environments.toolchains import Toolchains
from bench_plugin.reach.environments.uv import run_uv, uv_environment

GIB = 2**30
ROOM_NEEDED = 6 * GIB


@dataclass(frozen=True)
class Finding:
    """The result of one check; ``text`` says what was found and, unless it is ``fine``, how to fix it."""

    subject: str
    fine: bool
    text: str


def examine(toolchains: Toolchains) -> Iterator[Finding]:
    """Check uv, the cache folder, the registry and every toolchain, without installing anything."""
    yield _uv()
    yield _cache(cache_root())
    everything_ready = all(toolchains.ready(name) for name in toolchains.names)
    yield _registry(everything_ready)
    for name in toolchains.names:
        yield _toolchain(toolchains, name)


def _uv() -> Finding:
    try:
        return Finding("uv", True, run_uv(["--version"], folder=Path.home(), seconds=60).strip())
    except BenchError as error:
        return Finding("uv", False, str(error))


def _cache(root: Path) -> Finding:
    try:
        root.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=root):
            free = shutil.disk_usage(root).free
    except OSError as error:
        return Finding("cache", False, f"{root}: {error.strerror}; name another folder: BENCH_CACHE=DIR")
    if free < ROOM_NEEDED:
        text = f"{root}: {free / GIB:.1f} GiB free of {ROOM_NEEDED / GIB:.0f} needed"
        return Finding("cache", False, f"{text}; bench cache prune, or name another folder: BENCH_CACHE=DIR")
    return Finding("cache", True, f"{root}, {free / GIB:.0f} GiB free")


def _registry(everything_ready: bool) -> Finding:
    with tempfile.TemporaryDirectory(prefix="bench-doctor-") as scratch:
        asked = Path(scratch, "asked.txt")
        asked.write_text("packaging\n", "utf-8")
        try:
            run_uv(
                ["pip", "compile", "--quiet", "--no-deps", "--refresh", str(asked)], folder=Path(scratch), seconds=120
            )
        except BenchError as error:
            needed = (
                "not needed now, every toolchain is ready" if everything_ready else "check pip's or uv's index settings"
            )
            return Finding("registry", everything_ready, f"cannot be reached: {error}; {needed}")
    return Finding("registry", True, "answers")


def _toolchain(toolchains: Toolchains, name: str) -> Finding:
    subject = f"toolchain {name}"
    toolchain = toolchains[name]
    disagreement = toolchain.disagreement()
    if disagreement:
        return Finding(subject, False, disagreement)
    if toolchains.ready(name):
        changed = toolchains.changed(name)
        return Finding(subject, not changed, changed or f"ready in {toolchains.folder(name)}")
    try:
        toolchain.check_lock()
        toolchains.check_tools(name)
        interpreter = toolchains.interpreter(name)
    except BenchError as error:
        return Finding(subject, False, str(error))
    source = ""
    if "torch" in toolchain.locked_versions:
        found = uv_environment(os.environ).get("UV_FIND_LINKS")
        source = f"; torch from {found}" if found else "; torch from uv's --torch-backend=cpu"
    return Finding(
        subject, True, f"not made yet; made on first use, or: bench env sync {name} (with {interpreter}{source})"
    )
