"""The files of a toolchain: ``<name>.toml`` describes it and its requirements, ``<name>.lock`` pins it with hashes."""

from __future__ import annotations

import hashlib
import json
import re
import sys
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Annotated

from packaging.requirements import InvalidRequirement, Requirement
from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.version import InvalidVersion

from bench_plugin.domain.errors import UsageError
from bench_plugin.domain.records import Record, about, read
from bench_plugin.reach.environments.own_environment import OwnEnvironment, examine

HOST = "host"
PIN = re.compile(r"^([A-Za-z0-9][A-Za-z0-9._-]*)==([^\s;\\]+)", re.MULTILINE)
PLACES = ("-i ", "-f ", "--index", "--extra-index", "--find-links")


Texts = tuple[str, ...]


class ToolchainFile(Record, frozen=True):
    """An isolated Python environment. The lock beside it, ``<name>.lock``, pins what is installed."""

    title: Annotated[str, about("what it is called")]
    interpreter: Annotated[str, about("the range of Python versions, such as '>=3.11,<3.12'")] = ""
    python: Annotated[
        str, about("the interpreter of an environment that you keep yourself: host (that of pytest), or a path")
    ] = ""
    memory_gb: Annotated[float, about("resident size that its agent may reach, in GiB", gt=0)] = 8
    serves: Annotated[Texts, about("frameworks and tools that it is for (default: its name)")] = ()
    requirements: Annotated[Texts | None, about("what the lock is made from, as pip writes requirements")] = None
    overrides: Annotated[Texts, about("requirements that win over those of distributions")] = ()
    tools: Annotated[Texts, about("executables that it needs from the system")] = ()
    boards: Annotated[Texts, about("distributions of the lock that its adapters need on boards")] = ()
    no_deps: Annotated[bool, about("install the lock alone, whatever distributions ask for")] = False

    def __post_init__(self) -> None:
        """Raises ValueError for a key that is missing, or that does not go with the user's own interpreter."""
        if not self.python and not self.interpreter:
            raise ValueError("interpreter is missing")
        if not self.python and self.requirements is None:
            raise ValueError("requirements is missing")
        try:
            SpecifierSet(self.interpreter)
        except InvalidSpecifier as error:
            raise ValueError(
                f"interpreter must be a version range such as '>=3.11,<3.12', found {self.interpreter!r}"
            ) from error


@dataclass(frozen=True)
class Toolchain:
    """An isolated Python environment, as its two files describe it.

    ``interpreter`` is a range of Python versions, ``memory_gb`` the limit of its agent's resident memory in GiB, and
    ``tools`` are the executables that it needs from the system. The lock is made from ``requirements`` and
    ``overrides``; with ``no_deps`` only the lock is installed, whatever the metadata of distributions requires.
    ``python`` is the interpreter of an environment that the user maintains: it is used unchanged, and the
    distributions installed in it take the place of a lock.
    """

    name: str
    title: str
    interpreter: str
    memory_gb: float
    serves: tuple[str, ...]
    requirements: tuple[str, ...]
    overrides: tuple[str, ...]
    tools: tuple[str, ...]
    no_deps: bool
    path: Path
    python: Path | None = None
    boards: tuple[str, ...] = ()

    @property
    def lock_path(self) -> Path:
        """The lock file beside the toml."""
        return self.path.with_suffix(".lock")

    @property
    def board_lock_path(self) -> Path:
        """The lock of ``boards``, with the hashes of their files for other machines than this."""
        return self.path.parent / "boards" / f"{self.name}.lock"

    @cached_property
    def own(self) -> OwnEnvironment | None:
        """What is in the environment that the user maintains, examined once; None for one that is made by a lock."""
        return None if self.python is None else examine(self.python)

    @cached_property
    def lock_text(self) -> str:
        """The text of the lock, or the distributions of the user's own environment in the same form.

        Raises UsageError when there is no lock, or it is not a text.
        """
        if self.own is not None:
            return "".join(f"{name}=={version}\n" for name, version in sorted(self.own.versions.items()))
        try:
            return self.lock_path.read_text("utf-8")
        except OSError as error:
            raise UsageError(
                f"{self.lock_path}: cannot be read ({error.strerror}); make it: bench env lock {self.name}"
            ) from error
        except UnicodeDecodeError as error:
            raise UsageError(f"{self.lock_path}: not a text; make it again: bench env lock {self.name}") from error

    @cached_property
    def locked_versions(self) -> dict[str, str]:
        """The version of every pinned distribution, by its name in lower case with dashes."""
        return {normal(name): version for name, version in PIN.findall(self.lock_text)}

    @cached_property
    def lock_hash(self) -> str:
        """SHA-256 of all that decides what is installed (lock, interpreter range, options), 64 hex digits.

        For an environment that the user maintains: of all that is installed in it.
        """
        if self.own is not None:
            return self.own.identity
        options = json.dumps([self.interpreter, self.no_deps])
        return hashlib.sha256(f"{options}\n{self.lock_text}".encode()).hexdigest()

    def check_lock(self) -> None:
        """Raises UsageError for a lock with CUDA packages or a source, or that disagrees with the toml."""
        for number, line in enumerate(self.lock_text.splitlines(), 1):
            where = f"{self.lock_path}:{number}"
            if normal(line).startswith("nvidia-"):
                what = line.split()[0]
                raise UsageError(f"{where}: {what}: no toolchain may hold nvidia packages; pin torch==<version>+cpu")
            if line.lstrip().startswith(PLACES) or "://" in line:
                raise UsageError(f"{where}: a lock names no place to install from, found: {line.strip()}")
        disagreement = self.disagreement()
        if disagreement:
            raise UsageError(disagreement)

    def disagreement(self) -> str:
        """Which pin of the lock is not what the toml requires, and how to fix it; empty when they agree.

        An override concerns only distributions in the lock, because most overrides exclude one. An environment that
        the user maintains has no lock to disagree with.
        """
        if self.python is not None:
            return ""
        asked = [(Requirement(text), True) for text in self.requirements]
        overriding = [(Requirement(text), False) for text in self.overrides]
        for requirement, needed in (*asked, *overriding):
            locked = self.locked_versions.get(normal(requirement.name))
            if (locked is None and not needed) or (requirement.marker and not requirement.marker.evaluate()):
                continue
            if locked is None or not _contains(requirement.specifier, locked):
                found = f"{requirement.name}=={locked}" if locked else f"no {requirement.name}"
                return (
                    f"{self.lock_path}: {self.path.name} asks for {requirement.name}{requirement.specifier}, the lock "
                    f"has {found}; make it again: bench env lock {self.name}"
                )
        return ""


def _contains(asked: SpecifierSet, version: str) -> bool:
    try:
        return asked.contains(version, prereleases=True)
    except InvalidVersion:
        return False


def normal(name: str) -> str:
    """The name of a distribution as package indexes compare it (PEP 503)."""
    return re.sub(r"[-_.]+", "-", name).lower()


def read_toolchain(path: Path) -> Toolchain:
    """Read ``path``. Raises UsageError that names the file, the line, the key and what would be right."""
    said = read(path, ToolchainFile)
    for key, texts in (("requirements", said.requirements or ()), ("overrides", said.overrides)):
        for text in texts:
            _check_requirement(path, key, text)
    return Toolchain(
        name=path.stem, title=said.title, interpreter=said.interpreter, memory_gb=said.memory_gb,
        serves=said.serves or (path.stem,), requirements=said.requirements or (), overrides=said.overrides,
        tools=said.tools, no_deps=said.no_deps, path=path,
        python=_own_python(path, said.python) if said.python else None, boards=said.boards,
    )  # fmt: skip


def _check_requirement(path: Path, key: str, text: str) -> None:
    try:
        Requirement(text)
    except InvalidRequirement as error:
        raise UsageError(f"{path}: {key}: {text!r} is not a requirement such as 'onnx==1.23.2': {error}") from error


def _own_python(path: Path, text: str) -> Path:
    """The user's interpreter: ``host`` for the one that runs pytest, else a path relative to the toml."""
    return Path(sys.executable) if text == HOST else path.parent / Path(text).expanduser()
