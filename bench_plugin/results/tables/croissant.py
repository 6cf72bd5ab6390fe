"""The description of an exported dataset as Croissant 1.0 metadata (JSON-LD), written without a library.

Croissant is the vocabulary of MLCommons for datasets, on top of schema.org: files with their digests, tables with the
types of their columns, licence, and where the data comes from.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench_plugin import __version__
from bench_plugin.results.tables.columns import TABLES, Column, Type

NAME = "croissant.json"
CONFORMS_TO = "http://mlcommons.org/croissant/1.0"
ENCODINGS = {".csv": "text/csv", ".parquet": "application/x-parquet"}
TYPES: Mapping[Type, str] = {
    Type.TEXT: "sc:Text", Type.WHOLE: "sc:Integer", Type.NUMBER: "sc:Float", Type.BOOLEAN: "sc:Boolean",
    Type.JSON: "sc:Text",
}  # fmt: skip
CONTEXT: Mapping[str, Any] = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    "citeAs": "cr:citeAs",
    "column": "cr:column",
    "conformsTo": "dct:conformsTo",
    "cr": "http://mlcommons.org/croissant/",
    "rai": "http://mlcommons.org/croissant/RAI/",
    "data": {"@id": "cr:data", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "dct": "http://purl.org/dc/terms/",
    "equivalentProperty": "cr:equivalentProperty",
    "examples": {"@id": "cr:examples", "@type": "@json"},
    "extract": "cr:extract",
    "field": "cr:field",
    "fileProperty": "cr:fileProperty",
    "fileObject": "cr:fileObject",
    "fileSet": "cr:fileSet",
    "format": "cr:format",
    "includes": "cr:includes",
    "isLiveDataset": "cr:isLiveDataset",
    "jsonPath": "cr:jsonPath",
    "key": "cr:key",
    "md5": "cr:md5",
    "parentField": "cr:parentField",
    "path": "cr:path",
    "recordSet": "cr:recordSet",
    "references": "cr:references",
    "regex": "cr:regex",
    "repeated": "cr:repeated",
    "replace": "cr:replace",
    "samplingRate": "cr:samplingRate",
    "sc": "https://schema.org/",
    "separator": "cr:separator",
    "source": "cr:source",
    "subField": "cr:subField",
    "transform": "cr:transform",
}
DESCRIPTION = (
    "Rows of bench_plugin: whether models compute the same after conversion to ONNX and compilation for a device, how "
    "far results are off, and how long they take. One line of cells is one cell of a run, with where it comes from."
)


@dataclass(frozen=True)
class About:
    """What a person says of the dataset. ``published`` is a date, ISO 8601; ``licences`` are SPDX identifiers."""

    name: str
    licences: tuple[str, ...]
    creators: tuple[str, ...]
    published: str
    runs: tuple[str, ...]


def metadata(about: About, files: Mapping[str, Path]) -> dict[str, Any]:
    """The metadata of a dataset whose tables are ``files``, by name, as plain data. Raises OSError."""
    tables = [table for table in TABLES if table.name in files]
    said: dict[str, Any] = {
        "@context": dict(CONTEXT),
        "@type": "sc:Dataset",
        "conformsTo": CONFORMS_TO,
        "name": about.name,
        "description": DESCRIPTION,
        "license": [licence_address(one) for one in about.licences],
        "creator": [{"@type": "sc:Organization", "name": one} for one in about.creators],
        "datePublished": about.published,
        "version": "1.0.0",
        "citeAs": f"{', '.join(about.creators) or 'bench_plugin'}: {about.name}, {about.published}",
        "keywords": ["ONNX", "neural networks", "compilers", "numerical accuracy", "benchmark", "inference"],
        "isBasedOn": [f"run {run}" for run in about.runs],
        "sdVersion": f"bench_plugin {__version__}",
        "distribution": [_file(files[table.name]) for table in tables],
        "recordSet": [
            {
                "@type": "cr:RecordSet",
                "@id": table.name,
                "name": table.name,
                "description": f"One record is {table.line}.",
                "field": [_field(table.name, files[table.name].name, column) for column in table.columns],
            }
            for table in tables
        ],
    }
    return said


def licence_address(licence: str) -> str:
    """The address of a licence by its SPDX identifier; an address stays as it is."""
    return licence if "://" in licence else f"https://spdx.org/licenses/{licence}"


def _file(path: Path) -> dict[str, Any]:
    return {
        "@type": "cr:FileObject",
        "@id": path.name,
        "name": path.name,
        "contentUrl": path.name,
        "contentSize": f"{path.stat().st_size} B",
        "encodingFormat": ENCODINGS[path.suffix],
        "sha256": digest(path),
    }


def digest(path: Path) -> str:
    """The SHA-256 of a file, in hex digits. Raises OSError."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _field(table: str, file: str, column: Column) -> dict[str, Any]:
    unit = f" (unit: {column.unit})" if column.unit else ""
    form = "; JSON as text" if column.type is Type.JSON else ""
    return {
        "@type": "cr:Field",
        "@id": f"{table}/{column.name}",
        "name": column.name,
        "description": f"{column.meaning}{unit}{form}",
        "dataType": TYPES[column.type],
        "source": {"fileObject": {"@id": file}, "extract": {"column": column.name}},
    }
