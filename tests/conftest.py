"""Fixtures that tests of several rooms share: a project of a user's own, and an interpreter with numpy and onnx."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench_plugin.reach.environments.toolchains import Toolchains
from tests.project import Project, make_project


@pytest.fixture(scope="session")
def tools_python() -> Path:
    """The interpreter of the onnxruntime toolchain: it has numpy and onnx."""
    return Toolchains().ensure("onnxruntime")


@pytest.fixture
def project(tmp_path: Path, tools_python: Path) -> Project:
    """A project in a folder of the test's own."""
    return make_project(tmp_path, tools_python)
