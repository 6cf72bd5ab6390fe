"""The adapter of ``bench board``, for boards with an agent in Python: echo, commands of modes, sensors of power."""

from __future__ import annotations

import platform
import subprocess
import time
from dataclasses import dataclass
from typing import Dict, Tuple

from bench_plugin.agent.adapter import Reply
from bench_plugin.agent.contract import Call

ADAPTER = {
    "name": "probe",
    "kind": "tool",
    "toolchain": "",
    "title": "Probe",
    "distribution": "",
    "operations": ["echo", "command", "power"],
}
SECONDS = 0.5  # between two readings of energy
SAID = 2000  # characters of what a command printed


@dataclass(frozen=True)
class EchoCall(Call):
    """Give back the files of the call, and the text.

    text: any text.
    """

    operation = "echo"

    text: str = ""


@dataclass(frozen=True)
class CommandCall(Call):
    """Run a command of the board.

    argv: the program and its arguments.
    seconds: how long it may take.
    """

    operation = "command"

    argv: Tuple[str, ...] = ()
    seconds: float = 30.0


@dataclass(frozen=True)
class PowerCall(Call):
    """Read a sensor of the board.

    kind: hwmon or powercap.
    sensor: the sensor's file.
    """

    operation = "power"

    kind: str = ""
    sensor: str = ""


CALLS = {"echo": EchoCall, "command": CommandCall, "power": PowerCall}


class Adapter:
    """Keeps nothing between calls."""

    def versions(self) -> Dict[str, str]:
        """None: it is a part of the agent."""
        return {}

    def reset(self) -> None:
        """Nothing is kept."""

    def echo(self, call: EchoCall) -> Reply:
        """The text and the files of the call, and what the board says of itself."""
        call.stage("run")
        files: Dict[str, str] = {}
        for name, path in call.files.items():
            files[name] = call.path(name)
            with open(path, "rb") as source, open(files[name], "wb") as copy:
                copy.write(source.read())
        meta: Dict[str, object] = {
            "text": call.text,
            "system": platform.platform(),
            "python": platform.python_version(),
        }
        return Reply(meta, files=files)

    def command(self, call: CommandCall) -> Reply:
        """The exit code of the command and what it printed. Raises OSError where there is no such program."""
        call.stage("run")
        done = subprocess.run(
            list(call.argv), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            timeout=call.seconds,
        )  # fmt: skip
        return Reply({"code": done.returncode, "said": done.stdout.decode("utf-8", "replace")[-SAID:]})

    def power(self, call: PowerCall) -> Reply:
        """The power now, W. Raises OSError where the sensor cannot be read, ValueError where it gives no number."""
        call.stage("run")
        if call.kind == "hwmon":  # microwatts
            return Reply({"watts": _number(call.sensor) / 1e6})
        first, began = _number(call.sensor), time.monotonic()  # microjoules since some moment
        time.sleep(SECONDS)
        return Reply({"watts": (_number(call.sensor) - first) / 1e6 / (time.monotonic() - began)})


def _number(path: str) -> int:
    with open(path, "rb") as file:
        return int(file.read(64))
