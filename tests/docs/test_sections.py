"""What a document lets its reader write into a project of their own works there, command by command."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.docs.checkout import MODEL, interpreted
from tests.docs.fences import LANGUAGES, all_fences, commands, documents, fences
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


def test_the_long_sections_exist() -> None:
    assert {section.heading for section in sections()} >= set(LONG)


@pytest.mark.parametrize("document", documents())
def test_every_fence_is_executed(document: str) -> None:
    followed = {fence for section in sections() for fence in section.fences}
    for fence in fences(document):
        assert fence.language in LANGUAGES, f"{fence.where}: {fence.language!r} is none of {', '.join(LANGUAGES)}"
        if fence.language in ("python", "toml"):
            assert fence.title, f'{fence.where}: a snippet is a file: ```{fence.language} title="FILE"'
            assert fence in followed


def test_there_are_fences_to_execute() -> None:
    assert len(all_fences()) > 20
    assert len(SHORT) >= 4
