"""What a picture is: a question, records made of entries, and a Vega-Lite specification that draws them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from bench_plugin.report.pictures.results import Results

# Of texts, finite numbers, truth values and None; a list of them is taken apart by the specification itself (flatten).
Record = dict[str, Any]
Specification = dict[str, Any]

# Nothing is fetched: vega-embed and vl-convert only read the version in it.
SCHEMA = "https://vega.github.io/schema/vega-lite/v6.json"
DATA = "rows"  # the name of the data in every specification


class PictureModule(Protocol):
    """What a module of ``across`` offers. Add it to the list in registry.py.

    ``NAME`` is that of its file and of its anchor in a page: lower case, digits and hyphens. ``QUESTION`` says in one
    sentence what a reader learns from it.
    """

    NAME: str
    TITLE: str
    QUESTION: str

    def rows(self, results: Results) -> list[Record]:
        """Plain records without NaN; none where the picture would be empty, and is not shown.

        An entry that lacks what the picture shows is left out.
        """

    def specification(self) -> Specification:
        """The Vega-Lite specification, without data and without colours of text, axes and legends (themes.py)."""


def vega_lite(description: str, **parts: Any) -> Specification:
    """A specification whose data are named ``rows``; ``description`` is what a screen reader says of the picture."""
    return {"$schema": SCHEMA, "description": description, "data": {"name": DATA}, **parts}


def with_rows(drawing: Specification, rows: Sequence[Mapping[str, Any]]) -> Specification:
    """The specification with its data inside, for a tool that takes both as one."""
    return {**drawing, "data": {"name": DATA, "values": [dict(row) for row in rows]}}
