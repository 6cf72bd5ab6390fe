"""A trial: copies of toolchains in a folder beside the locked ones, with other versions of some distributions."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from packaging.requirements import InvalidRequirement, Requirement

from bench_plugin.domain.errors import UsageError
from bench_plugin.domain.texts.choices import nearest
from bench_plugin.reach.environments.locking import make_lock
from bench_plugin.reach.environments.toolchain_file import Toolchain, normal
from bench_plugin.reach.environments.toolchains import Toolchains
from bench_plugin.reach.environments.uv import UvFailed

Changes = Mapping[str, tuple[str, str]]  # by distribution: the version in the lock, the version in the trial
START = re.compile(r"^requirements\s*=\s*\[", re.MULTILINE)


@dataclass(frozen=True)
class Asked:
    """A distribution and the version that is tried, as ``text`` says it."""

    name: str
    text: str


def asked_for(texts: Sequence[str]) -> list[Asked]:
    """What ``NAME==VERSION`` ask for. Raises UsageError for a text of another form, and for a name that comes twice."""
    found: dict[str, Asked] = {}
    for text in texts:
        try:
            requirement = Requirement(text)
        except InvalidRequirement:
            requirement = None
        said = [one.operator for one in requirement.specifier] if requirement else []
        if requirement is None or said != ["=="] or requirement.marker or requirement.url:
            raise UsageError(f"{text!r} is not NAME==VERSION, as onnxruntime==1.30 is")
        name = normal(requirement.name)
        if name in found:
            raise UsageError(f"{requirement.name} is asked for twice: {found[name].text}, {text}")
        found[name] = Asked(name, f"{requirement.name}{requirement.specifier}")
    return list(found.values())


def holders(toolchains: Toolchains, name: str) -> list[str]:
    """The toolchains whose lock holds a distribution. Raises UsageError, with similar names, where none does."""
    locks = {one: toolchains.locked_versions(one) for one in toolchains.names if _has_lock(toolchains[one])}
    found = [one for one, versions in locks.items() if name in versions]
    if found:
        return found
    near = nearest(name, sorted({one for versions in locks.values() for one in versions}))
    meant = f"; did you mean {' or '.join(near)}?" if near else ""
    raise UsageError(f"no toolchain locks a distribution {name!r}{meant}")


def _has_lock(toolchain: Toolchain) -> bool:
    """Whether it is made from a lock; one whose lock is yet to be made holds nothing."""
    return toolchain.python is None and toolchain.lock_path.is_file()


def make_trial(folder: Path, toolchains: Toolchains, asked: Mapping[str, Sequence[Asked]]) -> dict[str, Changes]:
    """Write the toml and a new lock of each toolchain in ``asked`` into ``folder``; returns the changes by toolchain.

    The files of the toolchains themselves stay as they are. Whatever the new versions allow keeps its locked version.
    Raises EnvironmentMissing where the registry has no such version or cannot be reached, UsageError where the lock
    would be the same.
    """
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for name, wanted in asked.items():
        toolchain = toolchains[name]
        path = folder / toolchain.path.name
        path.write_text(changed_toml(toolchain, wanted), "utf-8")
        path.with_suffix(".lock").write_text(toolchain.lock_text, "utf-8")
    trial = Toolchains([folder])
    found = {name: _locked(trial, name, wanted) for name, wanted in asked.items()}
    for name, changes in found.items():
        if not changes:
            texts = ", ".join(one.text for one in asked[name])
            raise UsageError(f"toolchain {name} locks {texts} already: there is nothing to compare")
    return found


def _locked(trial: Toolchains, name: str, wanted: Sequence[Asked]) -> Changes:
    try:
        return make_lock(trial, name)
    except UvFailed as error:
        texts = " ".join(one.text for one in wanted)
        raise UvFailed(
            f"toolchain {name} has no lock with {texts}: {error}; --in TOOLCHAIN changes others only", error.output
        ) from error


def changed_toml(toolchain: Toolchain, wanted: Sequence[Asked]) -> str:
    """The text of the toml with these versions required, everything else as it is."""
    text = toolchain.path.read_text("utf-8")
    for one in wanted:
        for said in (*toolchain.requirements, *toolchain.overrides):
            if normal(Requirement(said).name) != one.name:
                continue
            for quoted in (json.dumps(said, ensure_ascii=False), f"'{said}'"):
                text = text.replace(quoted, json.dumps(one.text))
        if not any(normal(Requirement(said).name) == one.name for said in toolchain.requirements):
            text = START.sub(rf"\g<0>{json.dumps(one.text)}, ", text, count=1)
    return text
