"""Every page of every kind in somebody else's documentation: Sphinx builds it without a warning."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from bench_plugin.report.blocks import Document, Heading, Paragraph, Table, TableCell
from bench_plugin.report.formats import restructured
from bench_plugin.report.pages.registry import build_pages
from tests.report.scenes import SCENES

pytest.importorskip("myst_parser", reason="comes with the extra docs")

INDEX = {
    "rst": "Ours\n====\n\n.. toctree::\n   :glob:\n\n   grids/*/*\n",
    "md": "# Ours\n\n```{toctree}\n:glob:\ngrids/*/*\n```\n",
}


def built(folder: Path) -> subprocess.CompletedProcess[str]:
    """Sphinx over a folder, with warnings as errors."""
    command = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", "-b", "html", str(folder), f"{folder}-pages"]
    return subprocess.run(command, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)


@pytest.mark.parametrize("form", INDEX)
def test_sphinx_takes_every_page(tmp_path: Path, form: str) -> None:
    folder = tmp_path / "documentation"
    folder.mkdir()
    (folder / "conf.py").write_text('project = "Ours"\nextensions = ["myst_parser"]\nmyst_heading_anchors = 3\n')
    (folder / f"index.{form}").write_text(INDEX[form])
    for scene, make in SCENES.items():  # two of them have pages of the same name
        (folder / "grids" / scene).mkdir(parents=True)
        for page in build_pages(make()):
            page.write(folder / "grids" / scene, formats=[form])
    names = {path.relative_to(folder).with_suffix("") for path in folder.glob("grids/*/*")}
    assert {name.parts[1] for name in names} == set(SCENES)
    done = built(folder)
    assert done.returncode == 0, done.stdout
    made = tmp_path / "documentation-pages"
    pages = {path.relative_to(made).with_suffix("") for path in made.glob("grids/*/*.html")}
    assert pages == names
    text = (made / "grids/equivalence/equivalence.html").read_text("utf-8")
    assert text.count("<table") > 3 and 'href="equivalence-iree.html"' in text


@pytest.mark.parametrize(
    "text",
    [
        "- not a list", "-q", "--into FOLDER", "+",
        "1. not a list", "(a) nor this", "iv) nor", "#. nor this", ":0: error",
        ".. comment", "...", ">>> x", "std::vector::", "a::", "====", "----------", "[1]_ |x| `y` *z* __w__", "\\ n",
        "/V option", "A. B. Smith", "plain", "– means not offered", "x | y", "(none)", "3.13.0",
    ],
)  # fmt: skip
def test_any_text_is_a_paragraph_of_its_words(text: str) -> None:
    docutils = pytest.importorskip("docutils.core")
    cells = Table(("head",), ((TableCell(text),),)), Table(("head",), ())
    document = Document("The page", (Heading(text), Paragraph(text), *cells))
    settings = {"report_level": 2, "halt_level": 2, "smart_quotes": False}
    tree = docutils.publish_doctree(restructured.render(document), settings_overrides=settings)
    assert [node.astext() for node in tree.findall() if node.tagname == "paragraph"] == [text, "head", text, "head"]
    assert [node.astext() for node in tree.findall() if node.tagname in ("title", "subtitle")] == ["The page", text]
