"""Programs outside of any toolchain that an adapter runs, such as C compilers: found on a PATH, hashed, asked."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from bench_plugin.inventory.declared_parts import ABSENT, content_of
from bench_plugin.inventory.imports_beside import imports_beside

SECONDS = 10.0  # for a program to say its version
KEPT = 4096  # bytes of what it says
OF_THE_TOOLCHAIN = "of the toolchain"  # the lock says which
COMPILER = re.compile(r"(?:^|-)(?:gcc|g\+\+|cc|c\+\+|clang|clang\+\+)(?:-\d+)?$")
PLACEHOLDER = re.compile(r"\{\{|\}\}|\{(\w+)\}")


class Programs:
    """Identifies programs; each file is hashed and asked once, so an object of this class serves one run."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._environment = environment
        self._contents: dict[str, str] = {}
        self._said: dict[tuple[str, ...], str] = {}

    def named(self, name: str) -> dict[str, Any] | str:
        """The path, content and, for compilers, printed version of a program on the PATH; ``absent`` if it is not."""
        path = shutil.which(name, path=self._environment.get("PATH", os.defpath))
        if path is None:
            return ABSENT
        asked = [path, "--version"] if COMPILER.search(name) else None
        return {
            "path": path, "content": self._content(path), "version": self._output(asked, self._environment)
        }  # fmt: skip

    def described(self, said: Mapping[str, Any], *, python: Path, folder: Path | None) -> dict[str, Any]:
        """What a described compiler runs: its programs, the files among their arguments, and what it says of itself.

        ``said`` is the description as plain data with its ``path``, ``python`` the interpreter of its toolchain.
        ``folder`` is that of a toolchain made by a lock, whose programs the lock identifies; else None.
        """
        words = {"here": str(Path(said["path"]).parent), "python": str(python)}
        path = self._environment.get("PATH", os.defpath)
        if said.get("toolchain"):
            path = str(python.parent) + os.pathsep + path
        programs: dict[str, Any] = {}
        files: dict[str, str] = {}
        runs = [*_several(said["command"]), *_several(said.get("runner", {}).get("command", []))]
        asking = _several(said.get("version", {}).get("command", []))
        for argv in (*runs, *asking):
            first, *rest = [_filled(text, words) for text in argv]
            programs[argv[0]] = self._program(first, path, folder)
            for text in rest:
                files.update(self._helpers(text or ""))
        own = {key: value for key, text in said.get("variables", {}).items() if (value := _filled(text, words))}
        environment = {**self._environment, **own, "LC_ALL": "C", "PATH": path}
        return {"programs": programs, "files": files, "version": self._version(asking, words, environment, folder)}

    def _helpers(self, argument: str) -> dict[str, str]:
        """The content of the file that an argument names, also behind ``=``, and of what a Python file imports."""
        found = {}
        for path in (argument, argument.partition("=")[2]):
            if os.path.isabs(path) and os.path.isfile(path):
                found[path] = self._content(path)
                beside = imports_beside(Path(path)) if path.endswith(".py") else {}
                found.update({f"{path}: {name}": content_of(file) for name, file in beside.items()})
        return found

    def _program(self, name: str | None, path: str, folder: Path | None) -> dict[str, str] | str:
        found = shutil.which(name, path=path) if name else None
        if found is not None and not _inside(found, folder):
            return {"path": found, "content": self._content(found)}
        # A toolchain that is not made yet may bring the program: the recipe must be the same before and after.
        absent = found is None and (folder is None or folder.exists())
        return ABSENT if absent else OF_THE_TOOLCHAIN

    def _version(
        self, commands: Sequence[Sequence[str]], words: Mapping[str, str], environment: Mapping[str, str],
        folder: Path | None,
    ) -> str:  # fmt: skip
        texts = []
        for argv in commands:
            filled = [text for one in argv if (text := _filled(one, words)) is not None]
            found = shutil.which(filled[0], path=environment["PATH"]) if len(filled) == len(argv) else None
            if found is not None and not _inside(found, folder):
                texts.append(self._output([found, *filled[1:]], environment))
        return "\n".join(texts)

    def _content(self, path: str) -> str:
        real = os.path.realpath(path)
        if real not in self._contents:
            self._contents[real] = content_of(Path(real))
        return self._contents[real]

    def _output(self, argv: Sequence[str] | None, environment: Mapping[str, str]) -> str:
        if argv is None:
            return ""
        if tuple(argv) not in self._said:
            self._said[tuple(argv)] = _run(argv, environment)
        return self._said[tuple(argv)]


def _run(argv: Sequence[str], environment: Mapping[str, str]) -> str:
    """What a program prints on both outputs, at most KEPT bytes; empty where it cannot be started or does not end."""
    try:
        process = subprocess.Popen(
            argv, env={**environment, "LC_ALL": "C"}, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, start_new_session=True,
        )  # fmt: skip
    except OSError:
        return ""
    with process:
        try:
            output, _ = process.communicate(timeout=SECONDS)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            return ""
    return output[:KEPT].decode("utf-8", "replace").strip()


def _several(command: Sequence[Any]) -> list[list[str]]:
    """The argvs of a command, which may be a single one."""
    if not command:
        return []
    return [list(command)] if isinstance(command[0], str) else [list(argv) for argv in command]


def _filled(text: str, words: Mapping[str, str]) -> str | None:
    """The text with its placeholders replaced; None where one of them is known only in a call."""
    if any(match[1] and match[1] not in words for match in PLACEHOLDER.finditer(text)):
        return None
    return PLACEHOLDER.sub(lambda match: words[match[1]] if match[1] else match[0][0], text)


def _inside(path: str, folder: Path | None) -> bool:
    return folder is not None and Path(os.path.abspath(path)).is_relative_to(folder)
