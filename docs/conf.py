"""How Sphinx makes pages of these files: `sphinx-build -W --keep-going -b html docs build/docs`, without a network."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable
from fnmatch import filter as fnmatch_filter
from fnmatch import fnmatch
from pathlib import Path
from typing import TYPE_CHECKING

import bench_plugin

if TYPE_CHECKING:
    from sphinx.application import Sphinx

ROOT = Path(__file__).parent.parent
# Documents above this folder, each with the page here that includes it.
ABOVE = {
    "README.md": "about/readme.md",
    "CONTRIBUTING.md": "about/contributing.md",
    "CHANGELOG.md": "about/changelog.md",
}
LINK = re.compile(r"\[([^\]]*)\]\((?!https?:)([^)#\s]+)(#[^)\s]*)?\)")

TITLED = re.compile(r"^```(\w+) title=\"([^\"]+)\"$", re.MULTILINE)  # a fence that stands for a file

project = "bench_plugin"
author = "the authors of bench_plugin"
version = release = bench_plugin.__version__
extensions = ["myst_parser"]
myst_heading_anchors = 6  # the same anchors of headings as on GitHub
html_theme = "furo"
html_title = f"bench_plugin {version}"
html_static_path = ["_static"]
html_css_files = ["tables.css"]
html_copy_source = False


def relinked(text: str, folder: str, page: str) -> str:
    """A document of the folder as the page that shows it reads; both are paths from the root of the checkout.

    Links to documents above docs/ lead to the pages that include them, a link to a folder becomes its text, and a fence
    that stands for a file shows the file's name.
    """

    def link(match: re.Match[str]) -> str:
        shown, name, anchor = match[1], posixpath.normpath(posixpath.join(folder, match[2])), match[3] or ""
        if (ROOT / name).is_dir():
            return shown
        target = posixpath.join("docs", ABOVE[name]) if name in ABOVE else name
        return f"[{shown}]({posixpath.relpath(target, posixpath.dirname(page))}{anchor})"

    return TITLED.sub(r"```{code-block} \1\n:caption: \2\n", LINK.sub(link, text))


def expanded(text: str, found: Iterable[str]) -> str:
    """The tables of contents of index.md with the pages that their patterns stand for.

    A pattern without a page stands for none, where Sphinx would warn; `*` stands for all pages that no other line
    names, so that a new page is never left out.
    """
    lines = text.splitlines()
    named = {name for name in found for line in lines if line != "*" and fnmatch(name, line)}
    left = {"*": sorted(set(found) - named - {"index"})}
    pages = {line: left.get(line, sorted(fnmatch_filter(found, line))) for line in lines if line.endswith("*")}
    return "\n".join(name for line in lines for name in pages.get(line, [line])) + "\n"


def read(app: Sphinx, docname: str, source: list[str]) -> None:
    """Patterns of index.md, and links of any page."""
    page = posixpath.join("docs", docname)
    if docname == "index":
        source[0] = expanded(source[0], app.env.found_docs)
    source[0] = relinked(source[0], posixpath.dirname(page), page)


def included(app: Sphinx, path: Path, parent: str, content: list[str]) -> None:
    """Links of a document that the page being read includes; MyST gives the parent without its folder."""
    folder = posixpath.normpath(posixpath.join("docs", path.parent.as_posix()))
    content[0] = relinked(content[0], folder, posixpath.join("docs", app.env.docname))


def setup(app: Sphinx) -> None:
    """Let links that GitHub follows lead somewhere on the pages, too."""
    app.connect("source-read", read)
    app.connect("include-read", included)
