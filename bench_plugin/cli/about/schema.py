"""``bench schema [NAME]``: JSON Schemas of rows and of the files that people write, or a page that lists their keys."""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from bench_plugin.domain.configuration import ConfigurationFile
from bench_plugin.domain.errors import UsageError
from bench_plugin.domain.records import Record
from bench_plugin.domain.texts.choices import hint
from bench_plugin.inventory.budget_file import BudgetFile
from bench_plugin.inventory.command_file import CommandFile
from bench_plugin.inventory.hardware.board_file import BoardFile
from bench_plugin.inventory.hardware.peaks_file import MeasuredPeaks
from bench_plugin.inventory.hardware.target_file import TargetFile
from bench_plugin.inventory.model_file import ModelFile
from bench_plugin.reach.boards.registry import MODULES, module_of
from bench_plugin.reach.environments.toolchain_file import ToolchainFile
from bench_plugin.report.formats.schema_page import page
from bench_plugin.results.checking.row_types import AnyRow
from bench_plugin.results.known_failures.expectation_file import ExpectationFile

HELP = "print or write JSON Schemas of rows, and of configuration, models and the other files that people write"
DRAFT = "https://json-schema.org/draft/2020-12/schema"
# name -> its type and where such files lie
FILES: Mapping[str, tuple[type[Record], str]] = {
    "configuration": (ConfigurationFile, "bench.toml, or the table [tool.bench_plugin] of pyproject.toml"),
    "model": (ModelFile, "fixtures/models/<name>.toml"),
    "target": (TargetFile, "boards/targets/<name>.toml"),
    "board": (BoardFile, "boards/<name>.toml"),
    "peaks": (MeasuredPeaks, "boards/peaks/<board>.toml, which bench board peaks writes"),
    "toolchain": (ToolchainFile, "<name>.toml in a folder of toolchains"),
    "compiler": (CommandFile, "fixtures/compilers/<name>.toml"),
    "expectations": (ExpectationFile, "suites/expectations/<name>.toml"),
    "budgets": (BudgetFile, "fixtures/operators/budgets.toml"),
}
ROWS = "rows"  # of results files, which nobody writes by hand, but which others may contribute
NAMES = (*FILES, ROWS)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Which file's schema, and where it goes."""
    parser.add_argument("name", metavar="NAME", nargs="?", help=f"one of {', '.join(NAMES)} (default: all of them)")
    parser.add_argument("--output", type=Path, metavar="FOLDER", help="write <name>.schema.json files into this folder")
    parser.add_argument("--markdown", action="store_true", help="print the keys as a page, docs/configuration.md")


def run(args: argparse.Namespace) -> int:
    """Always 0: print the schema of one file or of all, or write them. Raises UsageError for an unknown name."""
    if args.name is not None and args.name not in NAMES:
        raise UsageError(f"there is no schema {args.name!r}; {hint(args.name, NAMES)}")
    if args.markdown and args.name == ROWS:
        raise UsageError("--markdown: it is of the files that people write; docs/results.md has the keys of rows")
    names = [args.name] if args.name else [name for name in NAMES if not (args.markdown and name == ROWS)]
    schemas = {name: schema(name) for name in names}
    if args.markdown:
        print(page([(name, FILES[name][1], schemas[name]) for name in names]), end="")
    elif args.output:
        args.output.mkdir(parents=True, exist_ok=True)
        for name, made in schemas.items():
            path = args.output / f"{name}.schema.json"
            path.write_text(_text(made), "utf-8")
            print(f"wrote {path}")
    else:
        print(_text(schemas[args.name] if args.name else schemas), end="")
    return 0


def schema(name: str) -> dict[str, Any]:
    """The JSON Schema of a file or of a row, made from the type that reads it."""
    if name == ROWS:
        about = "one line of a results file (*.jsonl); keys that are not named here are allowed"
        return {"$schema": DRAFT, "title": "bench_plugin: rows", "description": about, **msgspec.json.schema(AnyRow)}
    kind, where = FILES[name]
    made: dict[str, Any] = _without_null(msgspec.json.schema(kind))
    if kind is BoardFile:
        kinds, parts = _kinds_of_reach()
        made["$defs"].update({**kinds, **parts})
        said = made["$defs"]["BoardFile"]["properties"]["reach"]
        made["$defs"]["BoardFile"]["properties"]["reach"] = {
            "description": said["description"], "anyOf": [{"$ref": f"#/$defs/{name}"} for name in kinds],
        }  # fmt: skip
    return {"$schema": DRAFT, "title": f"bench_plugin: {name}", "description": where, **made}


def _kinds_of_reach() -> tuple[dict[str, Any], dict[str, Any]]:
    """The schemas of the table ``reach`` by the name of its record, one for each kind, and those of tables in it."""
    made: dict[str, Any] = {}
    parts: dict[str, Any] = {}
    for kind in MODULES:
        record = module_of(kind).SETTINGS
        found = _without_null(msgspec.json.schema(record))["$defs"]
        own = found.pop(record.__name__)
        own["properties"] = {"kind": {"description": "the kind of reach", "enum": [kind]}, **own["properties"]}
        own["required"] = ["kind", *own["required"]]
        made[f"{kind}-{record.__name__}"] = own
        parts.update(found)
    return made, parts


def _without_null(part: Any) -> Any:
    """A schema without ``null``, which TOML does not have: what may be absent is not required."""
    if isinstance(part, list):
        return [_without_null(one) for one in part if one != {"type": "null"}]
    if not isinstance(part, dict):
        return part
    kept = {key: _without_null(value) for key, value in part.items() if not (key == "default" and value is None)}
    if len(kept.get("anyOf", ())) == 1:
        kept |= kept.pop("anyOf")[0]
    return kept


def _text(data: Any) -> str:
    return json.dumps(data, indent=2) + "\n"
