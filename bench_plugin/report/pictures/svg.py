"""Pictures as SVG files, drawn without a browser by vl-convert (extra ``report``), for documents and pull requests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

from bench_plugin.domain.errors import EnvironmentMissing
from bench_plugin.report.entries import Entry
from bench_plugin.report.pictures.picture import PictureModule, with_rows
from bench_plugin.report.pictures.registry import embedded
from bench_plugin.report.pictures.results import NO_TITLES, Results
from bench_plugin.report.pictures.themes import LIGHT

VEGA_LITE = "6.4"


def drawn(specification: Mapping[str, Any], rows: Sequence[Mapping[str, Any]], theme: Mapping[str, Any] = LIGHT) -> str:
    """The text of an SVG file. Raises EnvironmentMissing where vl-convert is not installed."""
    try:
        import vl_convert
    except ImportError as error:
        raise EnvironmentMissing(
            "pictures are drawn by vl-convert-python, which is not installed: pip install 'bench-plugin[report]'"
        ) from error
    whole = with_rows(dict(specification), rows)
    svg: str = vl_convert.vegalite_to_svg(whole, vl_version=VEGA_LITE, config=dict(theme))
    return _described(svg, str(specification.get("description", "")))


def svg(module: PictureModule, entries: Sequence[Entry], titles: Mapping[str, Any] = NO_TITLES) -> str:
    """A picture of entries as the text of an SVG file; empty where the entries have nothing for it.

    Raises EnvironmentMissing where vl-convert is not installed.
    """
    rows = module.rows(Results(entries, titles))
    return drawn(module.specification(), rows) if rows else ""


def write(folder: Path, entries: Sequence[Entry], header: Mapping[str, Any]) -> list[Path]:
    """Write ``<name>.svg`` to ``folder`` for every picture that has something to show; returns the paths.

    ``header`` is the header of the run, whose titles are shown. Raises EnvironmentMissing where vl-convert is not
    installed, and OSError.
    """
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for picture in embedded(entries, header.get("titles") or NO_TITLES):
        path = folder / f"{picture['name']}.svg"
        path.write_text(drawn(picture["specification"], picture["rows"]) + "\n", "utf-8")
        paths.append(path)
    return paths


def _described(svg: str, description: str) -> str:
    """The SVG as one image with its description, which vl-convert leaves out, for screen readers."""
    head = f'<svg role="img" aria-label="{escape(description, quote=True)}" '
    return svg.replace("<svg ", head, 1)
