"""The contract as Markdown, made from its types: the methods of each kind of adapter, and the fields of each call.

``python -m bench_plugin.agent.contract.describe > docs/contract.md`` writes the page.
"""

from __future__ import annotations

import inspect
import re
from typing import Any, Dict, List, Type

from bench_plugin.agent.contract import (
    Call,
    CompileCall,
    ExportCall,
    FetchCall,
    ImportCall,
    ModelDescription,
    Port,
    RebuildCall,
    ReferenceCall,
    RunCall,
    RunImportedCall,
    Target,
    TimeCall,
    TrainCall,
    Training,
)
from bench_plugin.agent.contract.any_reply import AnyReply, Remarks
from bench_plugin.agent.contract.protocols import Compiler, Dataset, Framework, Tool, Trainer
from bench_plugin.agent.contract.records import Record, fields_of, name_of
from bench_plugin.agent.contract.replies import REPLIES

INTRODUCTION = """\
This page is written from the types in `bench_plugin/agent/contract`, which the agent reads every call with. The
[guide](your-own.md) shows complete adapters. A field that is missing or of another type fails the cell with the symptom
`harness` and a message that names operation, field and what was expected. Types are those of JSON's values. A reply is
checked in the same way where it arrives; it may have more than it must."""
FIELD = re.compile(r"^(\w+): ")
KINDS: Dict[type, List[Type[Call]]] = {
    Tool: [],
    Framework: [ReferenceCall, ExportCall, ImportCall, RunImportedCall],
    Compiler: [CompileCall, RunCall, TimeCall, RebuildCall],
    Dataset: [FetchCall],
    Trainer: [TrainCall],
}
PARTS: List[Type[Record]] = [Port, Target, ModelDescription, Training]


def describe() -> str:
    """Every kind of adapter with its methods, every call with its fields, and the parts of calls, as Markdown."""
    lines = ["# The contract of adapters", "", INTRODUCTION, ""]
    for kind, calls in KINDS.items():
        lines += _heading("## " + kind.__name__, kind)
        for name, method in _own_methods(kind):
            text = str(inspect.signature(method)).replace("'", "")
            lines.append("- `def %s%s`: %s" % (name, text, _line(method)))
        lines.append("")
        for call in calls:
            lines += _record("### " + call.__name__, call) + _reply(REPLIES[call.operation])
    lines += _heading("## What every call has", Call) + _properties(Call) + [""]
    lines += _record("## What every reply may have", Remarks)
    for part in PARTS:
        lines += _record("## " + part.__name__, part)
    text = "\n".join(lines).rstrip() + "\n"
    return re.sub(r":\w+:`", "`", text.replace("``", "`"))  # what docstrings quote, as Markdown quotes it


def documented(kind: type) -> Dict[str, str]:
    """The meaning of each field, from lines ``name: text`` in the docstrings of a record and its bases."""
    found: Dict[str, str] = {}
    for base in reversed(kind.__mro__):
        name = ""
        for line in inspect.cleandoc(base.__dict__.get("__doc__") or "").splitlines():
            match = FIELD.match(line)
            if match:
                name = match[1]
                found[name] = line[match.end() :]
            elif name and line.startswith(" "):
                found[name] += " " + line.strip()
            else:
                name = ""
    return found


def _record(heading: str, kind: Type[Record]) -> List[str]:
    return _heading(heading, kind) + _fields(kind) + [""] + _properties(kind, apart_from=Call) + [""]


def _reply(kind: Type[AnyReply]) -> List[str]:
    """What a reply promises: its files, its arrays, and the fields of its metadata."""
    lines = [_heading("", kind)[2]] if kind is not AnyReply else ["Nothing is promised."]
    for what, names in (("files", kind.FILES), ("arrays", kind.ARRAYS)):
        if names:
            lines.append("It must have the %s %s." % (what, ", ".join("`%s`" % name for name in names)))
    fields = _fields(kind)
    return ["**The reply.** " + " ".join(lines), *(["", *fields] if fields else []), ""]


def _fields(kind: Type[Record]) -> List[str]:
    """The fields of a record as a table; empty where it has none."""
    known = documented(kind)
    rows = ["| field | type | | meaning |", "|---|---|---|---|"]
    for field in fields_of(kind):
        named = name_of(field.kind).replace("|", "\\|")
        rows.append("| `%s` | %s | %s | %s |" % (
            field.name, named, "optional" if field.optional else "", known.get(field.name, ""),
        ))  # fmt: skip
    return rows if len(rows) > 2 else []


def _heading(heading: str, kind: type) -> List[str]:
    text = inspect.cleandoc(kind.__doc__ or "")
    kept: List[str] = []
    for line in text.splitlines():
        if FIELD.match(line):
            break
        kept.append(line)
    return [heading, "", "\n".join(kept).strip(), ""]


def _properties(kind: type, apart_from: type = object) -> List[str]:
    """The properties and methods of a class and its bases, except those of ``apart_from``."""
    known = set(apart_from.__mro__)
    found: Dict[str, str] = {}
    for base in reversed([one for one in kind.__mro__ if one not in known and one is not Record]):
        for name, value in base.__dict__.items():
            if isinstance(value, property) and not name.startswith("_"):
                found[name] = "- `%s`: %s" % (name, _line(value))
            elif inspect.isfunction(value) and value.__doc__ and not name.startswith("_"):
                found[name] = "- `%s(%s)`: %s" % (
                    name, ", ".join(list(inspect.signature(value).parameters)[1:]), _line(value),
                )  # fmt: skip
    return [found[name] for name in sorted(found)]


def _own_methods(kind: type) -> List[Any]:
    return [(name, value) for name, value in vars(kind).items() if inspect.isfunction(value) and name[0] != "_"]


def _line(documented_thing: Any) -> str:
    return " ".join((inspect.getdoc(documented_thing) or "").split())


if __name__ == "__main__":
    print(describe(), end="")
