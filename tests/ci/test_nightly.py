"""``.ci/nightly``: a night in shards that are run one by one, resumed, merged and compared with the night before."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.ci.workflows import install_commands, lacking
from tests.project import Project
from tests.report.interactive.packed import packed

SCRIPT = Path(__file__).parents[2] / ".ci/nightly"


def nightly(project: Project, *arguments: str) -> subprocess.CompletedProcess[str]:
    given = {"NIGHTLY_PROJECT": str(project.folder), "NIGHTLY_SUITES": "test_models.py", "NIGHTLY_OPTIONS": "-v"}
    return subprocess.run(
        [str(SCRIPT), *arguments], env={**project.environment, **given}, text=True, timeout=120,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip


@pytest.mark.nightly
def test_a_night_in_shards(project: Project) -> None:
    install_commands(project)
    for name in "abc":
        project.model(name)
    project.model("broken", "export:unsupported")
    assert nightly(project, "new").returncode == 0
    for shard in ("1/2", "2/2", "2/2"):  # the last one again: it is resumed
        done = nightly(project, shard)
        assert done.returncode == 0, done.stdout
    assert "4 rows reused" in done.stdout
    if missing := lacking(SCRIPT.read_text()):
        pytest.skip(f"this checkout has no command: bench {', bench '.join(missing)}")
    first = nightly(project, "merge")
    assert first.returncode == 0 and "no night before" in first.stdout, first.stdout
    assert "8 cells of 2 runs" in first.stdout and "0 not run" in first.stdout
    assert (project.folder / "reports/nightly/merged/report.html").is_file()
    assert nightly(project, "new").returncode == 0
    project.model("a", "export:unsupported")
    assert nightly(project, "1/1").returncode == 0
    second = nightly(project, "merge")
    assert second.returncode == 1, second.stdout
    pages = [project.folder / f"reports/nightly/{night}/report.html" for night in ("previous", "merged")]
    lengths = [sorted({len(one["run"]) for one in packed(page, "trends").values()}) for page in pages]
    assert lengths == [[], [2]], "the report knows how each cell went over both nights"
    assert "a" in (project.folder / "reports/nightly/merged/summary.md").read_text()


def test_without_arguments_it_says_how_it_is_used() -> None:
    done = subprocess.run([str(SCRIPT)], text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    assert done.returncode == 2 and "run one shard" in done.stdout
