"""The runtimes of a toolchain for boards: wheels for their machine, fetched here and packed as one tar.

Which distributions a board needs is the key ``boards`` of the toolchain's file; their versions are those of its lock,
so that an artefact runs with the version that compiled it. A board downloads nothing.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
import tarfile
import tempfile
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from bench_plugin.domain.errors import EnvironmentMissing, UsageError
from bench_plugin.domain.paths import cache_root
from bench_plugin.reach.environments.toolchain_file import PIN, Toolchain, normal
from bench_plugin.reach.environments.uv import run_uv

LAYOUT = 1  # of the archive; a change makes others
PLATFORM = "manylinux_2_28"  # the oldest C library of all runtimes' wheels
SITE = "lib/python{version}/site-packages"
# What no agent opens: headers, static libraries, types, numpy's own tests.
LEFT_OUT = re.compile(r"(^|/)(numpy/.*/tests|include)/|\.(pyi|a|h|hpp|lib)$|^bin/|(^|/)\.lock$")
_MAKING = threading.Lock()


@dataclass(frozen=True)
class Machine:
    """What wheels are chosen by: the architecture as of uname(1), and the version of Python, such as 3.11."""

    architecture: str
    python: str


@dataclass(frozen=True)
class Runtime:
    """A tar of an environment's folder, whose name is ``sha256``, that of the tar's content."""

    path: Path
    sha256: str


def pins(toolchain: Toolchain) -> str:
    """The lock of the distributions that boards need. Raises UsageError where there is none, or it is out of date."""
    if not toolchain.boards:
        raise UsageError(
            f"toolchain {toolchain.name} is not for boards: {toolchain.path} has no key boards, which names the "
            "distributions that its adapters need there"
        )
    path, again = toolchain.board_lock_path, f"make it: bench env lock {toolchain.name}"
    try:
        text = path.read_text("utf-8")
    except OSError as error:
        raise UsageError(f"{path}: cannot be read ({error.strerror}); {again}") from error
    found = {normal(name): version for name, version in PIN.findall(text)}
    for name in map(normal, toolchain.boards):
        wanted = toolchain.locked_versions.get(name)
        if found.get(name) != wanted or wanted is None:
            raise UsageError(
                f"{path}: {name} is {found.get(name)}, and {wanted} in {toolchain.lock_path.name}; {again}"
            )
    return text


def runtime(toolchain: Toolchain, machine: Machine, root: Path | None = None) -> Runtime:
    """The runtime of a toolchain for a machine, made once; ``root`` is the cache's folder.

    Raises EnvironmentMissing where its wheels cannot be had, UsageError as :func:`pins` does.
    """
    folder = place(toolchain, machine, root)
    with _MAKING:
        if not folder.exists():
            folder.parent.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryDirectory(dir=folder.parent, prefix=".making-") as scratch:
                _make(toolchain, machine, Path(scratch))
                try:
                    os.rename(Path(scratch, "made"), folder)
                except OSError:  # another run was faster
                    if not folder.exists():
                        raise
    path = next(folder.glob("*.tar"))
    return Runtime(path, path.stem)


def place(toolchain: Toolchain, machine: Machine, root: Path | None = None) -> Path:
    """The folder of a toolchain's runtime for a machine, made or not. Raises UsageError as :func:`pins` does."""
    said = [LAYOUT, PLATFORM, LEFT_OUT.pattern, machine.architecture, machine.python, pins(toolchain)]
    key = hashlib.sha256(json.dumps(said).encode())
    return (root or cache_root()) / "boards" / "runtimes" / f"{toolchain.name}-{key.hexdigest()[:16]}"


def made_before(toolchain: Toolchain, machine: Machine, root: Path | None = None) -> Runtime | None:
    """The runtime of a toolchain for a machine if it was made. Raises UsageError as :func:`pins` does."""
    path = next(place(toolchain, machine, root).glob("*.tar"), None)
    return None if path is None else Runtime(path, path.stem)


def disk(made: Runtime) -> Path | None:
    """The runtime as a disk with one folder, named ``sha256``, for emulated boards; None where mke2fs is missing.

    An emulated board takes half a minute to receive a runtime and to unpack it; of a disk it reads what it opens.
    """
    tool = shutil.which("mke2fs", path=f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin")
    path = made.path.with_suffix(".ext4")
    if tool is None or path.exists():
        return path if path.exists() else None
    with _MAKING, tempfile.TemporaryDirectory(dir=path.parent.parent, prefix=".making-") as scratch:
        content = Path(scratch, "content", made.sha256)
        with tarfile.open(made.path) as archive:
            archive.extractall(content, filter="data")
        size = f"{made.path.stat().st_size * 5 // 4 // 2**20 + 32}M"
        options = ["-q", "-F", "-t", "ext4", "-O", "^has_journal", "-E", "root_owner=0:0", "-d", str(content.parent)]
        image = Path(scratch, "image")
        done = subprocess.run([tool, *options, str(image), size], capture_output=True, check=False)
        if done.returncode != 0:
            raise EnvironmentMissing(f"{tool} failed: {done.stderr.decode('utf-8', 'replace').strip()}")
        image.rename(path)
    return path


def _make(toolchain: Toolchain, machine: Machine, scratch: Path) -> None:
    site = scratch / "root" / SITE.format(version=machine.python)
    lock, made = scratch / "board.lock", scratch / "made"
    lock.write_text(pins(toolchain), "utf-8")
    made.mkdir()
    options = [
        "--no-deps", "--require-hashes", "--only-binary", ":all:", "--python-version", machine.python,
        "--python-platform", f"{machine.architecture}-{PLATFORM}", "--target", str(site),
    ]  # fmt: skip
    try:
        run_uv(["pip", "install", *options, "-r", str(lock)], folder=scratch)
    except EnvironmentMissing as error:
        raise EnvironmentMissing(
            f"the runtimes of toolchain {toolchain.name} for Python {machine.python} on {machine.architecture} cannot "
            f"be fetched: {error}"
        ) from error
    _compile(site, machine.python, scratch)
    packed = scratch / "packed.tar"
    with tarfile.open(packed, "w") as archive:
        for path in _files(scratch / "root"):
            archive.add(path, path.relative_to(scratch / "root").as_posix(), recursive=False, filter=_plain)
    packed.rename(made / f"{digest(packed)}.tar")
    shutil.rmtree(scratch / "root")


def _compile(site: Path, version: str, scratch: Path) -> None:
    """Byte code beside the sources, where this machine has that version of Python: boards are slow at making it."""
    try:
        python = run_uv(["python", "find", version], folder=scratch).strip()
    except EnvironmentMissing:
        return
    options = ["-q", "--invalidation-mode", "unchecked-hash", "-s", str(site.parents[2]), "-p", "/"]
    subprocess.run([python, "-m", "compileall", *options, str(site)], capture_output=True, check=False)


def _files(root: Path) -> Iterator[Path]:
    """The files of an environment that agents open, in order."""
    for path in sorted(root.rglob("*")):
        inside = path.relative_to(root).as_posix().partition("/site-packages/")[2]
        if path.is_file() and not LEFT_OUT.search(inside):
            yield path


def _plain(member: tarfile.TarInfo) -> tarfile.TarInfo:
    """Without what differs between two machines that pack the same."""
    member.uid = member.gid = member.mtime = 0
    member.uname = member.gname = ""
    member.mode = 0o755 if member.mode & 0o100 else 0o644
    return member


def digest(path: Path) -> str:
    """SHA-256 of a file, 64 hex digits."""
    found = hashlib.sha256()
    with path.open("rb") as file:
        while part := file.read(1 << 20):
            found.update(part)
    return found.hexdigest()
