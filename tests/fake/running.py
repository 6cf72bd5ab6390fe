"""An adapter that starts a program and works on: the program may try to escape from its agent."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from bench_plugin.agent.adapter import Reply
from bench_plugin.agent.contract import Call

ADAPTER = {
    "name": "fake", "kind": "tool", "toolchain": "fake", "distribution": "fake", "operations": ["go"], "targets": [],
}  # fmt: skip


@dataclass(frozen=True)
class GoCall(Call):
    """Start ``python -c code`` with exactly these ``variables``, wait for its end, and then for ``seconds``."""

    operation = "go"

    code: str = ""
    variables: Mapping[str, Any] = field(default_factory=dict)
    seconds: float = 0.0


CALLS = {"go": GoCall}


class Adapter:
    """Runs the program of a call."""

    def reset(self) -> None:
        """Nothing is kept."""

    def versions(self) -> dict[str, str]:
        """No distribution."""
        return {}

    def go(self, call: GoCall) -> Reply:
        """The agent's process number, its environment, and SHA-256 of each value, because the host cuts long texts."""
        call.stage("work")
        if call.code:
            variables = {os.fsencode(name): os.fsencode(value) for name, value in call.variables.items()}
            subprocess.run([sys.executable, "-I", "-S", "-c", call.code], env=variables, check=True)
        time.sleep(call.seconds)
        long = {name: hashlib.sha256(os.fsencode(value)).hexdigest() for name, value in os.environ.items()}
        return Reply({"pid": os.getpid(), "environment": dict(os.environ), "hashes": long})
