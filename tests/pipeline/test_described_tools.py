"""Described compilers of vendors: what is said where a tool is absent, and of an artefact that nothing runs."""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bench_plugin.adapters.compilers.command import Adapter
from tests.adapters.test_command import compiling, running, script
from tests.project import Project

FOLDER = Path(__file__).parents[2] / "fixtures" / "compilers"
# The program that is absent, and the target that each is asked for.
VENDORS = {
    "edgetpu": ("edgetpu_compiler", "coral"),
    "glow": ("model-compiler", "local"),
    "hailo": ("hailo", "hailo-8"),
    "onnc": ("onnc", "local"),
    "st": ("stedgeai", "stm32-m7"),
    "tensorrt": ("trtexec", "local"),
    "tflite_micro": ("tflm_benchmark", "local"),
    "vitis_ai": ("vai_c_xir", "zcu102-dpu"),
}
TESTS = """
import pytest

@pytest.mark.bench(check="equivalence")
def test_equivalence(bench_cell):
    bench_cell.verify()
"""
WITHOUT_RUNNER = """
toolchain = "fake"
targets = ["local", "hailo-8"]
command = ["vendorcc", "{model}", "out.bin"]
artefact = "out.bin"
precisions = { fp32 = ["original"] }
"""
# Builds an "engine" that is a copy of the model, and adds what stands in it to the only input.
TRTEXEC = """
import json, re, shutil, sys
import numpy as np
said = dict(arg[2:].split("=", 1) for arg in sys.argv[1:] if "=" in arg)
if "onnx" in said:
    shutil.copyfile(said["onnx"], said["saveEngine"])
elif "loadEngine" in said:
    name, path = re.fullmatch(r"'(\\w+)':(.*)", said["loadInputs"]).groups()
    values = np.fromfile(path, np.float32) + float(open(said["loadEngine"]).read())
    row = {"name": "y", "dimensions": "1x3", "values": values.tolist()}
    json.dump([row], open(said["exportOutput"], "w"))
else:
    print("&&&& RUNNING TensorRT.trtexec [TensorRT v101300] --help")
"""


def description(name: str) -> dict[str, Any]:
    """A description as its file says it."""
    return tomllib.loads((FOLDER / f"{name}.toml").read_text("utf-8"))


@pytest.fixture
def vendor(project: Project) -> Project:
    """A project with one model."""
    project.write("test_models.py", TESTS)
    project.model("net")
    return project


def rows(project: Project, *arguments: str) -> list[Mapping[str, Any]]:
    finished = project.run(*arguments)
    found = [row for row in finished.rows if row["kind"] == "cell"]
    assert found, finished.text
    return found


def test_an_absent_tool_is_not_provided_and_the_row_says_how_to_get_it(vendor: Project) -> None:
    compilers = ",".join(f"command[{name}]" for name in VENDORS)
    targets = ",".join(dict.fromkeys(target for _, target in VENDORS.values()))
    found = {}
    for row in rows(vendor, f"--compilers={compilers}", f"--targets={targets}", "--precisions=fp32,w8a8"):
        found[row["cell"]["compiler"], row["cell"].get("target", "local")] = (row["status"], row["reason"])
    for name, (program, target) in VENDORS.items():
        status, reason = found[f"command[{name}]", target]
        assert status == "Not provided", (name, reason)
        assert reason.endswith(f"{program} not found; to get it: {description(name)['obtain']}"), reason


@pytest.mark.parametrize("name", VENDORS)
def test_a_description_says_where_its_tool_comes_from_and_that_it_was_not_run(name: str) -> None:
    said = description(name)
    assert re.search(r"https://|Docker Hub", said["obtain"])
    assert "never run here" in (FOLDER / f"{name}.toml").read_text("utf-8").partition("\n")[0]
    for row in said.get("errors", ()):
        re.compile(row["pattern"])


@pytest.mark.parametrize("target", ["local", "hailo-8"])
def test_what_nothing_can_run_is_unverified_once_it_was_compiled(vendor: Project, target: str) -> None:
    vendor.write("fixtures/compilers/vendor.toml", WITHOUT_RUNNER)
    vendor.write("bin/vendorcc", "#!/bin/sh\ncp $1 $2\n").chmod(0o755)
    vendor.environment["PATH"] = f"{vendor.folder / 'bin'}{os.pathsep}{vendor.environment['PATH']}"
    (row,) = rows(vendor, "--compilers=command[vendor]", f"--targets={target}")
    assert row["status"] == "unverified" and row["reason"].startswith("not run: compiled"), row["reason"]
    assert row["artefacts"]["files"] if "files" in row["artefacts"] else row["artefacts"]


def test_the_runner_of_tensorrt_passes_files_and_reads_what_trtexec_exports(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script(tmp_path, "trtexec", TRTEXEC)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    said = {**description("tensorrt"), "toolchain": ""}
    for key in ("files", "environment"):  # of the host alone
        said.pop(key, None)
    call = compiling(tmp_path, said)
    object.__setattr__(call.description, "path", str(FOLDER / "tensorrt.toml"))
    made = Adapter().compile(call)
    assert made.meta["tool_version"] == "101300"
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    ran = running(tmp_path, said, x, dict(made.files))
    object.__setattr__(ran.description, "path", str(FOLDER / "tensorrt.toml"))
    answer = Adapter().run(ran)
    assert answer.arrays["out0"].shape == (2, 3)
    assert np.frombuffer(answer.arrays["out0"].data, np.float32).tolist() == (x + 2.5).reshape(-1).tolist()
