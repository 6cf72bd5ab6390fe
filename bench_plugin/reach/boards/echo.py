"""An adapter that gives back what it gets: what ``bench board check`` runs on a board with an agent in Python."""

from __future__ import annotations

import platform
from dataclasses import dataclass

from bench_plugin.agent.adapter import Reply
from bench_plugin.agent.contract import Call

ADAPTER = {
    "name": "echo",
    "kind": "tool",
    "toolchain": "",
    "title": "Echo",
    "distribution": "",
    "operations": ["echo"],
}


@dataclass(frozen=True)
class EchoCall(Call):
    """Give back the files of the call, and the text.

    text: any text.
    """

    operation = "echo"

    text: str = ""


CALLS = {"echo": EchoCall}


class Adapter:
    """Gives back what it gets."""

    def versions(self) -> dict[str, str]:
        """None: it is a part of the agent."""
        return {}

    def reset(self) -> None:
        """Nothing is kept."""

    def echo(self, call: EchoCall) -> Reply:
        """The text and the files of the call, and what the board says of itself."""
        call.stage("run")
        files = {}
        for name, path in call.files.items():
            files[name] = call.path(name)
            with open(path, "rb") as source, open(files[name], "wb") as copy:
                copy.write(source.read())
        return Reply(
            {"text": call.text, "system": platform.platform(), "python": platform.python_version()}, files=files
        )
