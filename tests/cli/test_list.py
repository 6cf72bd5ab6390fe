"""``bench list``: every kind, as a table and as JSON; what a project adds is listed too."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from bench_plugin.cli.about.list import KINDS
from tests.project import Project

KNOWN = {
    "models": "digits_mlp",
    "frameworks": "pytorch",
    "compilers": "onnxruntime",
    "targets": "cortex-m3",
    "precisions": "w8a8",
    "exporters": "torchscript",
    "importers": "onnx2torch",
    "cases": "test_relu",
    "toolchains": "emx",
}


@pytest.mark.parametrize("kind", sorted(KNOWN))
def test_every_kind_is_a_table_and_json(project: Project, kind: str) -> None:
    table, rows = project.bench("list", kind), json.loads(project.bench("list", kind, "--json").stdout)
    names = [row["name"] for row in rows]
    heading, *lines = table.stdout.splitlines()
    assert KNOWN[kind] in names and table.returncode == 0 and table.stderr == ""
    assert heading.split()[0] == "name"
    assert [line.split()[0] for line in lines] == names
    assert all(set(KINDS[kind].columns) <= set(row) for row in rows)


def test_what_a_compiler_takes_and_offers(project: Project) -> None:
    rows = {row["name"]: row for row in json.loads(project.bench("list", "compilers", "--json").stdout)}
    assert rows["onnxruntime"]["takes"] == ["onnx"]
    assert rows["onnxruntime"]["backends"] == ["cpu", "xnnpack", "cuda"]
    assert rows["onnxruntime"]["version"].count(".") == 2
    assert rows["command[emx]"]["version"] is None, "nobody knows the version of a described command"
    assert rows["reference"]["opt_in"] and not rows["onnxruntime"]["opt_in"]


def test_another_build_of_a_tool_has_its_version(project: Project) -> None:
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(project.folder / "own")], check=True)
    [packages] = (project.folder / "own").glob("lib/python*/site-packages")
    name = f"{packages.relative_to(project.folder)}/onnxruntime_gpu-9.8.7.dist-info/METADATA"
    project.write(name, "Metadata-Version: 2.1\nName: onnxruntime-gpu\nVersion: 9.8.7\n")
    serves = '["onnx_check", "onnx_float64", "onnx_mutants", "onnxruntime"]'
    text = f'title = "Own"\nserves = {serves}\npython = "../own/bin/python"\n'
    project.write("toolchains/onnxruntime.toml", text)
    rows = {row["name"]: row for row in json.loads(project.bench("list", "compilers", "--json").stdout)}
    assert rows["onnxruntime"]["version"] == "9.8.7"


def test_what_the_project_adds_is_listed(project: Project) -> None:
    project.model("mine")
    assert "Model mine" in project.bench("list", "models").stdout
    assert "\nfake " in project.bench("list", "frameworks").stdout


def test_the_same_from_a_folder_below_the_project(project: Project) -> None:
    project.model("mine")
    (project.folder / "deep/down").mkdir(parents=True)
    below = Project(project.folder / "deep/down", project.environment)
    assert below.bench("list", "models").stdout == project.bench("list", "models").stdout


def test_boards_that_come_with_the_package_are_listed(project: Project) -> None:
    done = project.bench("list", "boards")
    listed = {line.split()[0] for line in done.stdout.splitlines()[1:]}
    assert done.returncode == 0 and {"aarch64", "armhf", "riscv64"} <= listed
    assert {row["name"] for row in json.loads(project.bench("list", "boards", "--json").stdout)} == listed


def test_a_board_that_is_no_toml_is_named(project: Project) -> None:
    project.write("boards/kitchen.toml", "target = \n")
    done = project.bench("list", "boards")
    assert done.returncode == 2 and "boards/kitchen.toml: not a TOML file" in done.stderr
