"""A real sshd on the loopback, with its own port, host key and user key, as a board for tests."""

from __future__ import annotations

import getpass
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path

import pytest

from bench_plugin.reach.boards.board import Board
from bench_plugin.reach.boards.registry import reach_of
from bench_plugin.reach.processes.leased_agent import Source
from bench_plugin.reach.processes.supervisor import AgentPool
from tests.reach.processes.conftest import FAKE, until

PATH = f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin"


class Sshd:
    """The server; ``cache`` is the folder that the board's agents keep their files in."""

    def __init__(self, folder: Path) -> None:
        program = shutil.which("sshd", path=PATH)
        if program is None or shutil.which("ssh") is None:
            pytest.skip("sshd or ssh not found; Debian: packages openssh-server, openssh-client")
        if os.geteuid() == 0:
            Path("/run/sshd").mkdir(mode=0o755, exist_ok=True)  # where sshd, run by root, wants to be confined
        self.folder = folder
        self.cache = folder / "board" / "bench_plugin"
        for name in ("host", "user", "stranger"):
            _keygen(folder / name)
        folder.joinpath("authorized").write_text(folder.joinpath("user.pub").read_text())
        self.port = _free_port()
        folder.joinpath("config").write_text(
            f"Port {self.port}\nListenAddress 127.0.0.1\nHostKey {folder}/host\nPidFile none\nUsePAM no\n"
            f"AuthorizedKeysFile {folder}/authorized\nStrictModes no\nPasswordAuthentication no\n"
            "KbdInteractiveAuthentication no\n"
            f"PermitRootLogin prohibit-password\nSetEnv XDG_CACHE_HOME={folder}/board\n"
        )
        self.trust(folder / "host.pub")
        command = [program, "-D", "-e", "-f", str(folder / "config")]
        with folder.joinpath("sshd.log").open("wb") as log:
            self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stderr=log, stdout=log)
        assert until(self._answers, 20.0), folder.joinpath("sshd.log").read_text()

    def trust(self, public: Path) -> None:
        """Let the host expect this key of the server."""
        self.folder.joinpath("known").write_text(f"[127.0.0.1]:{self.port} {public.read_text()}")

    def board(
        self,
        *,
        key: str = "user",
        python: str = sys.executable,
        ship: bool = False,
        limits: Mapping[str, int] = {},
        wait: float = 60.0,
    ) -> Board:
        """The description of the board; its Python has what the fake adapter needs."""
        settings = {
            "host": "127.0.0.1", "port": self.port, "user": getpass.getuser(), "key": str(self.folder / key),
            "python": python, "ship": ship, "limits": limits, "wait": wait,
            "options": [f"UserKnownHostsFile={self.folder}/known"],
        }  # fmt: skip
        return Board("pi", "aarch64", "ssh", settings, **self._stand_in())

    def pool(self, **changes: object) -> AgentPool:
        """A pool with the board ``pi``."""
        return AgentPool(
            lambda name: Path(sys.executable),
            self.folder / "logs",
            lambda name: [Source(name, FAKE.read_bytes())],
            self.folder / "scratch",
            boards={"pi": reach_of(self.board(**changes))},  # type: ignore[arg-type]
        )

    def sessions(self) -> list[int]:
        """The server's processes for connections, without what they started."""
        found, parents = [], {self.process.pid}
        while parents:
            children = [pid for pid in _pids() if _stat(pid)[1] in parents]
            parents = {pid for pid in children if _stat(pid)[0].startswith("sshd")}
            found += sorted(parents)
        return found

    def stop(self) -> None:
        """End the server with its connections."""
        for pid in (*self.sessions(), self.process.pid):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self.process.wait()

    def _answers(self) -> bool:
        try:
            with socket.create_connection(("127.0.0.1", self.port), 1.0) as one:
                return one.recv(4) == b"SSH-"
        except OSError:
            time.sleep(0.05)
            return False

    @staticmethod
    def _stand_in() -> dict[str, object]:
        """What says that this machine stands in for a board, where descriptions can say so."""
        return {"same_machine": True} if "same_machine" in Board.__dataclass_fields__ else {}


@pytest.fixture
def sshd(tmp_path: Path) -> Iterator[Sshd]:
    """A server of the test's own."""
    server = Sshd(tmp_path)
    yield server
    if server.process.poll() is None:
        server.stop()


def _keygen(path: Path) -> None:
    subprocess.run(
        ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(path)], check=True, stdin=subprocess.DEVNULL
    )


def _pids() -> list[int]:
    return [int(name) for name in os.listdir("/proc") if name.isdigit()]


def _stat(pid: int) -> tuple[str, int]:
    """The name of a process and its parent; of one that has ended, nobody's."""
    try:
        name, _, rest = Path(f"/proc/{pid}/stat").read_text().partition("(")[2].rpartition(")")
        return name, int(rest.split()[1])
    except OSError:
        return "", -1


def _free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])
