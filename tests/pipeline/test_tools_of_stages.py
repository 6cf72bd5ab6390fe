"""What a stage was made with is in its recipe: another compiler, helper, environment or host is asked again."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from bench_plugin.reach.environments.toolchains import Toolchains
from tests.project import FRAMEWORK, Project

TESTS = """
import pytest

@pytest.mark.bench(check="equivalence")
def test_equivalence(bench_cell):
    bench_cell.verify()
"""
DESCRIPTION = """
toolchain = "fake"
command = ["vendorcc", "{model}", "out.onnx"]
artefact = "out.onnx"
precisions = { fp32 = ["original"] }
[runner]
command = ["{python}", "{here}/execute.py", "{artefact}", "{inputs}", "{outputs}"]
"""
RUNNER = """
import sys
import numpy as np
import onnx
from onnx.reference import ReferenceEvaluator
from scale import SCALE
model, given, made = sys.argv[1:]
evaluator = ReferenceEvaluator(onnx.load(model))
(y,) = evaluator.run(None, {evaluator.input_names[0]: np.load(given)})
np.save(made, y * np.float32(SCALE))
"""
RIGHT = "#!/bin/sh\ncp $1 $2\n"
WRONG = """#!{python}
import sys
import onnx
model = onnx.load(sys.argv[1])
for tensor in model.graph.initializer:
    values = onnx.numpy_helper.to_array(tensor)
    tensor.CopyFrom(onnx.numpy_helper.from_array(values * values.dtype.type(1.5), tensor.name))
onnx.save(model, sys.argv[2])
"""


@pytest.fixture
def vendor(project: Project) -> Project:
    """A project with one model and the described compiler ``vendor``, whose program is on the PATH."""
    project.write("test_models.py", TESTS)
    project.write("fixtures/compilers/vendor.toml", DESCRIPTION)
    project.write("fixtures/compilers/execute.py", RUNNER)
    project.write("fixtures/compilers/scale.py", "SCALE = 1\n")
    project.model("net")
    install(project, RIGHT)
    project.environment["PATH"] = f"{project.folder / 'bin'}{os.pathsep}{project.environment['PATH']}"
    return project


def install(project: Project, text: str) -> None:
    project.write("bin/vendorcc", text).chmod(0o755)


def row(project: Project, *arguments: str) -> Mapping[str, Any]:
    finished = project.run("--compilers=command[vendor]", *arguments)
    found = [row for row in finished.rows if row["kind"] == "cell"]
    assert found, finished.text
    return found[-1]


def test_a_wrong_compiler_at_the_same_path_is_not_supported(vendor: Project, tools_python: Path) -> None:
    assert row(vendor)["status"] == "supported"
    install(vendor, WRONG.replace("{python}", str(tools_python)))
    assert row(vendor, "--bench-resume")["status"] == "mismatch"


def test_a_wrong_helper_of_a_runner_is_not_supported(vendor: Project) -> None:
    assert row(vendor)["status"] == "supported"
    vendor.write("fixtures/compilers/scale.py", "SCALE = 1.5\n")
    assert row(vendor)["status"] == "mismatch"


def test_a_variable_that_changes_numerics_makes_stages_again_and_is_in_the_rows(vendor: Project) -> None:
    first = row(vendor)
    vendor.environment["OPENBLAS_CORETYPE"] = "Prescott"
    second = row(vendor)
    assert (second["stages_cached"], second["key"] != first["key"]) == ([], True)
    assert second["host"] != first["host"]
    header = next(row for row in vendor.rows() if row["kind"] == "header")["host"]
    assert header["digest"] == second["host"] and header["variables"]["OPENBLAS_CORETYPE"] == "Prescott"
    assert header["isa"] == sorted(header["isa"]) and header["libc"] and header["cores"] >= 1


def test_a_helper_that_an_adapter_declares_makes_its_stages_again(project: Project) -> None:
    text = FRAMEWORK.read_text().replace('"on_request": True,', '"on_request": True, "files": ["table.txt"],')
    project.write("framework.py", text)
    project.write("table.txt", "1")
    project.write("bench.toml", 'adapters = ["framework.py"]\ntoolchains = ["toolchains"]\n')
    project.model("net")
    project.run("-k", "test_export")
    assert "export" in project.run("-k", "test_export").cells("export")["net"]["stages_cached"]
    project.write("table.txt", "2")
    assert project.run("-k", "test_export").cells("export")["net"]["stages_cached"] == []


def test_a_toolchain_changed_by_hand_stores_nothing_and_says_how_to_mend_it(
    project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lock = Toolchains()["onnxruntime"]
    toml = lock.path.read_text()
    project.write("toolchains/fake.toml", toml)
    project.write("toolchains/fake.lock", lock.lock_text)
    project.environment["BENCH_CACHE"] = str(tmp_path / "own")
    project.model("net")
    sync = project.bench("env", "sync", "--toolchains=toolchains", "fake")
    assert sync.returncode == 0, sync.stderr
    site = next((tmp_path / "own/toolchains").glob("fake-*/lib/python*/site-packages"))
    (site / "sitecustomize.py").write_text("import sys\n")
    finished = project.run("-k", "test_export")
    found = finished.cells("export")["net"]
    assert found["status"] == "Not provided" and "Traceback" not in finished.text
    assert "sitecustomize.py was added" in found["reason"]
    assert "make it again: bench env sync fake --again" in found["reason"]
    (site / "sitecustomize.py").unlink()
    assert project.run("-k", "test_export").cells("export")["net"]["status"] == "supported"
