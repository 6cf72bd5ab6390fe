"""Firmware of small models in C, made by toolchain ``emx`` as adapters make it, and run as boards run it."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from bench_plugin.inventory.hardware.target_file import read_target
from bench_plugin.reach.boards.board import Board
from bench_plugin.reach.boards.uart import Uart, reach
from bench_plugin.reach.environments.toolchains import Toolchains
from bench_plugin.reach.processes.leased_agent import Answer, LeasedAgent, Limits
from bench_plugin.reach.processes.nursery import Nursery
from bench_plugin.reach.processes.variables import for_agents
from bench_plugin.reach.processes.workplace import Workplace

ROOT = Path(__file__).parents[3]
LIMITS = Limits(60.0, 0)
# y = a x + b over 4 elements, and what a test adds to it.
MODEL = """
#include <math.h>
#include <stdint.h>
static float scale = 3.0f; /* in .data: its first value is copied from flash */
static float noise[100];
%(more)s
void model(const float x[restrict 1][4], float y[restrict 1][4]) {
    %(first)s
    for (int i = 0; i < 4; i++) y[0][i] = tanhf(x[0][i]) * scale + noise[i] + 1.0f;
}
"""
PARAMETERS = [
    {"kind": "input", "name": "x", "type": "float", "shape": [1, 4]},
    {"kind": "output", "name": "y", "type": "float", "shape": [1, 4]},
]
BUILD = """
import json, sys
sys.path.insert(0, sys.argv[1])
from bench_plugin.agent.adapter import Unsupported
from bench_plugin.agent.c import building
from bench_plugin.agent.contract import Target
said = json.load(sys.stdin)
model = building.Model(said["folder"], "model.c", "model", said["parameters"], said["digest"])
try:
    built = building.program(model, Target.read(said["target"], "target"), ["-O2", "-std=c99"])
    print(json.dumps(built.said))
except Unsupported as error:
    print(json.dumps({"unsupported": str(error)}))
"""


@dataclass(frozen=True)
class Firmware:
    """An artefact: its files by name, and what was said of it."""

    files: Mapping[str, Path]
    said: Mapping[str, Any]


def built(folder: Path, target: str = "cortex-m3", *, more: str = "", first: str = "", **changed: Any) -> Firmware:
    """Firmware of the small model for a target, whose description may be changed."""
    folder.mkdir(parents=True, exist_ok=True)
    code = MODEL % {"more": more, "first": first}
    (folder / "model.c").write_text(code, encoding="utf-8")
    digest = hashlib.sha256(code.encode()).hexdigest()
    (folder / "model.json").write_text(json.dumps({"parameters": PARAMETERS, "digest": digest}), encoding="utf-8")
    described = {**read_target(ROOT / "boards" / "targets" / f"{target}.toml"), **changed}
    asked = {"folder": str(folder), "parameters": PARAMETERS, "digest": digest, "target": described}
    python = Toolchains().ensure("emx")
    done = subprocess.run(
        [str(python), "-I", "-c", BUILD, str(ROOT)], input=json.dumps(asked), stdout=subprocess.PIPE, text=True,
        check=True, timeout=300,
    )  # fmt: skip
    files = {name: folder / name for name in ("program.elf", "model.json")}
    return Firmware(files, json.loads(done.stdout.splitlines()[-1]))


def board(name: str = "unicorn-m3", **settings: Any) -> Uart:
    """The reach of a board over a UART, by default the one in Unicorn."""
    return reach(Board(name, "cortex-m3", "uart", settings or {"machine": "unicorn"}))


def log_of(folder: Path) -> Path:
    """The log of the board that is leased in a folder, which is removed in the end."""
    return folder.with_name(f"{folder.name}.log")


@contextmanager
def leased(folder: Path, over: Uart, start_seconds: float = 60.0) -> Iterator[LeasedAgent]:
    """An agent of the board, as the pool leases it; everything that was started ends with it."""
    folder.mkdir(parents=True, exist_ok=True)
    nursery = Nursery(folder)
    place = Workplace(
        folder, folder / "results", log_of(folder), nursery, lambda name: [], Toolchains().ensure,
        for_agents(os.environ).variables, start_seconds,
    )  # fmt: skip
    agent = over.acquire("emx", place)
    try:
        yield agent
    finally:
        agent.close()
        nursery.close()


def run(agent: LeasedAgent, firmware: Firmware, x: np.ndarray[Any, Any], limits: Limits = LIMITS) -> Answer:
    """The answer of the firmware to samples [N, 1, 4]."""
    port = {"name": "x", "dtype": "float32", "shape": [1, 4]}
    meta = {"batched": False, "inputs": [port], "outputs": [{**port, "name": "y"}], "precision": "fp32"}
    return agent.call("emx", "run", meta, arrays={"in:x": x}, files=firmware.files, limits=limits)


def python() -> str:
    """The interpreter of these tests, for scripts that stand for tools of a board."""
    return sys.executable
