"""Make the lock of a toolchain from its requirements: with hashes, without hosts, for its interpreter."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping
from pathlib import Path

from bench_plugin.domain.errors import UsageError
from bench_plugin.reach.environments.toolchain_file import Toolchain, normal, read_toolchain
from bench_plugin.reach.environments.toolchains import Toolchains
from bench_plugin.reach.environments.uv import run_uv, uv_environment

BOARD_PYTHON = "3.11"  # that a lock for boards is resolved with; its hashes are those of all versions' files


def make_lock(toolchains: Toolchains, name: str, *, upgrade: bool = False) -> Mapping[str, tuple[str, str]]:
    """Write ``<name>.lock`` and return the changes: (version before, version now) by distribution.

    Pins of the present lock are kept where the requirements allow it, unless ``upgrade``. Raises EnvironmentMissing
    when the registry cannot be reached, UsageError when the requirements bring in a forbidden distribution.
    """
    toolchain = toolchains[name]
    before = toolchain.locked_versions if _has_lock(toolchain) else {}
    with tempfile.TemporaryDirectory(prefix="bench-lock-") as scratch:
        made = _compile(toolchain, toolchains.interpreter(name), Path(scratch), upgrade=upgrade)
        made.check_lock()
        try:
            fresh = toolchain.lock_path.with_suffix(".lock.new")
            fresh.write_text(made.lock_text, "utf-8")
            os.replace(fresh, toolchain.lock_path)
        except OSError as error:
            raise UsageError(f"{toolchain.lock_path}: cannot be written: {error.strerror}") from error
    after = made.locked_versions
    if toolchain.boards:
        make_board_lock(read_toolchain(toolchain.path))
    names = sorted({*before, *after})
    return {one: (before.get(one, ""), after.get(one, "")) for one in names if before.get(one) != after.get(one)}


def make_board_lock(toolchain: Toolchain) -> None:
    """Write the lock of the distributions that boards need: the versions of the toolchain's lock, for their machine.

    Raises EnvironmentMissing when the registry cannot be reached, UsageError for a distribution that the lock has not.
    """
    versions = toolchain.locked_versions
    for name in toolchain.boards:
        if normal(name) not in versions:
            raise UsageError(f"{toolchain.path}: boards: {name} is not in {toolchain.lock_path.name}")
    with tempfile.TemporaryDirectory(prefix="bench-lock-") as scratch:
        asked, lock = Path(scratch, "requirements.txt"), Path(scratch, "board.lock")
        asked.write_text("".join(f"{name}=={versions[normal(name)]}\n" for name in toolchain.boards), "utf-8")
        options = ["--quiet", "--generate-hashes", "--no-header", "--no-annotate", "--no-build", "--no-deps"]
        where = ["--python-platform", "aarch64-manylinux_2_28", "--python-version", BOARD_PYTHON]
        run_uv(["pip", "compile", *options, *where, "--output-file", str(lock), str(asked)], folder=Path(scratch))
        text = lock.read_text("utf-8")
    toolchain.board_lock_path.parent.mkdir(exist_ok=True)
    fresh = toolchain.board_lock_path.with_suffix(".lock.new")
    fresh.write_text(text, "utf-8")
    os.replace(fresh, toolchain.board_lock_path)


def _has_lock(toolchain: Toolchain) -> bool:
    """Whether there is a lock to begin with; one that is not a text is made anew."""
    try:
        return bool(toolchain.lock_text)
    except UsageError:
        return False


def _compile(toolchain: Toolchain, interpreter: Path, scratch: Path, *, upgrade: bool) -> Toolchain:
    """The toolchain with a new lock, in the folder ``scratch``."""
    path = scratch / toolchain.path.name
    path.write_bytes(toolchain.path.read_bytes())
    requirements, overrides, lock = scratch / "requirements.txt", scratch / "overrides.txt", path.with_suffix(".lock")
    requirements.write_text("\n".join(toolchain.requirements) + "\n", "utf-8")
    overrides.write_text("\n".join(toolchain.overrides) + "\n", "utf-8")
    if _has_lock(toolchain):
        lock.write_text(toolchain.lock_text, "utf-8")
    options = ["--quiet", "--generate-hashes", "--no-header", "--no-annotate", "--no-build"]
    if upgrade:
        options.append("--upgrade")
    if any(one.startswith("torch==") for one in toolchain.requirements) and "UV_FIND_LINKS" not in uv_environment(
        os.environ
    ):
        options.append("--torch-backend=cpu")
    files = ["--override", str(overrides), "--output-file", str(lock), str(requirements)]
    run_uv(["pip", "compile", *options, "--python", str(interpreter), *files], folder=scratch)
    return read_toolchain(path)
