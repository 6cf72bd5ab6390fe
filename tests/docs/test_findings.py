"""Findings: every script states its tool, version and rule, shows one defect and says so by its exit code."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import tomllib
from pathlib import Path

import pytest

from bench_plugin.reach.environments.toolchains import Toolchains
from tests.docs.fences import ROOT
from tests.project import kept_environment

FOLDER = ROOT / "docs/findings"
PAGES = (ROOT / "docs/findings.md", ROOT / "docs/findings-tflite.md")
SCRIPTS = sorted(FOLDER.glob("*.py"))
REDUCTIONS = sorted(FOLDER.glob("*/repro.py"))  # written by bench reduce
LONGEST = 60  # lines
VERSION = re.compile(r"\b\d+\.\d+|\b20\d{6}\b")
# By the first words of a script's name; the longest that fits is taken.
TOOLCHAINS = {
    "emx": "emx",
    "hls4ml": "hls4ml",
    "iree": "iree",
    "litert": "tensorflow",
    "mnn": "mnn",
    "mxnet": "mxnet",
    "ncnn": "ncnn",
    "onnx_reference": "onnxruntime",
    "onnx2mx": "mxnet",
    "onnx2pytorch": "pytorch",
    "onnx2tf": "tensorflow",
    "onnx2torch": "pytorch",
    "onnxruntime": "onnxruntime",
    "openvino": "openvino",
    "pnnx": "ncnn",
    "reference": "onnxruntime",
    "tf2onnx": "tensorflow",
    "tflite": "tensorflow",
    "tract": "tract",
    "tvm": "tvm",
    "xnnpack": "tensorflow",
}


WITHOUT_ONNX = (
    "mnn",
    "ncnn",
    "tract",
)  # toolchains without onnx, with which the scripts write their models


def packages_of(python: Path) -> Path:
    """The folder of the packages of an environment, by its interpreter."""
    [found] = python.parent.parent.glob("lib/python*/site-packages")
    return found


def name_of(script: Path) -> str:
    """The name under which a page of findings lists a script: its file, or its folder."""
    return script.parent.name if script.name == "repro.py" else script.name


def rows_of(name: str) -> list[str]:
    """The rows that the pages have of a finding."""
    lines = [line for page in PAGES for line in page.read_text("utf-8").splitlines()]
    return [line for line in lines if line.startswith("|") and f"](findings/{name})" in line]


def docstring(script: Path) -> str:
    """The script's own description, "" without one."""
    return ast.get_docstring(ast.parse(script.read_text("utf-8"))) or ""


def exits(script: Path) -> list[ast.expr]:
    """What the script passes to ``sys.exit`` or ``SystemExit``."""
    calls = [node for node in ast.walk(ast.parse(script.read_text("utf-8"))) if isinstance(node, ast.Call)]
    return [call.args[0] for call in calls if ast.unparse(call.func) in ("sys.exit", "SystemExit") and call.args]


def toolchain_of(script: Path) -> str:
    """The toolchain that has the script's tool. Raises AssertionError for a name that begins with no tool."""
    name = name_of(script)
    found = [prefix for prefix in TOOLCHAINS if re.match(rf"{prefix}(?:[_.]|$)", name)]
    assert found, f"{name}: begin it with the tool, one of {', '.join(TOOLCHAINS)}"
    return TOOLCHAINS[max(found, key=len)]


def linked() -> list[tuple[str, str]]:
    """Expectation file and target of each link that leads into the repository."""
    rows = []
    for path in sorted((ROOT / "suites/expectations").rglob("*.toml")):
        for row in tomllib.loads(path.read_text("utf-8")).get("expectation", []):
            link = row.get("link", "")
            rows += [(path.name, link)] if link and "://" not in link else []
    return rows


@pytest.mark.parametrize("script", SCRIPTS, ids=name_of)
def test_a_script_states_tool_version_and_rule(script: Path) -> None:
    said = docstring(script)
    first = said.partition("\n")[0]
    assert VERSION.search(first), f"{script.name}: the first line of the docstring names the tool and its version"
    assert re.search(r"^Rule: \S", said, re.MULTILINE), f"{script.name}: 'Rule:' and the place where it is written"


@pytest.mark.parametrize("script", SCRIPTS, ids=name_of)
def test_a_script_is_short_and_says_what_it_found(script: Path) -> None:
    text = script.read_text("utf-8")
    assert text.count("\n") <= LONGEST, f"{script.name}: at most {LONGEST} lines; one defect each"
    assert exits(script), f"{script.name}: sys.exit(1) while the defect shows, sys.exit(0) once it is gone"
    assert not all(isinstance(code, ast.Constant) for code in exits(script)) or len(exits(script)) > 1, script.name
    for word in ("expected", "got"):
        assert re.search(rf"(?:\b|\\n){word}\b", text.partition('"""\n')[2]), f"{script.name}: print what is {word}"


@pytest.mark.parametrize("script", [*SCRIPTS, *REDUCTIONS], ids=name_of)
def test_the_page_lists_a_finding(script: Path) -> None:
    assert len(rows_of(name_of(script))) == 1, (
        f"add one row for {name_of(script)} to one of {', '.join(page.name for page in PAGES)}"
    )


@pytest.mark.parametrize("script", SCRIPTS, ids=name_of)
def test_page_and_script_agree_on_what_is_arguable(script: Path) -> None:
    [row] = rows_of(script.name)
    arguable = "arguable" in docstring(script).partition("\n")[0]
    assert ("arguable" in row) == arguable, (
        f"{script.name}: 'arguable' in the first line of its docstring and in its row"
    )


@pytest.mark.parametrize("script", [*SCRIPTS, *REDUCTIONS], ids=name_of)
def test_a_name_begins_with_the_tool(script: Path) -> None:
    assert toolchain_of(script) in Toolchains().names


def test_a_link_of_a_known_failure_leads_to_a_finding() -> None:
    links = linked()
    assert links, "no row of suites/expectations links a finding"
    assert [f"{file}: {link}" for file, link in links if not (ROOT / link).exists()] == []


@pytest.mark.nightly
@pytest.mark.parametrize("script", [*SCRIPTS, *REDUCTIONS], ids=name_of)
def test_the_defect_still_shows(script: Path, tmp_path: Path) -> None:
    toolchains = Toolchains()
    toolchain = toolchain_of(script)
    if not toolchains.ready(toolchain):
        pytest.skip(f"the toolchain {toolchain} is not there: bench env sync {toolchain}")
    python = toolchains.ensure(toolchain)
    environment = {**kept_environment(), "PATH": f"{python.parent}:{os.environ['PATH']}"}  # onnx2tf starts onnxsim
    if toolchain in WITHOUT_ONNX:
        environment["PYTHONPATH"] = str(packages_of(toolchains.ensure("onnxruntime")))
    done = subprocess.run(
        [str(python), str(script)], cwd=tmp_path, env=environment, text=True, timeout=600,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip
    if done.returncode == 2 and "needs a GPU" in rows_of(name_of(script))[0]:
        pytest.skip("needs a GPU")
    assert done.returncode == 1, f"status {done.returncode}; 0 says that the defect is gone\n{done.stdout[-3000:]}"
    assert re.search(r"\bexpected\b", done.stdout), f"1, but no result is printed\n{done.stdout[-3000:]}"
