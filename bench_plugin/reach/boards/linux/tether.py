"""Runs on the board: an agent for as long as its link lives, in a folder that is removed at the end.

One agent at a time has the board: a second one waits for it, and says who holds it.

A script for Python 3.8 or later with the standard library only. Its standard input is the link: first the token, 64 hex
digits and a line feed, then a byte every second. When it ends, or nothing comes for ``--silence`` seconds, the agent is
killed with all that it started. It prints the agent's output, and ends as the agent did. Its folder and the files of
``--uses`` are locked meanwhile, so that no host makes room of them (``room.py``).
"""

from __future__ import annotations

import argparse
import contextlib
import fcntl
import os
import runpy
import select
import shutil
import signal
import sys
import time

HEX_DIGITS = 64
POLL_SECONDS = 1.0
BUSY = 75  # the exit code where another host has the board for too long
LINK_ENDED = 129


def main() -> int:
    """Run the agent. The exit code is the agent's, 128 and its number for a signal, LINK_ENDED or BUSY."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--agent", required=True, help="the zipapp")
    parser.add_argument("--folder", required=True, help="a folder that does not exist yet")
    parser.add_argument("--silence", type=float, required=True, help="seconds")
    parser.add_argument("--lock", required=True, help="the file whose lock the agent at work holds")
    parser.add_argument("--who", required=True, help="what others are told who wait for the board")
    parser.add_argument("--wait", type=float, required=True, help="seconds that others may have the board")
    parser.add_argument("--uses", nargs="*", default=[], help="files and folders that must stay")
    parser.add_argument("options", nargs="*", help="of the agent, behind --")
    options = parser.parse_args()
    os.umask(0o077)
    os.makedirs(options.folder)
    held = [_locked(path) for path in (options.folder, *options.uses)]
    try:
        token = os.path.join(options.folder, "token")
        with open(token, "wb") as file:
            file.write(_line())
        held.append(_taken(options.lock, options.who, options.wait))
        child = os.fork()
        if not child:
            _become_agent(options.agent, token, options.folder, options.options)
        return _watched(child, options.silence)
    finally:
        shutil.rmtree(options.folder, ignore_errors=True)
        for descriptor in held:
            os.close(descriptor)


def _locked(path: str) -> int:
    """A descriptor of a file or folder that holds a lock, which many may hold."""
    descriptor = os.open(path, os.O_RDONLY)
    fcntl.flock(descriptor, fcntl.LOCK_SH)
    return descriptor


def _taken(path: str, who: str, wait: float) -> int:
    """A descriptor of the file whose lock means that this agent has the board; its text says who has it since when."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    began, told = time.monotonic(), False
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            break
        except BlockingIOError:
            late = time.monotonic() - began >= wait
            if late or not told:
                print(_holder(descriptor) + (f"; waited for it: {wait:g} s" if late else ""), flush=True)
                told = True
            if late:
                sys.exit(BUSY)
        if select.select([0], [], [], POLL_SECONDS / 5)[0] and not os.read(0, 4096):
            sys.exit(LINK_ENDED)
    os.ftruncate(descriptor, 0)
    os.write(descriptor, f"{time.time():f} {who}".encode())
    return descriptor


def _holder(descriptor: int) -> str:
    """Who has the board."""
    since, _, who = os.pread(descriptor, 1000, 0).decode("utf-8", "replace").partition(" ")
    try:
        seconds = time.time() - float(since)
    except ValueError:  # it has just begun
        seconds, who = 0.0, "another host"
    return f"the board is held by {who} since {seconds:.0f} s"


def _line() -> bytes:
    """The first line of the link."""
    data = b""
    while not data.endswith(b"\n"):
        part = os.read(0, 1)
        if not part or len(data) > HEX_DIGITS:
            sys.exit("the link ended before the token came")
        data += part
    return data


def _become_agent(agent: str, token: str, folder: str, options: list[str]) -> None:
    """Serve in this process, which leads a group of its own."""
    os.setsid()
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    work = os.path.join(folder, "work")
    os.makedirs(work)
    os.chdir(work)
    os.environ["TMPDIR"] = work
    sys.argv = [agent, "--listen", "127.0.0.1:0", "--token-file", token, "--folder", work, "--tunnelled"]
    sys.argv += options
    try:
        runpy.run_path(agent, run_name="__main__")
    finally:
        os._exit(1)


def _watched(child: int, silence: float) -> int:
    """Wait for the end of the agent or of the link."""
    heard = time.monotonic()
    while True:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            _kill(child)
            return 128 + os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)
        if select.select([0], [], [], POLL_SECONDS)[0]:
            if not os.read(0, 4096):
                break
            heard = time.monotonic()
        elif time.monotonic() - heard > silence:
            break
    _kill(child)
    os.kill(child, signal.SIGKILL)  # where the link ended at once, it does not lead its group yet
    os.waitpid(child, 0)
    return LINK_ENDED


def _kill(group: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(group, signal.SIGKILL)


if __name__ == "__main__":
    sys.exit(main())
