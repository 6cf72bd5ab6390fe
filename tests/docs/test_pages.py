"""The pages that Sphinx makes of docs/: the table of contents, links, and pages that are written from the code."""

from __future__ import annotations

import gzip
import importlib.util
import json
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from bench_plugin.cli.main import ALIASES, main, subcommands
from bench_plugin.compare.table import DEFAULTS
from tests.docs.fences import ROOT, documents

DOCS = ROOT / "docs"
REFERENCE = ("cli", "options", "python")


@pytest.fixture(scope="module")
def conf() -> ModuleType:
    """docs/conf.py, as a module."""
    spec = importlib.util.spec_from_file_location("conf_of_docs", DOCS / "conf.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def page(name: str) -> str:
    """The text of a page of docs."""
    return (DOCS / f"{name}.md").read_text("utf-8")


def test_the_pages_of_reference_are_what_the_code_says() -> None:
    command = [sys.executable, "docs/write_reference", "--check"]
    done = subprocess.run(command, cwd=ROOT, text=True, capture_output=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_pages_of_compiled_models_are_those_of_the_rows_beside_them(tmp_path: Path) -> None:
    assert main(["grid", str(DOCS / "rows/equivalence.jsonl.gz"), "--output", str(tmp_path), "--format", "md"]) == 0
    made = {path.name: path.read_text("utf-8") for path in tmp_path.glob("*.md")}
    assert made and made == {path.name: path.read_text("utf-8") for path in DOCS.glob("equivalence*.md")}


def test_the_share_of_integers_that_right_layers_have_beyond_half_a_step_is_that_of_the_rows() -> None:
    with gzip.open(DOCS / "rows/equivalence.jsonl.gz", "rt", encoding="utf-8") as lines:
        cells = [row for line in lines if (row := json.loads(line))["kind"] == "cell" and row["status"] == "supported"]
    layers = [layer for row in cells for layer in row["numbers"].get("per_layer") or () if "within" in layer]
    beyond = [1 - layer["within"] for layer in layers if layer["within"] < 1]
    said = re.search(
        r"Of ([\d,]+) layers in the supported cells of\n\S+ (\d+) have .* at most (\d+) of a million", page("numbers")
    )
    assert said is not None
    assert (f"{len(layers):,}", str(len(beyond))) == said.groups()[:2]
    assert round(max(beyond) * 1e6) == int(said[3]) < 1e6 * (1 - DEFAULTS.quantised_layer_share)


def test_a_stale_page_of_reference_is_noticed() -> None:
    code = """
import runpy, sys
sys.path[:0] = ["docs/write_reference", "."]
sys.argv[1:] = ["--check"]
import options_page
options_page.HEAD += "and something new"
runpy.run_path("docs/write_reference", run_name="__main__")
"""
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, text=True, capture_output=True)
    assert done.returncode == 1
    assert "docs/options.md is not what the code or the rows say; run: python docs/write_reference" in done.stderr
    assert "docs/cli.md" not in done.stderr


@pytest.mark.parametrize("name", subcommands())
def test_every_command_has_an_example(name: str) -> None:
    section = page("cli").partition(f"\n## bench {name}\n")[2].partition("\n## ")[0]
    names = [name, *(alias for alias, meant in ALIASES.items() if meant == name)]
    shown = any(f"\nbench {one}" in section for one in names)
    assert shown, f"no document shows bench {name} in a block that a test executes"


def test_every_option_of_pytest_has_a_default_and_an_example() -> None:
    rows = [line.split(" | ") for line in page("options").splitlines() if line.startswith("| `--")]
    registered = re.findall(
        r'^ +"(--bench-[a-z-]+)"', (ROOT / "bench_plugin/options.py").read_text("utf-8"), re.MULTILINE
    )
    assert set(registered) - {"--bench-model"} <= {row[0].split("`")[1].split()[0] for row in rows}
    for row in rows:
        assert len(row) == 4 and all(row[:3]), row
        assert row[3].startswith("`pytest "), f"no document shows {row[0]} in a block that a test executes"


def test_what_users_touch_is_on_the_page_of_python() -> None:
    headings = set(re.findall(r"^###+ (\w+)$", page("python"), re.MULTILINE))
    fixtures = {"bench_cell", "bench_outcome", "deployed", "timing", "device_benchmark"}
    assert headings >= fixtures | {
        "bench",
        "tolerance",
        "Outcome",
        "Measured",
        "Reply",
        "Unsupported",
        "Checker",
        "Reach",
    }
    assert "``" not in page("python") and ":class:" not in page("python")


def test_patterns_of_the_table_of_contents(conf: ModuleType) -> None:
    found = ["index", "how-to/b", "how-to/a", "numbers", "scale", "new"]
    text = "```{toctree}\nhow-to/*\nnumbers\nscale*\ncomparison*\n*\n```\n"
    assert conf.expanded(text, found) == "```{toctree}\nhow-to/a\nhow-to/b\nnumbers\nscale\nnew\n```\n"


def test_links_above_the_folder_lead_to_pages(conf: ModuleType) -> None:
    text = (
        "[a](../README.md#start) [b](numbers.md#truth) [c](https://x.org/y) [d](../suites/expectations) [e](../LICENSE)"
    )
    shown = conf.relinked(text, "docs", "docs/boards.md")
    assert shown == "[a](about/readme.md#start) [b](numbers.md#truth) [c](https://x.org/y) d [e](../LICENSE)"
    text = "[a](docs/numbers.md) [b](CONTRIBUTING.md) [c](LICENSE)"
    shown = conf.relinked(text, "", "docs/about/readme.md")
    assert shown == "[a](../numbers.md) [b](contributing.md) [c](../../LICENSE)"


def test_a_snippet_shows_the_name_of_its_file(conf: ModuleType) -> None:
    text = '```python title="a/b.py"\npass\n```\n'
    assert conf.relinked(text, "docs", "docs/x.md") == "```{code-block} python\n:caption: a/b.py\n\npass\n```\n"


def test_the_configuration_asks_the_network_for_nothing(conf: ModuleType) -> None:
    assert conf.extensions == ["myst_parser"]


def test_a_page_of_tutorial_and_how_to_is_a_document() -> None:
    told = [name for name in documents() if name.startswith(("docs/tutorial/", "docs/how-to/"))]
    assert len([name for name in told if "tutorial" in name]) == 4
    assert len(told) >= 10
