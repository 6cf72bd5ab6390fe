"""What a document lets its reader write into a project of their own works there, command by command."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from collections.abc import Collection
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import fields

from bench_plugin.domain import configuration
from bench_plugin.domain.axes import AXIS_KEYS
from bench_plugin.inventory import command_file
from bench_plugin.results.known_failures import expectation_file
from tests.docs import fences as documents_fences
from tests.docs.checkout import interpreted
from tests.docs.fences import BOARDS, GENERATED, LANGUAGES, ROOT, Fence, all_fences, commands, documents
from tests.docs.following import LONG as TAKES_MINUTES
from tests.docs.following import Reader
from tests.docs.sections import Section, sections
from tests.project import kept_environment

SNIPPETS = ("c", "python", "toml")
# Pages whose fences a test of their own executes: test_boards_page.py, and the test of the page of keys below. What the
# generated page of commands shows comes from other pages.
EXECUTED_ELSEWHERE = (BOARDS, "docs/configuration.md", "docs/cli.md")
GENERATED_PAGES = [
    str(path.relative_to(ROOT)) for path in sorted((ROOT / "docs").glob("*.md")) if path.name in GENERATED
]
# These need the PyTorch toolchain or minutes; otherwise their commands only select cells.
LONG = ("Add a model", "Write a test of your own")
SHORT = [section for section in sections() if section.heading not in LONG]
MINUTES = [section for section in SHORT if any(TAKES_MINUTES.search(fence.text) for fence in section.fences)]


def needed(section: Section) -> None:
    """Skip a story whose commands need an extra that is not installed."""
    if any(command.words[0] == "sphinx-build" for fence in section.fences for command in commands(fence)):
        pytest.importorskip("myst_parser", reason="comes with the extra docs")


@pytest.mark.parametrize("section", SHORT, ids=str)
def test_a_section_works_as_it_stands(tmp_path: Path, tools_python: Path, section: Section) -> None:
    needed(section)
    Reader(tmp_path, tools_python).follow(section)


@pytest.mark.parametrize("section", [one for one in sections() if one.heading in LONG], ids=str)
def test_a_long_section_selects_cells(tmp_path: Path, tools_python: Path, section: Section) -> None:
    assert "test_" in Reader(tmp_path, tools_python, further=("--collect-only", "-q")).follow(section)


@pytest.mark.nightly
@pytest.mark.parametrize("section", [one for one in sections() if one.heading in LONG], ids=str)
def test_a_long_section_works_as_it_stands(tmp_path: Path, tools_python: Path, section: Section) -> None:
    assert " passed" in Reader(tmp_path, tools_python).follow(section)


@pytest.mark.nightly
@pytest.mark.parametrize("section", MINUTES, ids=str)
def test_what_takes_minutes_works_as_it_stands(tmp_path: Path, tools_python: Path, section: Section) -> None:
    needed(section)
    Reader(tmp_path, tools_python, whole=True).follow(section)


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


def complaint(fence: Fence, followed: Collection[Fence]) -> str:
    """What is wrong with a fence that nothing executes; empty for one that is executed, or that says why not."""
    if fence.language not in LANGUAGES:
        return f"{fence.where}: {fence.language!r} is none of {', '.join(LANGUAGES)}"
    if fence.excuse or fence in followed or fence.document in EXECUTED_ELSEWHERE or fence.language == "sh":
        return ""  # test_commands.py has every line of sh that no section has
    wanted = "a snippet is a file of a section" if fence.language in SNIPPETS else "output is compared in a section"
    return (
        f'{fence.where}: nothing executes this: {wanted} (```{fence.language} title="FILE"), or say above it '
        "<!-- not run: WHY -->"
    )


@pytest.mark.parametrize("document", [*documents(), *GENERATED_PAGES])
def test_every_fence_is_executed(document: str) -> None:
    followed = {fence for section in sections() for fence in section.fences}
    assert [text for fence in documents_fences.fences(document) if (text := complaint(fence, followed))] == []


@pytest.mark.parametrize("document", documents())
def test_a_command_stands_in_a_fence(document: str) -> None:
    text = documents_fences.without_fences((ROOT / document).read_text("utf-8"))
    found = re.findall(r"(?<=\n\n)(?: {4}|\t)(?:\$ )?((?:bench|pytest) .*)", text)
    assert found == [], f"{document}: nothing executes an indented block; write ```sh"


@pytest.mark.parametrize("block", ["python\nprint()", "text\nit says", "toml\na = 1"])
def test_a_fence_that_nothing_executes_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, block: str) -> None:
    monkeypatch.setattr(documents_fences, "ROOT", tmp_path)

    def complaints(above: str) -> list[str]:
        (tmp_path / "page.md").write_text(f"# Page\n\n{above}\n```{block}\n```\n")
        return [complaint(fence, ()) for fence in documents_fences.fences("page.md")]

    assert complaints("<!-- not run: it needs a Raspberry Pi -->") == [""]
    for above in ("", "<!-- not run: -->", "<!-- not run: of another one -->\n\nA sentence."):
        [text] = complaints(above)
        assert text.startswith("page.md:") and "nothing executes this" in text


def test_the_snippets_of_the_page_of_keys(tmp_path: Path) -> None:
    keys, editor = documents_fences.fences("docs/configuration.md")
    assert set(tomllib.loads(keys.text)) <= set(configuration.KEYS)
    schema, *_ = re.findall(r"^#:schema \./(\S+)$", keys.text, re.MULTILINE)
    rules = tomllib.loads(editor.text)["rule"]
    named = {schema, *(rule["schema"]["path"].removeprefix("./") for rule in rules)}
    command = interpreted(["bench", "schema", "--output", "schemas"], Path(sys.executable))
    subprocess.run(command, cwd=tmp_path, env=kept_environment(), check=True, capture_output=True)
    assert {name for name in named if not (tmp_path / name).is_file()} == set()


def test_there_are_fences_to_execute() -> None:
    assert len(all_fences()) > 20
    assert len(SHORT) >= 4
    assert {"docs/tutorial/", "docs/how-to/"} <= {f"{Path(one.document).parent}/" for one in SHORT}
