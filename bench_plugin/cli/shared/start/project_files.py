"""The files that ``bench init`` writes into a project: which, where, and with which text."""

from __future__ import annotations

import configparser
import os
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench_plugin.cli.shared.start.example_model import example_model
from bench_plugin.domain.configuration import OWN, PROJECT
from bench_plugin.domain.errors import UsageError
from bench_plugin.domain.paths import CHECKOUT, PACKAGE, folders
from bench_plugin.domain.settings import configuration_file

EXAMPLE_MODEL, EXAMPLE_TEST = "bench_example.onnx", "test_bench_example.py"
REPORTS = "/reports/"
TEST = '''"""An example of bench_plugin: does a compiled model still compute what its ONNX file says?"""

import pytest


@pytest.mark.bench(check="equivalence", models=[{model}], compilers=["onnxruntime"], precisions=["fp32"])
def test_compiled(bench_cell):
    bench_cell.verify()
'''
KEYS = """# Settings of bench_plugin; `bench schema --markdown` prints every key.
profile = "quick"
# ONNX files of this project: each is a model, by the name of its file.
onnx = [{file}]
"""
INIS = {"pytest.ini": "pytest", "tox.ini": "pytest", "setup.cfg": "tool:pytest"}  # the sections that pytest reads
# Below .ci/workflows: the file of a workflow, and where its system looks for it.
WORKFLOWS = {
    "github": {
        "github/nightly.yml": ".github/workflows/bench-nightly.yml",
        "github/pull-request.yml": ".github/workflows/bench-pull-request.yml",
    },
    "gitlab": {"gitlab/.gitlab-ci.yml": ".gitlab-ci.yml"},
}


@dataclass(frozen=True)
class Planned:
    """A file to write; ``appended`` is put behind the text of one that is there."""

    path: Path
    content: bytes
    appended: bool = False

    def write(self) -> None:
        """Write it. Raises FileExistsError for a new file that is there in the meantime."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("ab" if self.appended else "xb") as file:
            file.write(self.content)


def planned_files(root: Path, onnx: Path | None, system: str | None) -> list[Planned]:
    """The files for the project in ``root``; with the user's own model, and workflows for ``github`` or ``gitlab``.

    Raises UsageError for a project that has a configuration, for files that are there, and for a model that is none.
    """
    if (there := configuration_file(root)) is not None:
        raise UsageError(f"{there} is a configuration of bench_plugin already; bench init changes nothing in it")
    tests = root / _folder_of_tests(root)
    model = onnx or tests / EXAMPLE_MODEL
    if onnx is not None and (onnx.suffix != ".onnx" or not onnx.is_file()):
        raise UsageError(f"--onnx: {onnx} is not an ONNX file that is there")
    if any((folder / f"{model.stem}.toml").is_file() for folder in folders("fixtures/models", root)):
        raise UsageError(f"--onnx: {model.stem} is the name of a model that comes with bench_plugin; rename the file")
    workflows = WORKFLOWS[system] if system else {}
    made = [
        _configuration(root, model),
        Planned(tests / EXAMPLE_TEST, TEST.format(model=_quoted(model.stem)).encode()),
        *([] if onnx else [Planned(model, example_model())]),
        *_ignored(root),
        *(Planned(root / to, (workflows_folder() / name).read_bytes()) for name, to in workflows.items()),
    ]
    taken = [str(one.path) for one in made if not one.appended and os.path.lexists(one.path)]
    if taken:
        raise UsageError(f"nothing is written, because bench init overwrites no file: {', '.join(taken)}")
    return made


def workflows_folder() -> Path:
    """The ready workflows: in a checkout, or in the data of an installed package."""
    checkout = CHECKOUT / ".ci/workflows"
    return checkout if checkout.is_dir() else PACKAGE / "data/workflows"


def _configuration(root: Path, model: Path) -> Planned:
    """A table at the end of the project's pyproject.toml, or a bench.toml where there is none."""
    file = model.relative_to(root).as_posix() if model.is_relative_to(root) else str(model)
    keys = KEYS.format(file=_quoted(file))
    project = root / PROJECT
    if not project.is_file():
        return Planned(root / OWN, keys.encode())
    text = _text(project)
    added = f"{'' if text.endswith(chr(10)) or not text else chr(10)}\n[tool.bench_plugin]\n{keys}"
    _parsed(project, text)
    try:
        tomllib.loads(text + added)
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"{project}: a table [tool.bench_plugin] cannot stand at its end: {error}") from error
    return Planned(project, added.encode(), appended=True)


def _ignored(root: Path) -> Iterator[Planned]:
    """The line of .gitignore, where it is not there yet."""
    path = root / ".gitignore"
    text = _text(path) if path.is_file() else ""
    if {line.strip().strip("/") for line in text.splitlines()} & {"reports", "reports/*"}:
        return
    broken = "" if text.endswith("\n") or not text else "\n"
    yield Planned(path, f"{broken}{REPORTS}\n".encode(), appended=path.is_file())


def _folder_of_tests(root: Path) -> str:
    """Where pytest looks for tests: the first of the configured places that is a folder, else tests, else the root."""
    places = [*_configured(root), "tests"]
    return next((place for place in places if (root / place).is_dir()), ".")


def _configured(root: Path) -> list[str]:
    """``testpaths`` of pytest's configuration, from the first file that has one."""
    for name, section in INIS.items():
        parser = configparser.ConfigParser(interpolation=None)
        try:
            parser.read(root / name, "utf-8")
        except (configparser.Error, UnicodeDecodeError) as error:
            raise UsageError(f"{root / name}: cannot be read: {error}") from error
        if parser.has_option(section, "testpaths"):
            return parser.get(section, "testpaths").split()
    project = root / PROJECT
    data = _parsed(project, _text(project)) if project.is_file() else {}
    said = data.get("tool", {}).get("pytest", {}).get("ini_options", {}).get("testpaths", [])
    return said.split() if isinstance(said, str) else [str(one) for one in said]


def _parsed(path: Path, text: str) -> Mapping[str, Any]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"{path}: not valid TOML: {error}") from error


def _text(path: Path) -> str:
    try:
        return path.read_text("utf-8")
    except UnicodeDecodeError as error:
        raise UsageError(f"{path}: not a text in UTF-8") from error


def _quoted(text: str) -> str:
    """A basic string of TOML, which takes the escapes that repr does not."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
