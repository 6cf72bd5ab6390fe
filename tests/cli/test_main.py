"""The command itself: help, exit codes, messages instead of tracebacks, and a quick start."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from bench_plugin.cli.main import main, subcommands

LIGHT = """
import sys
from bench_plugin.cli.main import main
try:
    main(["--help"])
except SystemExit:
    pass
heavy = {"argcomplete", "numpy", "scipy", "pytest", "uv", "packaging", "bench_plugin.cli.setup.env"}
print(sorted(heavy & set(sys.modules)), file=sys.stderr)
"""


def bench(*arguments: str, folder: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "bench_plugin.cli.main", *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=60)


def test_help_lists_every_subcommand_with_its_help(tmp_path: Path) -> None:
    done = bench("--help", folder=tmp_path)
    assert done.returncode == 0
    assert "env" in done.stdout and "make, list, examine and lock the toolchains" in done.stdout
    assert "4 environment missing" in done.stdout


def test_help_imports_nothing_heavy(tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, "-c", LIGHT], cwd=tmp_path, capture_output=True, text=True)
    assert done.stderr == "[]\n"


@pytest.mark.parametrize(
    "arguments",
    [[], ["fetch"], ["env"], ["env", "mend"], ["list", "colours"], ["cache"], ["expect"], ["--nope"]],
)
def test_usage_errors_end_with_two(tmp_path: Path, arguments: list[str]) -> None:
    done = bench(*arguments, folder=tmp_path)
    assert done.returncode == 2 and "usage: bench" in done.stderr


def test_configuration_that_is_wrong_is_a_message(tmp_path: Path) -> None:
    (tmp_path / "bench.toml").write_text("colour = 1\n")
    done = bench("env", "list", folder=tmp_path)
    assert done.returncode == 2
    assert "bench.toml:1: colour: unknown key" in done.stderr and "Traceback" not in done.stderr


def test_a_reader_that_leaves_early_is_no_error(tmp_path: Path) -> None:
    command = f"{sys.executable} -m bench_plugin.cli.main env list | head -n 0"
    done = subprocess.run(["bash", "-o", "pipefail", "-c", command], cwd=tmp_path, capture_output=True, text=True)
    assert done.stderr == "" and done.returncode == 0


EVERY = [
    ["attributes"], ["board", "check"], ["board", "gate"], ["board", "image"], ["board", "list"], ["board", "mode"],
    ["board", "peaks"], ["board", "serve"], ["board"], ["cache", "info"], ["cache", "prune"], ["cache"], ["choose"],
    ["completion"], ["complies"], ["corpus", "check"], ["corpus", "evidence"], ["corpus"], [],
    ["corpus", "update"], ["env"], ["env", "doctor"], ["env", "list"], ["env", "lock"], ["env", "sync"],
    ["env", "try"], ["expect"],
    ["expect", "check"], ["expect", "update"], ["export"], ["grid"], ["history"], ["history", "index"],
    ["history", "runs"], ["history", "cell"], ["history", "failures"], ["history", "flaky"], ["history", "trends"],
    ["history", "check"], ["init"], ["list"], ["localise"], ["localize"], ["merge"], ["needs"], ["predict"],
    ["pruning"], ["reduce"], ["report"], ["repro"], ["sensitivity"], ["sparse"],
]  # fmt: skip


@pytest.mark.parametrize("command", EVERY, ids=" ".join)
def test_every_help_says_what_the_exit_codes_mean(command: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main([*command, "--help"])
    said = " ".join(capsys.readouterr().out.split())
    assert ended.value.code == 0
    assert "exit codes: 0 fine, 1 finding, 2 usage, 3 cannot say, 4 environment missing" in said


def test_every_subcommand_stands_in_the_list_above() -> None:
    assert {words[0] for words in EVERY if words} >= set(subcommands()) - {"compare", "schema"}


def test_version(tmp_path: Path) -> None:
    assert bench("--version", folder=tmp_path).stdout.startswith("bench 0.")
