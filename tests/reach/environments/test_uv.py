"""What uv is told of pip's configuration, and which line of its output a person sees."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import uv

from bench_plugin.domain.errors import UsageError
from bench_plugin.domain.paths import PACKAGE
from bench_plugin.reach.environments.uv import first_useful_line, uv_binary, uv_environment
from tests.reach.environments.conftest import Workshop


def test_pips_registry_is_passed_on(tmp_path: Path) -> None:
    config = tmp_path / "pip.conf"
    config.write_text("[global]\nindex-url = https://a/simple\nextra-index-url = https://b https://c\ncert = /pem\n")
    found = uv_environment({"PIP_CONFIG_FILE": str(config), "PIP_FIND_LINKS": "/w /v"})
    assert found["UV_DEFAULT_INDEX"] == "https://a/simple"
    assert found["UV_INDEX"] == "https://b https://c"
    assert found["UV_FIND_LINKS"] == "/w,/v"
    assert found["SSL_CERT_FILE"] == "/pem"


def test_what_uv_was_told_is_not_overruled(tmp_path: Path) -> None:
    told = {"UV_INDEX_URL": "https://mine", "UV_FIND_LINKS": "/mine", "SSL_CERT_FILE": "/mine.pem"}
    pip = {"PIP_INDEX_URL": "https://a", "PIP_FIND_LINKS": "/w", "PIP_CERT": "/pem", "PIP_CONFIG_FILE": os.devnull}
    found = uv_environment({**told, **pip})
    assert told.items() <= found.items()
    assert "UV_DEFAULT_INDEX" not in found


def test_the_callers_own_python_settings_do_not_reach_uv() -> None:
    own = {"VIRTUAL_ENV": "/x", "PYTHONPATH": "/y", "PYTHONHOME": "/z", "PIP_CONFIG_FILE": os.devnull}
    assert uv_environment(own).keys() == {"PIP_CONFIG_FILE"}


THREADS = """
import sys
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

from bench_plugin.reach.environments.uv import uv_binary

sys.setswitchinterval(1e-6)
together = Barrier(8)

def found():
    together.wait()
    return uv_binary()

with ThreadPoolExecutor(8) as threads:
    calls = [threads.submit(found) for _ in range(8)]
    print(len({call.result() for call in calls}))
"""


def test_several_threads_find_uv_at_once() -> None:
    for _ in range(5):  # sysconfig is initialised once per process, and the race is not lost every time
        done = subprocess.run([sys.executable, "-c", THREADS], cwd=PACKAGE.parent, capture_output=True, text=True)
        assert done.stdout == "1\n", done.stderr[-2000:]


def test_pip_configuration_that_cannot_be_read(tmp_path: Path) -> None:
    config = tmp_path / "pip.conf"
    config.write_text("index-url = https://a\n")
    with pytest.raises(UsageError, match="pip.conf: pip's configuration cannot be read"):
        uv_environment({"PIP_CONFIG_FILE": str(config)})


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("", ""),
        ("warning: old\nerror: Failed to fetch: a\n  cause: x\n  cause: dns\n\nhint: y\n", "Failed to fetch: a (dns)"),
        (
            "  × No solution found:\n  ╰─▶ Because a was not\n      found, b fails.\n",
            "No solution found: Because a was not found, b fails.",
        ),
        ("something else\n", "something else"),
    ],
)
def test_first_useful_line(text: str, line: str) -> None:
    assert first_useful_line(text) == line


def test_from_a_clone_uv_is_told_what_pip_was_told(
    workshop: Workshop, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The README's first command: nothing is installed but uv, and only pip knows where distributions come from."""
    monkeypatch.delenv("UV_FIND_LINKS")
    monkeypatch.setenv("PIP_FIND_LINKS", str(workshop.wheels))
    monkeypatch.setenv("PYTHONPATH", str(as_pip_installs_uv_to(tmp_path / "target")))
    assert uv_of_a_clone("venv", str(tmp_path / "made")).returncode == 0
    python = tmp_path / "made/bin/python"
    installed = uv_of_a_clone("pip", "install", "--python", str(python), "gadget")
    assert installed.returncode == 0, installed.stderr
    imported = subprocess.run([python, "-c", "print(__import__('gadget').ANSWER)"], capture_output=True, text=True)
    assert imported.stdout == "42\n"


def as_pip_installs_uv_to(target: Path) -> Path:
    """What ``pip install --target`` makes of uv, and nothing else that this environment has."""
    (target / "bin").mkdir(parents=True)
    (target / "uv").symlink_to(Path(uv.__file__).parent)
    (target / "bin/uv").symlink_to(uv_binary())
    return target


def uv_of_a_clone(*arguments: str) -> subprocess.CompletedProcess[str]:
    """uv as the README runs it, by an interpreter that has none of the plugin's dependencies."""
    base = getattr(sys, "_base_executable", sys.executable)
    command = [base, "-m", "bench_plugin.reach.environments.uv", *arguments]
    return subprocess.run(command, cwd=PACKAGE.parent, capture_output=True, text=True)
