"""A machine of the tests' own: a process that starts an agent for each connection to a socket in the file system.

``python far_board.py SOCKET AGENT FOLDER [MACHINE]``; with MACHINE its agents say that they run on that machine.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path

AS_ANOTHER = (
    "import sys; sys.path.insert(0, sys.argv[1]); from bench_plugin.agent import server\n"
    "server.machine_id = lambda: {machine!r}\n"
    "from bench_plugin.agent.__main__ import main; sys.argv = sys.argv[1:]; main()\n"
)


def main() -> None:
    """Serve until it is killed, one connection after another."""
    path, agent, folder, *machine = sys.argv[1:]
    Path(path).unlink(missing_ok=True)
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(path)
    listener.listen()
    how = ["-c", AS_ANOTHER.format(machine=machine[0]), agent] if machine else [agent]
    print("listening", flush=True)
    while True:
        connection, _ = listener.accept()
        argv = [
            sys.executable,
            "-I",
            *how,
            "--fd",
            str(connection.fileno()),
            "--folder",
            f"{folder}/{os.urandom(4).hex()}",
        ]
        os.set_inheritable(connection.fileno(), True)
        with connection:
            subprocess.run(argv, close_fds=False)


if __name__ == "__main__":
    main()
