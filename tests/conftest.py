"""What tests of several rooms share: a project of a user's own, an interpreter with numpy and onnx, and workers.

Tests of a file that share a run (a fixture of scope "module") go to one worker of pytest-xdist: with ``-n 2`` alone
each of the workers would make that run once more.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

from bench_plugin.reach.environments.toolchains import Toolchains
from tests.project import Project, make_project

settings.register_profile("busy machine", deadline=None)  # a test must not fail because its machine was busy
settings.load_profile("busy machine")


@pytest.fixture(scope="session")
def tools_python() -> Path:
    """The interpreter of the onnxruntime toolchain: it has numpy and onnx."""
    return Toolchains().ensure("onnxruntime")


@pytest.fixture
def project(tmp_path: Path, tools_python: Path) -> Project:
    """A project in a folder of the test's own."""
    return make_project(tmp_path, tools_python)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> object | None:
    """For ``--dist load``, which ``-n`` implies: as it is, but files with a shared fixture are not divided."""
    if config.getoption("dist") != "load":
        return None
    from xdist.scheduler import LoadScopeScheduling

    @cache
    def is_shared(file: str) -> bool:
        return 'scope="module"' in (config.rootpath / file).read_text(encoding="utf-8")

    class FilesWithSharedFixtures(LoadScopeScheduling):
        """Largest files first, then all other tests, one at a time, to whichever worker is free."""

        def _split_scope(self, nodeid: str) -> str:
            file = nodeid.partition("::")[0]
            return file if is_shared(file) else nodeid

    return FilesWithSharedFixtures(config, log)
