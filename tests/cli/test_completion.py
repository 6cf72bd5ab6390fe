"""``bench completion``: bash really completes with its script; the other scripts are accepted by their shells."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.project import Project

# Bash calls the function that the script registered, as it does when the Tab key is pressed.
PRESS_TAB = """
eval "$(bench completion bash)"
function=$(complete -p bench | sed 's/.*-F \\([^ ]*\\).*/\\1/')
COMP_LINE="$1" COMP_POINT=${#1} COMP_TYPE=9
read -r -a COMP_WORDS <<< "$1"
[[ $1 == *" " ]] && COMP_WORDS+=("")
COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
"$function" bench
printf '%s\\n' "${COMPREPLY[@]}"
"""


def completions(line: str, project: Project) -> list[str]:
    """What bash offers behind ``line``."""
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    command = ["bash", "-c", PRESS_TAB, "bash", line]
    done = subprocess.run(
        command, cwd=project.folder, env={**project.environment, "PATH": path}, capture_output=True, text=True,
        timeout=60,
    )  # fmt: skip
    assert done.stderr == ""
    return [word.strip() for word in done.stdout.splitlines() if word]


def test_commands_actions_options_and_kinds(project: Project) -> None:
    assert completions("bench rep", project) == ["report", "repro"]
    assert {"list", "sync", "doctor", "lock", "try"} <= set(completions("bench env ", project))
    assert "--keep-gb" in completions("bench cache prune --k", project)[0]
    assert completions("bench list comp", project) == ["compilers"]


def test_names_of_toolchains_compilers_and_importers(project: Project) -> None:
    assert completions("bench env sync pyt", project) == ["pytorch"]
    assert completions("bench reduce m.onnx --compiler openv", project) == ["openvino"]
    assert completions("bench localize m.onnx --importer onnx2py", project) == ["onnx2pytorch"]


def test_keys_of_the_last_results(project: Project) -> None:
    assert completions("bench repro 0", project) == []
    row = {"schema": 1, "kind": "cell", "key": "0123456789ab", "symptom": None}
    project.write("reports/results.jsonl", f"{json.dumps(row)}\n{json.dumps({**row, 'key': '0f', 'symptom': 'crash'})}")
    assert completions("bench repro 01", project) == ["0123456789ab"]
    assert completions("bench reduce 0", project) == ["0f"]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_is_one_of_its_shell(project: Project, shell: str) -> None:
    done = project.bench("completion", shell)
    assert done.returncode == 0 and "bench" in done.stdout
    if shutil.which(shell):
        assert subprocess.run([shell, "-n"], input=done.stdout, text=True, capture_output=True).stderr == ""


def test_another_shell_is_a_usage_error_that_names_those_that_are_known(project: Project) -> None:
    done = project.bench("completion", "tcsh")
    assert done.returncode == 2 and "choose from 'bash', 'zsh', 'fish'" in done.stderr
