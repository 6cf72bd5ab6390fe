"""The scripts that draw pictures (Vega, Vega-Lite, Vega-Embed): from the installed vl-convert, made once and cached."""

from __future__ import annotations

import os
import zlib
from contextlib import suppress
from importlib.metadata import version
from pathlib import Path

import vl_convert

from bench_plugin.domain.paths import cache_root
from bench_plugin.report.interactive.packing import pack_bytes, unpack_bytes

FORM = 1  # of what is kept; a higher one makes it again
SNIPPET = "window.vegaEmbed = vegaEmbed;"
DISTRIBUTION = "vl-convert-python"
STRONGEST = 9  # of gzip: it is packed once per version


def vega_bundle() -> tuple[str, str]:
    """The bundle as a script, and the same packed for the page.

    Its names are inside a function, because some of them would clash with those of a page; it leaves ``vegaEmbed`` in
    ``window``. To make it takes seconds, so it is kept in the user's cache folder.
    """
    path = cache_root() / "report" / f"vega-{FORM}-of-vl-convert-{version(DISTRIBUTION)}.gz.b64"
    with suppress(OSError, ValueError, zlib.error):  # absent or damaged: it is made again
        text = path.read_bytes()
        if kept := unpack_bytes(text).decode():  # a file without content is unpacked without an error
            return kept, text.decode()
    script = f"(()=>{{{vl_convert.javascript_bundle(SNIPPET)}\n}})()"
    text_made = pack_bytes(script.encode(), STRONGEST)
    _keep(path, text_made)
    return script, text_made


def _keep(path: Path, text: str) -> None:
    """Write by an atomic rename; a cache that cannot be written costs the next call seconds, and nothing else."""
    partial = path.with_name(f"{path.name}.{os.getpid()}.partial")
    with suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        partial.write_text(text)
        partial.replace(path)
