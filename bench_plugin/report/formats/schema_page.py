"""docs/configuration.md: every key of every file that people write, from the files' JSON Schemas."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

Schema = Mapping[str, Any]
ANY_OF_MANY = 12  # so many values stand in a cell; of more, the first
HEAD = """\
# Configuration and files: every key

This page is made from the types that read the files: `bench schema --markdown > docs/configuration.md`. An unknown key
and a value that is not valid end a run with the file, the line, the key and what would be right.

Settings stand in `bench.toml`, or in the table `[tool.bench_plugin]` of `pyproject.toml`, in pytest's rootdir or else
in the nearest folder upwards from where you stand; the head of a run says which file was read. In pyproject.toml a row
is `[[tool.bench_plugin.exclude]]`. Commands such as `bench cache` read the nearest configuration upwards from where
they are started. Relative paths in a file are relative to its folder; those on the command line are relative to
where you stand. An option of the command line wins over the configuration.

## Completion in an editor

`bench schema --output schemas` writes a JSON Schema of each file. Editors that use Taplo (Even Better TOML in VS Code)
complete and check keys with this first line in a file:

```toml
#:schema ./schemas/configuration.schema.json
profile = "quick"
```

For the table in pyproject.toml and for whole folders, say it once in `.taplo.toml`:

```toml
[[rule]]
include = ["pyproject.toml"]
keys = ["tool.bench_plugin"]
schema = { path = "./schemas/configuration.schema.json" }

[[rule]]
include = ["fixtures/models/*.toml"]
schema = { path = "./schemas/model.schema.json" }
```
"""


def page(files: Iterable[tuple[str, str, Schema]]) -> str:
    """The page of files, each with its name, where it lies, and its schema."""
    return HEAD + "".join(_file(name, where, schema) for name, where, schema in files)


def _file(name: str, where: str, schema: Schema) -> str:
    records = schema["$defs"]
    main = _name(schema)
    tables = [main, *(one for one in records if one != main and "properties" in records[one])]
    return f"\n## {name.capitalize()}\n\n{_code(where)}\n" + "".join(
        _table(records, one, heading=one != main) for one in tables
    )


def _table(records: Schema, name: str, *, heading: bool) -> str:
    record = records[name]
    places = _places(records, name)
    title = f"\n### {', '.join(places)}\n" if heading else ""
    lines = [
        f"{title}\n{record.get('description', '').replace('``', '`')}\n",
        "| key | value | default | meaning |",
        "|---|---|---|---|",
    ]
    for key, said in record["properties"].items():
        default = "must be given" if key in record["required"] else _default(said.get("default"))
        lines.append(f"| `{key}` | {_cell(_kind(records, said))} | {default} | {_cell(said.get('description', ''))} |")
    return "\n".join(lines) + "\n"


def _places(records: Schema, name: str) -> list[str]:
    """Where in the file a record stands: ``[[inputs]]``, ``[training]``."""
    found = []
    for record in records.values():
        for key, said in record.get("properties", {}).items():
            if any(_name(part) == name for part in _parts(said)):
                found.append(f"`[{key}]`")
            elif any(_name(part.get("items", {})) == name for part in _parts(said)):
                found.append(f"`[[{key}]]`")
            elif any(_name(part.get("additionalProperties") or {}) == name for part in _parts(said)):
                found.append(f"`[{key}.<name>]`")
    return list(dict.fromkeys(found))


def _kind(records: Schema, said: Schema) -> str:
    """What a value is, in words."""
    if "anyOf" in said:
        kinds = dict.fromkeys(_kind(records, part) for part in said["anyOf"])
        return " or ".join("a list of them" if kind == f"a list: {next(iter(kinds))}" else kind for kind in kinds)
    if name := _name(said):
        return _kind(records, records[name]) if "enum" in records[name] else "a table"
    if "enum" in said:
        return _listed(said["enum"])
    kind = said.get("type")
    if kind == "array":
        return f"a list: {_kind(records, said['items'])}" if said.get("items") else "a list"
    if kind == "object":
        inner = said.get("additionalProperties")
        return f"a table: {_kind(records, inner)}" if isinstance(inner, Mapping) and inner else "a table"
    words = {"string": "text", "integer": "whole number", "number": "number", "boolean": "true or false"}
    return words.get(str(kind), "anything") + _limits(said)


def _limits(said: Schema) -> str:
    low, above, high = said.get("minimum"), said.get("exclusiveMinimum"), said.get("maximum")
    if low is not None and high is not None:
        return f" from {low} to {high}"
    return f" from {low}" if low is not None else f" above {above}" if above is not None else ""


def _listed(values: Sequence[Any]) -> str:
    shown = ", ".join(f"`{value}`" for value in values[:ANY_OF_MANY])
    return f"{shown} ..." if len(values) > ANY_OF_MANY else shown


def _default(value: Any) -> str:
    empty = value is None or (isinstance(value, str | Sequence | Mapping) and not value)
    return "" if empty else f"`{json.dumps(value)}`"


def _parts(said: Schema) -> Sequence[Schema]:
    parts: Sequence[Schema] = said.get("anyOf", [said])
    return parts


def _name(said: Schema) -> str:
    return str(said.get("$ref", "")).removeprefix("#/$defs/") if isinstance(said, Mapping) else ""


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("``", "`").replace("<", "&lt;")


def _code(where: str) -> str:
    return where.replace("<", "&lt;") if " " in where else f"`{where}`"
