"""What a document lets its reader write into a project of their own works there, command by command."""

from __future__ import annotations

import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import fields

from bench_plugin.domain import configuration
from bench_plugin.domain.axes import AXIS_KEYS
from bench_plugin.inventory import command_file
from bench_plugin.results.known_failures import expectation_file
from tests.docs import fences as documents_fences
from tests.docs.checkout import MODEL, interpreted
from tests.docs.fences import BOARDS, LANGUAGES, all_fences, commands, documents
from tests.docs.sections import Section, sections
from tests.project import kept_environment

# These need the PyTorch toolchain or minutes; otherwise their commands only select cells.
LONG = ("Add a model", "Write a test of your own")
SHORT = [section for section in sections() if section.heading not in LONG]


def follow(section: Section, folder: Path, python: Path, *further: str) -> str:
    """Do what the section says, in its order; every command must end with 0. Returns what the commands printed."""
    printed = ""
    subprocess.run([str(python), "-c", MODEL], cwd=folder, check=True)
    for fence in section.fences:
        if fence.title:
            path = folder / fence.title
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(fence.text, "utf-8")
        for command in commands(fence) if fence.language == "sh" else []:
            more = further if command.words[0] == "pytest" else ()
            done = subprocess.run(
                [*interpreted(command.words, python), *more], cwd=folder, env=kept_environment(), text=True,
                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=1200,
            )  # fmt: skip
            assert done.returncode == 0, f"{fence.where}: {command}\n{done.stdout[-4000:]}"
            printed += done.stdout
    return printed


@pytest.mark.parametrize("section", SHORT, ids=str)
def test_a_section_works_as_it_stands(tmp_path: Path, tools_python: Path, section: Section) -> None:
    printed = follow(section, tmp_path, tools_python)
    for fence in section.fences:
        if fence.language == "text":
            for line in fence.text.splitlines():
                assert line.strip() in printed, f"{fence.where}: not printed:\n{printed}"


@pytest.mark.parametrize("section", [one for one in sections() if one.heading in LONG], ids=str)
def test_a_long_section_selects_cells(tmp_path: Path, tools_python: Path, section: Section) -> None:
    assert "test_" in follow(section, tmp_path, tools_python, "--collect-only", "-q")


@pytest.mark.nightly
@pytest.mark.parametrize("section", [one for one in sections() if one.heading in LONG], ids=str)
def test_a_long_section_works_as_it_stands(tmp_path: Path, tools_python: Path, section: Section) -> None:
    assert " passed" in follow(section, tmp_path, tools_python)


def _example(heading: str, title: str) -> dict[str, Any]:
    section = next(one for one in sections() if one.heading == heading)
    return tomllib.loads(next(fence.text for fence in section.fences if fence.title == title))


def test_the_examples_have_every_key() -> None:
    settings = _example("Configure a project", "pyproject.toml")["tool"]["bench_plugin"]
    assert set(settings) == set(configuration.KEYS)
    described = _example("Describe a compiler's command line", "fixtures/compilers/copier.toml")
    assert set(described) == {field.name for field in fields(command_file.CommandFile)}
    assert set(described["runner"]) == {field.name for field in fields(command_file.RunnerFile)}
    (row,) = _example("Record a known failure", "expectations/refusing.toml")["expectation"]
    keys = {field.name for field in fields(expectation_file.ExpectationRow)}
    not_here = {"operators", "example", expectation_file.OLD_SIGNATURE, "needed"}  # of generated graphs, of a mismatch
    assert set(row) - set(AXIS_KEYS) == keys - set(AXIS_KEYS) - not_here


def test_the_long_sections_exist() -> None:
    assert {section.heading for section in sections()} >= set(LONG)


@pytest.mark.parametrize("document", documents())
def test_every_fence_is_executed(document: str) -> None:
    followed = {fence for section in sections() for fence in section.fences}
    for fence in documents_fences.fences(document):
        assert fence.language in LANGUAGES, f"{fence.where}: {fence.language!r} is none of {', '.join(LANGUAGES)}"
        if fence.language in ("python", "toml"):
            assert fence.title, f'{fence.where}: a snippet is a file: ```{fence.language} title="FILE"'
            assert fence in followed or document == BOARDS


def test_there_are_fences_to_execute() -> None:
    assert len(all_fences()) > 20
    assert len(SHORT) >= 4
