"""``repro.py``: shows a defect with the tool itself and numpy; put together from the files in ``templates``.

There is one template per tool, with its function ``run``; ``templates/shared`` holds what several of them need, and
``templates/endings`` what is done with the outcome. None of these is ever imported.
"""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from pprint import pformat
from typing import Any

from bench_plugin.domain.outcome import Symptom

TEMPLATES = Path(__file__).parent / "templates"
ALWAYS = "versions"  # the shared part of every script
WIDTH = 110
NOTES = {"OUTPUTS": "largest, rms: the error against float64 that one element and all together may have; None: any"}


@dataclass(frozen=True)
class Needs:
    """What the script runs with: Python's version range, exact versions, and uv's overrides of what packages ask for.

    ``versions`` are those that the defect was seen with: the tool's own packages, onnx and numpy.
    """

    python: str
    versions: Mapping[str, str]
    overrides: Sequence[str] = ()

    def header(self) -> str:
        """The script's metadata as PEP 723 has it, which ``uv run`` and ``pipx run`` read; it names no index."""
        # A local version such as +cpu is one index's own; the public one is the same release.
        pins = [f"{name}=={version.partition('+')[0]}" for name, version in self.versions.items()]
        lines = [f'requires-python = "{self.python}"', f"dependencies = {_list(pins)}"]
        if self.overrides:
            lines += ["", "[tool.uv]", f"override-dependencies = {_list(self.overrides)}"]
        commented = [f"# {line}".rstrip() for line in "\n".join(lines).splitlines()]
        return "\n".join(["# /// script", *commented, "# ///"])


@dataclass(frozen=True)
class Template:
    """How a tool is called: what it is, the distributions that it needs, the shared parts that it uses, its code."""

    title: str
    packages: tuple[str, ...]
    shared: tuple[str, ...]
    imports: str
    body: str


def has_template(tool: str) -> bool:
    """Whether a script can be written for the tool."""
    return (TEMPLATES / f"{tool}.py").is_file()


def packages(tool: str) -> tuple[str, ...]:
    """The distributions that a tool's script needs, numpy included."""
    return (*_read(f"{tool}.py").packages, "numpy")


def script(
    tool: str, symptom: Symptom, *, title: str, said: str, graph: str, needs: Needs, facts: Mapping[str, Any]
) -> str:
    """The script's text. ``said`` is what is wrong; ``facts`` are names in upper case, it gets those it uses."""
    template = _read(f"{tool}.py")
    ending = _read(f"endings/{'mismatch' if symptom is Symptom.MISMATCH else 'process'}.py")
    parts = [_read(f"shared/{name}.py") for name in (*template.shared, ALWAYS)]
    bodies = [_titled(part) for part in (template, *parts)] + [ending.body]
    how = {name: value for name, value in facts["HOW"].items() if f'HOW["{name}"]' in template.body}
    known = {**facts, "HOW": how, "SEEN_WITH": dict(needs.versions), "SYMPTOM": str(symptom)}
    quoted = "\n".join(textwrap.fill(line, WIDTH) for line in said.splitlines())
    run = "Run: uv run repro.py, or python repro.py where the packages are installed (1: the defect shows, 0: not)."
    head = f"{title}\n\n{quoted}\n\n{graph.rstrip()}\n\n{run}"
    lines = [needs.header(), f'"""{_plain(head)}\n"""', "", ending.imports, ""]
    lines += ["HERE = os.path.dirname(os.path.abspath(__file__))"]
    for name in _used("\n".join(bodies), known):
        lines += [f"# {NOTES[name]}"] if name in NOTES else []
        lines.append(f"{name} = {_value(known[name])}")
    return "\n".join(lines) + "\n\n\n" + "\n\n\n".join(bodies) + "\n"


def _read(name: str) -> Template:
    source = (TEMPLATES / name).read_text("utf-8")
    title, *nodes = ast.parse(source).body
    assert isinstance(title, ast.Expr) and title.end_lineno is not None
    lines = source.splitlines()
    said: dict[str, Any] = {}
    imports: list[str] = []
    start = title.end_lineno
    for node in nodes:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            said[node.targets[0].id] = ast.literal_eval(node.value)
        elif not isinstance(node, ast.Import | ast.ImportFrom):
            break
        assert node.end_lineno is not None
        if isinstance(node, ast.Import | ast.ImportFrom):
            imports += lines[start : node.end_lineno]
        start = node.end_lineno
    return Template(
        str(ast.literal_eval(title.value)).splitlines()[0], tuple(said.get("PACKAGES", ())),
        tuple(said.get("SHARED", ())), "\n".join(imports).strip("\n"), "\n".join(lines[start:]).strip("\n"),
    )  # fmt: skip


def _titled(part: Template) -> str:
    return f"# {part.title}\n{part.body}"


def _used(source: str, known: Mapping[str, Any]) -> list[str]:
    """The names of ``known`` that the code reads, in the order of ``known``."""
    read = {node.id for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Name)}
    return [name for name in known if name in read]


def _value(value: Any) -> str:
    return pformat(value, width=WIDTH, sort_dicts=False)


def _list(texts: Sequence[str]) -> str:
    return "[\n" + "".join(f'    "{text}",\n' for text in texts) + "]"


def _plain(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"""', "'''")
