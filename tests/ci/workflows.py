"""The ready workflows as data, and their shell commands executed: a small runner for the parts that they use."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from bench_plugin.cli.main import ALIASES, subcommands
from tests.project import LEAN, Project

FOLDER = Path(__file__).parents[2] / ".ci/workflows"
GITHUB, GITLAB = FOLDER / "github", FOLDER / "gitlab/.gitlab-ci.yml"
# The suites and the profile of a real night take hours; those of the fake project take seconds.
FAKE = {"SUITES": "test_models.py", "OPTIONS": "", "BENCH_PROFILE": "quick"}
PYTEST = """#!/bin/sh
exec {python} -m pytest {lean} --frameworks=fake --bench-cache={folder}/cache "$@"
"""
BENCH = """#!/bin/sh
exec {python} -m bench_plugin.cli.main "$@"
"""


def load(path: Path) -> Any:
    """A workflow as plain data."""
    yaml = pytest.importorskip("ruamel.yaml", reason="needs ruamel.yaml, which the extra 'dev' brings")
    return yaml.YAML(typ="safe", pure=True).load(path.read_text("utf-8"))


def install_commands(project: Project) -> None:
    """Put ``pytest`` and ``bench`` where a shell finds them first; pytest is narrowed to the fake framework."""
    folder = project.folder / "bin"
    folder.mkdir(exist_ok=True)
    texts = {"pytest": PYTEST, "bench": BENCH}
    for name, text in texts.items():
        path = folder / name
        path.write_text(text.format(python=sys.executable, lean=" ".join(LEAN), folder=project.folder))
        path.chmod(0o755)
    project.environment["PATH"] = f"{folder}:{project.environment['PATH']}"


def lacking(script: str) -> list[str]:
    """The subcommands of ``bench`` that a script uses and that this checkout does not have."""
    used = set(re.findall(r"\bbench (merge|grid|report|compare|history)\b", script))
    return sorted(name for name in used if ALIASES.get(name, name) not in subcommands())


@dataclass
class Runner:
    """Executes the shell commands of jobs in a project's folder, and carries artefacts and caches between them."""

    project: Project
    environment: dict[str, str] = field(default_factory=dict)

    def shell(self, script: str, environment: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
        """A script as GitHub runs it: bash, ended by the first command that fails."""
        given = {**self.project.environment, **self.environment, **environment, **FAKE}
        return subprocess.run(
            ["bash", "-eo", "pipefail", "-c", script], cwd=self.project.folder, env=given, text=True, timeout=120,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )  # fmt: skip

    def move(self, source: str, to: str) -> None:
        """Move what a job has made to where a later one finds it; nothing where there is nothing."""
        path = self.project.folder / source
        if path.exists():
            (self.project.folder / to).parent.mkdir(parents=True, exist_ok=True)
            shutil.move(path, self.project.folder / to)

    def remove(self, *names: str) -> None:
        """Remove folders that a fresh machine would not have."""
        for name in names:
            shutil.rmtree(self.project.folder / name, ignore_errors=True)


def scripts(steps: list[dict[str, Any]]) -> Iterator[str]:
    """The shell commands of the steps of a job, but for those that install packages."""
    for step in steps:
        if "run" in step and step.get("name") != "install":
            yield step["run"]
