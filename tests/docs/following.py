"""Do what a story of the documents says, in a folder of a reader's own: its files, its commands, what they print."""

from __future__ import annotations

import json
import re
import shlex
import socket
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from tests.docs.checkout import KEY, MODEL, PROGRAMS, RUN, interpreted
from tests.docs.fences import Fence
from tests.docs.sections import Section
from tests.project import kept_environment

CODE = re.compile(r"#.*\bexit code (\d+)")  # the comment of a command that ends otherwise than with 0
LONG = re.compile(r"#.*\bminutes\b")  # that of one that only selects cells, or is left out, unless tests are nightly
PORT = "7878"  # of `bench board serve`: a free one takes its place
PYTHON = "PYTHON"  # what a reader replaces by the path of an interpreter with a runtime
SECONDS = 1800
OURS = {**PROGRAMS, "sphinx-build": ("-m", "sphinx")}
ANY = "..."  # in what is printed: any text


@dataclass
class Reader:
    """A person who follows documents in a folder. ``whole`` runs what takes minutes, too.

    ``further`` arguments go to every pytest.
    """

    folder: Path
    python: Path
    whole: bool = False
    further: tuple[str, ...] = ()
    port: str = ""
    printed: str = ""
    _left: bool = False  # the last command was not run in full: what it prints is not there
    _lacking: bool = False  # a command was left out that later ones of its kind need
    _stack: ExitStack = field(default_factory=ExitStack)

    def follow(self, story: Section) -> str:
        """Do it; returns what the commands printed. Every command ends with the code that its comment names, or 0."""
        subprocess.run([str(self.python), "-c", MODEL], cwd=self.folder, check=True)
        with self._stack:
            for fence in story.before:  # the folder as the page before leaves it; a test of its own runs its commands
                self._step(fence, only_files=True)
            for fence in story.fences:
                self._step(fence)
        return self.printed

    def _step(self, fence: Fence, *, only_files: bool = False) -> None:
        if fence.excuse:
            return
        if fence.title:
            path = self.folder / fence.title
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(self._here(fence.text), "utf-8")
        elif fence.language == "sh":
            for line in fence.text.splitlines():
                if not only_files or line.startswith("python "):
                    self._command(fence, self._here(line))
        elif fence.language == "text" and not (only_files or self._left):
            assert_printed(fence, self.printed)

    def _here(self, text: str) -> str:
        """A text of the document with the port of this folder."""
        if PORT in text and not self.port:
            with socket.socket() as one:
                one.bind(("127.0.0.1", 0))
                self.port = str(one.getsockname()[1])
        return text.replace(PORT, self.port) if self.port else text

    def _command(self, fence: Fence, line: str) -> None:
        words = shlex.split(line, comments=True)
        if not words:
            return
        long = self._left = bool(LONG.search(line)) and not self.whole
        if long and (words[0] != "pytest" or self._lacking):
            self._lacking = True
            return
        argv = [*self._argv(words, line), *(("--collect-only", "-q") if long else ())]
        argv += self.further if words[0] == "pytest" else ()
        if words[-1] == "&":
            self._stack.enter_context(serving(argv, self.folder))
            return
        done = subprocess.run(
            argv, cwd=self.folder, env=kept_environment(), text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            timeout=SECONDS,
        )  # fmt: skip
        code = int(match[1]) if (match := CODE.search(line)) and not long else 0
        assert done.returncode == code, f"{fence.where}: {line}\nexit code {done.returncode}:\n{done.stdout[-4000:]}"
        assert not long or "test_" in done.stdout, f"{fence.where}: {line}\nselects nothing:\n{done.stdout[-4000:]}"
        self.printed += done.stdout

    def _argv(self, words: Sequence[str], line: str) -> list[str]:
        words = [word for word in words if word != "&"]
        if words[0] == "sphinx-build":
            return [sys.executable, *OURS["sphinx-build"], *words[1:]]
        if words[0] not in (*PROGRAMS, "python"):
            return ["sh", "-ec", line]
        words = [str(self.python) if word == PYTHON else word for word in words]
        return interpreted(words, self.python, self._shown())

    def _shown(self) -> dict[re.Pattern[str], str]:
        """What stands for the key and the run of the document: those of the last run here, of its first failure."""
        path = self.folder / "reports/results.jsonl"
        rows = [json.loads(line) for line in path.read_text("utf-8").splitlines()] if path.exists() else []
        cells = [row for row in rows if row["kind"] == "cell"]
        cells.sort(key=lambda row: row["result"] == "passed")
        return {KEY: cells[0]["key"], RUN: rows[0]["run"]} if cells else {}


def assert_printed(fence: Fence, printed: str) -> None:
    """The lines of a fence stand in what was printed; ``...`` stands for any text, spaces for any number of them."""
    lines = [" ".join(line.split()) for line in printed.splitlines()]
    for wanted in filter(None, (" ".join(line.split()) for line in fence.text.splitlines())):
        pattern = ".*".join(re.escape(part) for part in wanted.split(ANY))
        assert any(re.search(pattern, line) for line in lines), f"{fence.where}: {wanted!r} not printed:\n{printed}"


@contextmanager
def serving(argv: Sequence[str], folder: Path) -> Iterator[None]:
    """A command that goes on until the story is over; it says first that it listens."""
    process = subprocess.Popen(argv, cwd=folder, env=kept_environment(), stdout=subprocess.PIPE)
    try:
        assert process.stdout is not None and b"listening" in process.stdout.readline()
        yield
    finally:
        process.terminate()
        process.communicate(timeout=30)
