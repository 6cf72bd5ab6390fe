"""The code fences of README and docs: what each holds, which command lines and which files it gives to a reader."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
# Written by commands of ours, from code or from a run: their own tests hold them.
GENERATED = (
    "attributes.md",
    "board-grid.md",
    "cli.md",
    "configuration.md",
    "contract.md",
    "equivalence.md",
    "onnx-operators.md",
    "onnx-properties.md",
    "onnx-support.md",
    "onnx-support-full.md",
    "options.md",
    "models.md",
    "published-predictions.md",
    "python.md",
)
# The names of pages of details begin with these; they are written like the pages that link to them.
DETAILS = ("board-grid-", "equivalence-", "onnx-operators-", "onnx-properties-")
BOARDS = "docs/boards.md"  # its commands need a board: tests/docs/test_boards_page.py executes its fences
LANGUAGES = ("sh", "python", "toml", "c", "text")  # text is what a program prints
OPENING = re.compile(r"^```(?P<language>\w*)(?: title=\"(?P<title>[^\"]+)\")?$")
DIRECTIVE = re.compile(r"^```\{\w+\}")  # of Sphinx: it is no code
# The comment above a block that nothing here can execute or compare; readers of the page do not see it.
EXCUSE = re.compile(r"^<!-- not run: (?P<why>.+) -->$")
INLINE = re.compile(r"(?<!`)`([^`\n]+)`(?!`)")


@dataclass(frozen=True)
class Fence:
    """One fence. ``title`` is the file that it stands for, ``section`` the heading of level two above it."""

    document: str
    line: int
    section: str
    language: str
    title: str
    text: str
    excuse: str = ""  # why it cannot be executed or compared here, from a comment above it

    @property
    def where(self) -> str:
        """Document and line, as messages name it."""
        return f"{self.document}:{self.line}"


@dataclass(frozen=True)
class Command:
    """One command line of an ``sh`` fence, without its comment."""

    fence: Fence
    words: tuple[str, ...]

    @property
    def text(self) -> str:
        """The words as one line."""
        return shlex.join(self.words)

    def __str__(self) -> str:
        return f"{self.fence.document}: {self.text}"


def documents() -> list[str]:
    """README, CONTRIBUTING, CHANGELOG and the pages of docs that people write, relative to the checkout."""
    pages = sorted(
        path
        for path in (ROOT / "docs").rglob("*.md")
        if path.name not in GENERATED and not path.name.startswith(DETAILS)
    )
    paths = [*(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")), *pages]
    return [str(path.relative_to(ROOT)) for path in paths]


def fences(document: str) -> Iterator[Fence]:
    """The fences of a document, in its order. Raises ValueError for one that is opened otherwise, or never closed."""
    section, excuse, opened, body = "", "", None, list[str]()
    for number, line in enumerate((ROOT / document).read_text("utf-8").splitlines(), 1):
        if opened is None and line.startswith("## "):
            section = line.removeprefix("## ")
        if opened is None and line and not line.startswith("```"):
            excuse = found["why"] if (found := EXCUSE.match(line)) else ""
        if not line.startswith("```"):
            body.append(line)
        elif opened is None:
            match = OPENING.match(line)
            if match is None and not DIRECTIVE.match(line):
                raise ValueError(f'{document}:{number}: a fence begins with ```LANGUAGE or ```LANGUAGE title="FILE"')
            opened, body = (number, match), []
        else:
            if opened[1] is not None:
                said = opened[1]["language"], opened[1]["title"] or ""
                yield Fence(document, opened[0], section, *said, "\n".join(body) + "\n", excuse)
            opened, excuse = None, ""
    if opened is not None:
        raise ValueError(f"{document}:{opened[0]}: the fence is never closed")


def all_fences() -> list[Fence]:
    """The fences of all documents but BOARDS."""
    return [fence for document in documents() if document != BOARDS for fence in fences(document)]


def commands(fence: Fence) -> list[Command]:
    """The command lines of an ``sh`` fence."""
    found = [tuple(shlex.split(line, comments=True)) for line in fence.text.splitlines()]
    return [Command(fence, words) for words in found if words]


def inline_code(document: str) -> list[str]:
    """What stands between single backticks outside of fences."""
    return INLINE.findall(without_fences((ROOT / document).read_text("utf-8")))


def without_fences(text: str) -> str:
    """The text of a document outside of its fences."""
    return re.sub(r"^```.*?^```$", "", text, flags=re.DOTALL | re.MULTILINE)
