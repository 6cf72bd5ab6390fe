"""The files of a stage that is stored lie on the disk once, in the cache."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.project import Project

LOOK = """
import json
from bench_plugin.domain.paths import cache_root

def pytest_runtest_teardown(item):
    left = sorted(path.name.partition("-")[2] for path in (cache_root() / "scratch").glob("run-*/results/*"))
    with open("left.jsonl", "a") as file:
        print(json.dumps(left), file=file)
"""


@pytest.fixture
def looked(project: Project, tmp_path: Path) -> Project:
    """A project that notes after each test which files of results lie in the scratch folder."""
    project.environment["BENCH_CACHE"] = str(tmp_path / "cache")
    project.write("conftest.py", LOOK)
    project.model("fine")
    return project


def test_what_the_cache_has_is_not_kept_in_the_scratch_folder(looked: Project) -> None:
    done = looked.run("-k", "export")
    assert done.code == 0, done.text
    assert (looked.folder / "left.jsonl").read_text() == "[]\n"
