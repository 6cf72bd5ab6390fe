"""Every command line of README and docs is read by the real programs; those that take long run in the nightly set."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tests.docs.checkout import Checkout, make_checkout
from tests.docs.fences import ROOT, Command, Fence, all_fences, commands, documents, inline_code
from tests.docs.sections import sections
from tests.project import kept_environment

STORY = {fence for section in sections() for fence in section.fences}
COMMANDS = [
    command
    for fence in all_fences()
    if fence.language == "sh" and fence not in STORY and not fence.excuse
    for command in commands(fence)
]
NEWCOMER = re.compile(r"^python3 -m pip install")  # .ci/run executes them from a clean clone
CI = re.compile(r"^\.venv/bin/")
NOT_RUN = {".venv/bin/pytest tests --nightly": "it is what runs the nightly part of these tests"}
PYTEST = [command for command in COMMANDS if command.words[0] == "pytest"]
BENCH = [command for command in COMMANDS if command.words[0] == "bench"]
LONG = re.compile(r"^bench env (sync|lock)")  # gigabytes from the registry
AFTER_A_RUN = [one for one in COMMANDS if one.words[0] in ("bench", "python") and not LONG.match(one.text)]


@pytest.fixture(scope="session")
def checkout(tmp_path_factory: pytest.TempPathFactory, tools_python: Path) -> Checkout:
    """A copy of the checkout with a run behind it."""
    return make_checkout(tmp_path_factory.mktemp("checkout"), tools_python)


@pytest.mark.parametrize("command", PYTEST, ids=str)
def test_a_pytest_command_selects_cells(checkout: Checkout, command: Command) -> None:
    done = checkout.run([*command.words, "--collect-only", "-q"])
    assert done.returncode == 0, done.stdout[-3000:]
    assert "test_" in done.stdout


@pytest.mark.nightly
@pytest.mark.parametrize("command", PYTEST, ids=str)
def test_a_pytest_command_runs(checkout: Checkout, command: Command) -> None:
    done = checkout.run(command.words, seconds=7200)
    assert done.returncode in (0, 1), done.stdout[-3000:]  # 1: a compiler that fails differently from run to run
    assert "INTERNALERROR" not in done.stdout
    assert re.search(r"\d+ cells,", done.stdout), done.stdout[-3000:]


@pytest.mark.parametrize("fence", {command.fence: None for command in AFTER_A_RUN}, ids=lambda fence: fence.where)
def test_commands_after_a_run(checkout: Checkout, fence: Fence) -> None:
    for command in commands(fence):
        if command in AFTER_A_RUN:
            done = checkout.run(command.words)
            assert done.returncode in (0, 1), f"{command}\n{done.stdout[-3000:]}"  # 1: a finding
            assert "Traceback" not in done.stdout, f"{command}\n{done.stdout[-3000:]}"


@pytest.mark.nightly
@pytest.mark.parametrize("command", [one for one in BENCH if LONG.match(one.text)], ids=str)
def test_a_long_bench_command_runs(checkout: Checkout, command: Command) -> None:
    done = checkout.run(command.words, seconds=7200)
    assert done.returncode == 0, done.stdout[-3000:]


def test_every_command_line_is_run_by_a_test() -> None:
    rest = [command for command in COMMANDS if command.words[0] not in ("pytest", "bench", "python", "uv")]
    rest = [command for command in rest if command.text not in NOT_RUN]
    assert [str(command) for command in rest if not (NEWCOMER.match(command.text) or CI.match(command.text))] == []


def _ci() -> str:
    return (ROOT / ".ci/run").read_text("utf-8")


def test_the_readme_names_every_extra() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    table = (ROOT / "README.md").read_text("utf-8").partition("| extra | brings |")[2].partition("\n\n")[0]
    assert set(re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE)) == set(project["optional-dependencies"])


def test_ci_runs_the_two_commands_of_the_readme() -> None:
    lines = [command for command in COMMANDS if command.fence.document == "README.md" and NEWCOMER.match(command.text)]
    assert [command.words[-2:] for command in lines] == [(".venv/bin/pytest", "suites"), (".venv/bin/pytest", "tests")]
    body = re.search(r"^readme_command\(\) \{.*?^\}", _ci(), re.DOTALL | re.MULTILINE)
    assert body is not None
    for number, command in enumerate(lines, 1):
        assert f"readme_command {number}" in _ci()
        shown = body[0].replace("bash -euo pipefail -c", "printf '%s'")
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", f"{shown}\nreadme_command {number} --more"],
            cwd=ROOT, text=True, capture_output=True, check=True,
        )  # fmt: skip
        assert shlex.split(done.stdout) == [*command.words, "--more"]


def _step(*words: str) -> subprocess.CompletedProcess[str]:
    """A step of .ci/run, with the script's own function."""
    function = re.search(r"^FOREGROUND=.*?^\}", _ci(), re.DOTALL | re.MULTILINE)
    assert function is not None
    script = (
        f'set -euo pipefail\n{function[0]}\nhelper() {{ echo "of $1"; false; echo on; }}\nexport -f helper\nstep "$@"'
    )
    return subprocess.run(["bash", "-c", script, "ci", *words], text=True, capture_output=True, timeout=60)


def test_a_step_of_ci_that_takes_too_long_fails() -> None:
    slow = _step("a slow step", "1", "sleep", "50")
    assert slow.returncode == 1
    assert "a slow step: its ceiling is 1 s" in slow.stderr and "FAILED: a slow step (after " in slow.stderr
    assert _step("fine", "20", "true").returncode == _step("fine", "true").returncode == 0
    failing = _step("a function", "20", "helper", "two words")
    assert (failing.returncode, "of two words" in failing.stdout, "\non\n" in failing.stdout) == (1, True, False)
    assert "ceiling" not in failing.stderr


def test_contributing_lists_what_ci_runs() -> None:
    listed = [command for command in COMMANDS if command.fence.document == "CONTRIBUTING.md"]
    tools = re.search(r"^tools\(\) \{(.*?)^\}", _ci(), re.DOTALL | re.MULTILINE)
    assert tools is not None
    assert listed[0].fence.text.strip().split(" && ") == [line.strip() for line in tools[1].strip().splitlines()]
    lines = [shlex.split(line)[2:] for line in _ci().splitlines() if line.startswith("step ")]
    steps = [words[1:] if words[0].isdigit() else words for words in lines]  # without the ceiling
    readme = {
        ("readme_command", "1"): [".venv/bin/pytest", "suites"],
        ("readme_command", "2"): [".venv/bin/pytest", "tests"],
    }
    run = [[*readme[step[0], step[1]], *step[2:]] if step[0] == "readme_command" else step for step in steps]
    assert [list(one.words) for one in listed if CI.match(one.text) and one.text not in NOT_RUN] == run[1:]


@pytest.mark.nightly
@pytest.mark.parametrize("command", [one for one in COMMANDS if one.words[0] == "uv"], ids=str)
def test_a_uv_command_runs(tmp_path: Path, command: Command) -> None:
    uv = shutil.which("uv") or str(ROOT / ".venv/bin/uv")
    make = ["git", "clone", "-q", str(ROOT), str(tmp_path / "clone")]
    subprocess.run(make, check=True)
    done = subprocess.run(
        [uv, *command.words[1:], "--collect-only", "-q"],
        cwd=tmp_path / "clone", env=kept_environment(), text=True, capture_output=True, timeout=1200,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]


@pytest.mark.parametrize("document", documents())
def test_commands_and_options_in_the_text_exist(document: str, known_options: set[str]) -> None:
    for code in inline_code(document):
        if code.startswith("bench "):
            assert code.split()[1] in known_options, f"{document}: `{code}`: there is no such subcommand"
        for option in re.findall(r"(?<!\S)--[a-z][\w-]+", code):
            assert option in known_options, f"{document}: `{code}`: no program has the option {option}"


@pytest.fixture(scope="session")
def known_options() -> set[str]:
    """The subcommands of bench, and the options of all programs that documents speak of, read from their help."""
    subcommands = {name for command in BENCH for name in command.words[1:2]}
    words = [["-m", "pytest", "--help"], ["-m", "bench_plugin.cli.main", "--help"], ["-m", "bench_plugin.agent", "-h"]]
    helps = [_help(*line) for line in words]
    lines = re.findall(r"^    ([a-z]+)(?: \(([a-z, ]+)\))?(?: |$)", helps[1], re.MULTILINE)  # a name and its aliases
    named = {name for line in lines for name in (line[0], *line[1].split(", ")) if name}
    assert subcommands <= named
    for name in sorted(named):
        helps.append(_help("-m", "bench_plugin.cli.main", name, "--help"))
        actions = re.findall(r"^    ([a-z]+) ", helps[-1], re.MULTILINE) if " ACTION " in helps[-1] else []
        helps += [_help("-m", "bench_plugin.cli.main", name, action, "--help") for action in actions]
    return named | set(re.findall(r"(?<![\w-])--[a-z][\w-]+", "\n".join(helps)))


def _help(*words: str) -> str:
    done = subprocess.run([sys.executable, *words], cwd=ROOT, env=kept_environment(), text=True, capture_output=True)
    return done.stdout
