"""Run uv, which is found through its package and gets pip's configuration of the registry.

``python -m bench_plugin.reach.environments.uv ARGUMENTS`` runs it in a clone in which nothing is installed yet; it
needs the standard library and the package uv (README, "Start").
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from bench_plugin.domain.errors import BenchError, EnvironmentMissing
from bench_plugin.reach.environments.pip_config import read_pip_config

INDEX_VARIABLES = ("UV_DEFAULT_INDEX", "UV_INDEX", "UV_INDEX_URL", "UV_EXTRA_INDEX_URL")
DRAWN = "×╰├─▶│ "
UNWRAPPED = "9999"  # columns: uv wraps its messages at the width of the terminal
LOST_FILES = "; files that uv's cache lists were removed from it, and uv does not fetch them again: uv cache clean"
_LOST = re.compile(r"failed to read directory `[^`]*archive-v\d+[^`]*`: No such file")
# Toolchains are made by several threads, and sysconfig, which uv asks, is not safe for them before Python 3.12.
_ASKING_SYSCONFIG = threading.Lock()


class UvFailed(EnvironmentMissing):
    """uv ended with an error: the message is its first useful line, ``output`` is all that it wrote."""

    def __init__(self, message: str, output: str) -> None:
        super().__init__(message)
        self.output = output


def uv_binary() -> Path:
    """The uv executable of the uv package. Raises EnvironmentMissing when the package is absent or broken."""
    fix = "python -m pip install --force-reinstall uv"
    try:
        from uv import find_uv_bin

        with _ASKING_SYSCONFIG:
            return Path(find_uv_bin())
    except (ImportError, FileNotFoundError) as error:
        raise EnvironmentMissing(f"the Python package 'uv' does not work here ({error}); fix it: {fix}") from error


def uv_environment(environment: Mapping[str, str]) -> dict[str, str]:
    """The environment variables for uv, with the registry, wheel folders and certificate of pip's configuration.

    uv's own settings (UV_DEFAULT_INDEX, UV_FIND_LINKS, SSL_CERT_FILE ...) have precedence. Every installation requires
    hashes, so a file may come from any of the indexes.
    """
    found = {key: value for key, value in environment.items() if key not in {"VIRTUAL_ENV", "PYTHONPATH", "PYTHONHOME"}}
    pip = read_pip_config(environment)
    if not any(name in found for name in INDEX_VARIABLES):
        if pip.index_url:
            found["UV_DEFAULT_INDEX"] = pip.index_url
        if pip.extra_index_urls:
            found["UV_INDEX"] = " ".join(pip.extra_index_urls)
            found.setdefault("UV_INDEX_STRATEGY", "unsafe-best-match")
    if pip.find_links:
        found.setdefault("UV_FIND_LINKS", ",".join(pip.find_links))
    if pip.cert:
        found.setdefault("SSL_CERT_FILE", pip.cert)
    return found


def _no_index(environment: Mapping[str, str]) -> bool:
    """Whether pip is configured to use wheel folders only, for which uv has an option but no variable."""
    return read_pip_config(environment).no_index and not any(name in environment for name in INDEX_VARIABLES)


def uv_command(arguments: Sequence[str], environment: Mapping[str, str]) -> list[str]:
    """uv's command line for ``arguments``. Raises EnvironmentMissing when uv is not installed."""
    command = [str(uv_binary()), *arguments]
    return [*command, "--no-index"] if arguments[:1] == ["pip"] and _no_index(environment) else command


def run_uv(
    arguments: Sequence[str],
    *,
    folder: Path,
    seconds: float = 3600,
    started: Callable[[subprocess.Popen[str]], None] = lambda process: None,
) -> str:
    """Run uv with ``arguments`` in ``folder``, for at most ``seconds``, and return its standard output.

    ``started`` is called with the process, so that another thread can end it. Raises UvFailed when uv fails,
    EnvironmentMissing when it is not installed.
    """
    command = [*uv_command(arguments, os.environ), "--color", "never", "--no-progress"]
    with subprocess.Popen(
        command,
        cwd=folder,
        env={**uv_environment(os.environ), "COLUMNS": UNWRAPPED},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
        errors="replace",
    ) as process:
        started(process)
        try:
            output, complaints = process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired as error:
            process.kill()
            raise UvFailed(
                f"uv {arguments[0]} did not finish in {seconds:.0f} s; is the package registry reachable?", ""
            ) from error
        except BaseException:  # Ctrl-C: uv ends together with the process that waits for it
            process.kill()
            raise
    if process.returncode != 0:
        line = first_useful_line(complaints) or f"uv {arguments[0]} ended with code {process.returncode}"
        raise UvFailed(line + (LOST_FILES if _LOST.search(complaints) else ""), complaints)
    return output


def first_useful_line(text: str) -> str:
    """uv's error in one line: the error with its innermost cause, or the lines of its diagnosis joined."""
    lines = [line.strip() for line in text.split("hint:")[0].splitlines() if line.strip()]
    diagnosis = next((index for index, line in enumerate(lines) if line.startswith("×")), None)
    if diagnosis is not None:
        return " ".join(line.strip(DRAWN) for line in lines[diagnosis:])
    errors = [line.removeprefix("error:").strip() for line in lines if line.startswith("error:")]
    causes = [line.removeprefix("cause:").strip() for line in lines if line.startswith("cause:")]
    head = (errors or lines or [""])[0]
    return f"{head} ({causes[-1]})" if causes else head


def main() -> None:
    """Replace this process by uv, with the same arguments."""
    try:
        command = uv_command(sys.argv[1:], os.environ)
        os.execve(command[0], command, uv_environment(os.environ))
    except BenchError as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
