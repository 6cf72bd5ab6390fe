"""Vela: Arm's compiler for Ethos-U neural processing units, from the int8 file that the adapter of TFLite makes.

Nothing here is an Ethos-U: what Vela compiled is ``unverified: not run``. Its row says what Vela estimates (cycles and
memory, whether they fit the memory that Vela assumes) and which operators stay on the processor. It is an adapter and
not a described command, because it begins with another adapter's artefact and reads two reports of the tool.
"""

from __future__ import annotations

import csv
import os
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

from bench_plugin.adapters.compilers import tflite
from bench_plugin.agent.adapter import Reply, Unsupported
from bench_plugin.agent.contract import CompileCall, RunCall
from bench_plugin.agent.toolkit import versions

ADAPTER = {
    "name": "vela",
    "kind": "compiler",
    "toolchain": "vela",
    "title": "Vela (Ethos-U)",
    "distribution": "ethos-u-vela",
    "distributions": ["tensorflow-cpu", "onnx2tf"],
    "operations": ["compile", "run"],
    "takes": ["onnx"],
    "precisions": {"w8a8": ["original"]},
    "targets": ["ethos-u55", "ethos-u65", "ethos-u85"],
    # Multiply-accumulate units, of which Vela says which a unit can have; and the memory that the model has to fit.
    "options": {
        "macs": ["256", "32", "64", "128", "512", "1024", "2048"],
        "sram_kib": ["of the target", "128", "256", "384", "512", "1024", "2048", "4096"],
    },
    "uses": ["tflite"],
    "on_request": True,
    "errors": [{"exception": "VelaFailed"}, {"package": "onnx2tf"}, {"package": "tensorflow"}],
}

SECONDS = 600  # of the compiler; the stage has a limit of its own
ARTEFACT = "model_vela.tflite"
COUNTED = re.compile(r"^(CPU|NPU) operators\s*=\s*(\d+)", re.MULTILINE)
LEFT = re.compile(r"^Warning \(supported operators\) operator: (\w+), .*\nReason: (.*?)(?: \(.*)?$", re.MULTILINE)
# Of the columns of Vela's summary: what each is called in a row. Memory is in KiB there.
FIGURES = {
    "cycles_total": "cycles", "cycles_npu": "cycles_npu", "nn_macs": "multiply_adds",
    "inferences_per_second": "inferences_per_s",
}  # fmt: skip
MEMORIES = {
    "sram_memory_used": "sram_bytes", "dram_memory_used": "dram_bytes", "off_chip_flash_memory_used": "flash_bytes",
}  # fmt: skip
KIB = 1024
UNLIMITED = 1 << 32  # the arena of a memory mode that names none


class VelaFailed(RuntimeError):
    """Vela ended with another status than 0, or wrote nothing."""


class Adapter:
    """Keeps nothing but TFLite's adapter, with what that keeps."""

    def __init__(self) -> None:
        self._tflite = tflite.Adapter()

    def versions(self) -> dict[str, str]:
        """Versions of the distributions that take part."""
        return {**versions.installed("ethos-u-vela"), **self._tflite.versions()}

    def reset(self) -> None:
        """Forget the model."""
        self._tflite.reset()

    def compile(self, call: CompileCall) -> Reply:
        """``model_vela.tflite``, with Vela's estimates under ``placement.estimated``.

        Raises Unsupported where no operator runs on the unit, VelaFailed where Vela fails.
        """
        made = self._tflite.compile(call)
        config = f"{call.target.name}-{call.option('macs', '256')}"
        folder = call.path("vela")
        command = [os.path.join(os.path.dirname(sys.executable), "vela"), made.files[tflite.ARTEFACT]]
        command += ["--accelerator-config", config, "--show-cpu-operations", "--output-dir", folder]
        limit = _limit(call)
        command += ["--arena-cache-size", str(limit)] if limit else []
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            timeout=SECONDS, check=False,
        )  # fmt: skip
        print(done.stdout, file=sys.stderr)
        artefact = os.path.join(folder, ARTEFACT)
        if done.returncode or not os.path.exists(artefact):
            raise _failed(done.returncode, done.stdout)
        counts = {unit: int(count) for unit, count in COUNTED.findall(done.stdout)}
        nodes = sum(counts.values())
        if not counts.get("NPU"):
            raise Unsupported(f"Vela leaves all {nodes} operators on the processor, and none for {config}")
        left = Counter(f"{name}: {reason}" for name, reason in LEFT.findall(done.stdout))
        estimated = _estimated(folder)
        meta: dict[str, object] = {
            "effective": call.precision, "integer": made.meta.get("integer", ""),
            "placement": {
                "requested": counts["NPU"] / nodes, "nodes": nodes,
                "fallback": [f"{count} x {name}" for name, count in sorted(left.items())], "estimated": estimated,
            },
            "switches": {"accelerator": config, "tflite": made.meta.get("switches", {})},
            "notes": [_note(estimated, counts)], "shims": made.meta.get("shims", []),
        }  # fmt: skip
        return Reply(meta, files={ARTEFACT: artefact})

    def run(self, call: RunCall) -> Reply:
        """Raises Unsupported: there is no Ethos-U here."""
        raise Unsupported("Vela compiles for an Ethos-U, and no such unit is in reach")


def _limit(call: CompileCall) -> int:
    """The bytes of SRAM that the model may take: those of the option, else of the target's file; 0 for unknown."""
    chosen = call.option("sram_kib", "")
    return int(chosen) * KIB if chosen.isdigit() else call.target.ram_bytes


def _estimated(folder: str) -> dict[str, Any]:
    """What Vela's summary estimates: cycles, inferences per second and bytes of each memory.

    ``fits`` is None where neither the user nor Vela's memory mode says how much SRAM there is.
    """
    (path,) = Path(folder).glob("*_summary_*.csv")
    with path.open(encoding="utf-8", newline="") as file:
        (row,) = csv.DictReader(file)
    found: dict[str, Any] = {name: float(row[column]) for column, name in FIGURES.items()}
    found.update({name: round(float(row[column]) * KIB) for column, name in MEMORIES.items()})
    found.update(system=row["system_config"], memory_mode=row["memory_mode"])
    arena = round(float(row["arena_cache_size"]) * KIB)
    found["arena_bytes"] = arena if arena < UNLIMITED else None
    found["fits"] = found["sram_bytes"] <= arena if arena < UNLIMITED else None
    return found


def _note(estimated: dict[str, Any], counts: dict[str, int]) -> str:
    known = {True: "it fits", False: "it does not fit"}
    fits = known.get(estimated["fits"], "how much there is is not known (vela.sram_kib, or ram_bytes of the target)")
    return (
        f"estimated by Vela for {estimated['system']}, not measured: {estimated['cycles']:.0f} cycles, "
        f"{estimated['sram_bytes']} bytes of SRAM: {fits}; {counts.get('CPU', 0)} operators on the processor"
    )


def _failed(status: int, said: str) -> Exception:
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    cause = next((line for line in lines if "rror" in line), lines[-1] if lines else "it printed nothing")
    return VelaFailed(f"vela ended with status {status}: {cause[:500]}")
