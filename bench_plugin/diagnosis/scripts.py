"""The script ``repro.py``, which shows a defect with only the tool and numpy, made from the files in ``templates``.

There is one template per tool, with its function ``run``. ``templates/shared`` has the code that several of them need,
``templates/endings`` the code that judges the outcome; the two ``short`` ones are for a single node, whose script fits
on a screen. None of these is ever imported.
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
ALWAYS = "versions"  # the shared code of every script that is not short
WIDTH = 110
NOTES = {"OUTPUTS": "largest, rms: the error against float64 that one element and all together may have; None: any"}


@dataclass(frozen=True)
class Needs:
    """The environment of a script: the range of Python versions, exact versions, and overrides for uv.

    ``versions`` are those with which the defect was observed: of the tool's own packages, onnx and numpy.
    """

    python: str
    versions: Mapping[str, str]
    overrides: Sequence[str] = ()

    def header(self, *, one_line: bool = False) -> str:
        """The script's metadata (PEP 723), which ``uv run`` and ``pipx run`` read; it names no index.

        ``one_line`` writes every list on a line of its own.
        """
        # A local version such as +cpu exists in one index only; the public version is the same release.
        pins = [f"{name}=={version.partition('+')[0]}" for name, version in self.versions.items()]
        lines = [f'requires-python = "{self.python}"', f"dependencies = {_list(pins, one_line)}"]
        if self.overrides:
            lines += ["", "[tool.uv]", f"override-dependencies = {_list(self.overrides, one_line)}"]
        commented = [f"# {line}".rstrip() for line in "\n".join(lines).splitlines()]
        return "\n".join(["# /// script", *commented, "# ///"])


@dataclass(frozen=True)
class Template:
    """How a tool is called: its title, the distributions and the shared code that it needs, and its own code."""

    title: str
    packages: tuple[str, ...]
    shared: tuple[str, ...]
    imports: str
    body: str


def has_template(tool: str) -> bool:
    """Whether there is a template for the tool."""
    return (TEMPLATES / f"{tool}.py").is_file()


def packages(tool: str) -> tuple[str, ...]:
    """The distributions that the script of a tool needs, numpy included."""
    return (*_read(f"{tool}.py").packages, "numpy")


def script(
    tool: str, symptom: Symptom, *, title: str, said: str, graph: str, needs: Needs, facts: Mapping[str, Any],
    short: bool = False,
) -> str:  # fmt: skip
    """The text of the script. ``said`` describes the defect; it defines those of ``facts`` that it uses.

    ``short`` is for a graph of a single node: no versions are printed, and of the outputs only the first values.
    """
    template = _read(f"{tool}.py")
    kind = "mismatch" if symptom is Symptom.MISMATCH else "process"
    ending = _read(f"endings/{'short_' if short else ''}{kind}.py")
    parts = [_read(f"shared/{name}.py") for name in (*template.shared, *(() if short else (ALWAYS,)))]
    bodies = [part.body if short else _titled(part) for part in (template, *parts)] + [ending.body]
    how = {name: value for name, value in facts["HOW"].items() if f'HOW["{name}"]' in template.body}
    known = {**facts, "HOW": how, "SEEN_WITH": dict(needs.versions), "SYMPTOM": str(symptom)}
    quoted = "\n".join(textwrap.fill(line, WIDTH) for line in said.splitlines())
    run = "Run: uv run repro.py, or python repro.py where the packages are installed (1: the defect shows, 0: not)."
    gap = "\n" if short else "\n\n"
    head = f"{title}{gap}{quoted}{gap}{_node_of(graph) if short else graph.rstrip()}{gap}{run}"
    header = needs.header(one_line=short)
    blank, end = ([], "") if short else ([""], "\n")
    lines = [header, f'"""{_plain(head)}{end}"""', *blank, ending.imports, *blank]
    lines += ["HERE = os.path.dirname(os.path.abspath(__file__))"]
    for name in _used("\n".join(bodies), known):
        lines += [f"# {NOTES[name]}"] if name in NOTES and not short else []
        lines.append(f"{name} = {_value(known[name])}")
    between = "\n\n" if short else "\n\n\n"
    return between.join(["\n".join(lines), *bodies]) + "\n"


def _node_of(graph: str) -> str:
    """The line of the node in a graph of one, as onnx.printer writes it."""
    _, _, inside = graph.partition("{")
    return " ".join(inside.rpartition("}")[0].split()) or graph.strip()


def _read(name: str) -> Template:
    source = (TEMPLATES / name).read_text("utf-8")
    title, *nodes = ast.parse(source).body
    assert isinstance(title, ast.Expr) and title.end_lineno is not None
    lines = source.splitlines()
    said: dict[str, Any] = {}
    imports: list[str] = []
    start = title.end_lineno
    for node in nodes:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and node.targets[0].id.isupper():
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


def _list(texts: Sequence[str], one_line: bool = False) -> str:
    if one_line:
        return "[" + ", ".join(f'"{text}"' for text in texts) + "]"
    return "[\n" + "".join(f'    "{text}",\n' for text in texts) + "]"


def _plain(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"""', "'''")
