"""A project that compiles ONNX files which a script writes: its settings, a file, and the row of its one cell."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.project import FRAMEWORK, Finished, Project

COMPILER = FRAMEWORK.parent / "compiler.py"
EQUIVALENCE = """
import pytest

@pytest.mark.bench(check="equivalence")
def test_equivalence(bench_cell):
    bench_cell.verify()
"""


def compiles(project: Project, compiler: Path = COMPILER, tests: str = EQUIVALENCE) -> None:
    """Let the project know this fake compiler beside the fake framework, and compile the files that it is given."""
    project.write("bench.toml", f'adapters = ["{FRAMEWORK}", "{compiler}"]\ntoolchains = ["toolchains"]\n')
    project.write("test_models.py", tests)


def write_file(project: Project, python: Path, script: str, name: str, *arguments: object) -> Path:
    """The file of this name in the project, which the script writes to the path that is its first argument."""
    path = project.folder / name
    project.write("make.py", script)
    command = [str(python), "make.py", str(path), *map(str, arguments)]
    subprocess.run(command, cwd=project.folder, check=True)
    return path


def the_row(finished: Finished) -> Mapping[str, Any]:
    """The row of the only cell of a run."""
    rows = [row for row in finished.rows if row["kind"] == "cell"]
    assert len(rows) == 1, finished.text
    return rows[0]
