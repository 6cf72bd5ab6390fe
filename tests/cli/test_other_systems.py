"""On a system other than Linux there is one clear sentence, and no error of an import."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.project import Project

# This interpreter as another system has it: with another name, and without the modules that Linux alone has.
ELSEWHERE = """
import sys
sys.platform = sys.argv[1]
for name in ("fcntl", "resource", "termios", "pwd", "grp"):
    sys.modules[name] = None
sys.argv[:2] = ["bench"]
"""
BENCH = ELSEWHERE + "from bench_plugin.cli.main import main\nsys.exit(main())"
# Other plugins may look at how this interpreter was built, which is not as on the other system.
PYTEST = (
    ELSEWHERE
    + """
import os
os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
import pytest
sys.exit(pytest.main([*sys.argv[1:], "-p", "bench_plugin.plugin", "-p", "no:cacheprovider"]))
"""
)


def elsewhere(project: Project, code: str, system: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    return project.finish([sys.executable, "-c", code, system, *arguments])


@pytest.mark.parametrize("system", ["darwin", "win32"])
def test_bench_says_that_it_needs_linux(project: Project, system: str) -> None:
    said = elsewhere(project, BENCH, system, "env", "list")
    assert said.returncode == 2
    assert said.stdout.startswith("bench env: this needs Linux") and f"this is {system}; use" in said.stdout
    assert said.stdout.count("\n") == 1


def test_help_says_it_too(project: Project) -> None:
    said = elsewhere(project, BENCH, "darwin", "--help")
    assert said.returncode == 0
    assert "needs Linux" in " ".join(said.stdout.split()) and "COMMAND" in said.stdout


def test_pytest_says_it_once_where_bench_tests_are_selected(project: Project) -> None:
    project.model("a")
    said = elsewhere(project, PYTEST, "darwin", "test_models.py", "--frameworks=fake")
    assert said.returncode == pytest.ExitCode.USAGE_ERROR
    assert said.stdout.count("this needs Linux") == 1
    assert "Traceback" not in said.stdout and "ImportError" not in said.stdout


def test_other_tests_run_there(project: Project) -> None:
    project.write("test_other.py", "def test_other():\n    pass\n")
    said = elsewhere(project, PYTEST, "darwin", "test_other.py")
    assert said.returncode == 0, said.stdout
    assert "1 passed" in said.stdout
