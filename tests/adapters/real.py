"""What a real tool makes of a small ONNX file, through its adapter in its toolchain; skipped where that is not made."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bench_plugin.agent.arrays import from_numpy
from bench_plugin.agent.wire import Array
from bench_plugin.inventory.adapters import BUILT_IN
from bench_plugin.inventory.declaration_literal import read_literal
from bench_plugin.reach.environments.toolchains import Toolchains

ROOT = Path(__file__).parents[2]
SCRIPT = Path(__file__).with_name("in_toolchain.py")
# Writes the file of a model that onnx's parser reads; weights are written in its text.
MAKE = """
import sys, onnx
model = onnx.parser.parse_model(sys.argv[1])
onnx.checker.check_model(model)
onnx.save(model, sys.argv[2])
"""
SECONDS = 300  # a tool on a busy machine
# Integers of four and two bits: their codes, a byte each in hexadecimal digits, and the numbers that they stand for.
FEW_BITS = [
    ("int4", "080f0007", [-8.0, -1.0, 0.0, 7.0]),
    ("uint4", "0001080f", [0.0, 1.0, 8.0, 15.0]),
    ("int2", "02030001", [-2.0, -1.0, 0.0, 1.0]),
    ("uint2", "00010203", [0.0, 1.0, 2.0, 3.0]),
]


@dataclass(frozen=True)
class Answer:
    """``compile`` and ``run`` are the metadata of the two replies, ``error`` what an adapter raised instead."""

    compile: Mapping[str, Any]
    run: Mapping[str, Any]
    outputs: Mapping[str, Any]
    error: str
    symptom: str


def written(text: str, path: Path) -> Path:
    """The file of a model in onnx's text form. Raises CalledProcessError for a text that is no valid model."""
    python = str(Toolchains().ensure("onnxruntime"))
    subprocess.run([python, "-c", MAKE, text, str(path)], check=True, capture_output=True)
    return path


def answered(
    adapter: str,
    model: Path,
    inputs: Mapping[str, Any],
    outputs: Sequence[tuple[str, str, Sequence[int]]],
    folder: Path,
    *,
    values: Mapping[str, Any] | None = None,
    blobs: Sequence[Array] = (),
    **fields: Any,
) -> Answer:
    """Compile ``model`` with the adapter, and run it once on ``inputs`` [...].

    ``values`` describes inputs that are no plain arrays, whose bytes are ``blobs`` (:mod:`bench_plugin.agent.packs`).
    """
    files = {path.stem: path for path in BUILT_IN.rglob("*.py")}
    path = files[adapter]
    toolchain = read_literal(path, path.read_bytes())["toolchain"]
    toolchains = Toolchains()
    if not toolchains.folder(toolchain).is_dir():
        pytest.skip(f"the toolchain {toolchain} is not made: bench env sync {toolchain}")
    given = {name: from_numpy(np.asarray(x)) for name, x in inputs.items()}
    described = [
        [name, row["d"], row["s"]] if isinstance(row, dict) else [name, "optional" if row is None else "sequence", []]
        for name, row in (values or {}).items()
    ]
    sent = {**{f"in:{name}": x for name, x in given.items()}, **{f"value:{n}": x for n, x in enumerate(blobs)}}
    request = {
        "modules": _modules(adapter, files), "folder": str(folder), "files": {"model.onnx": str(model)},
        "arrays": {name: [x.dtype, list(x.shape), bytes(x.data).hex()] for name, x in sent.items()},
        "values": dict(values or {}),
        "fields": {
            "precision": "fp32", "graph": "original", "threads": 1, **fields,
            "input_ports": [[name, x.dtype, list(x.shape)] for name, x in given.items()] + described,
            "output_ports": [[name, dtype, list(shape)] for name, dtype, shape in outputs],
        },
    }  # fmt: skip
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "request.json").write_text(json.dumps(request), "utf-8")
    command = [str(toolchains.ensure(toolchain)), str(SCRIPT), str(BUILT_IN), str(folder / "request.json")]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=SECONDS)
    assert done.stdout, f"ended with status {done.returncode}: {done.stderr}"
    found = json.loads(done.stdout)
    return Answer(
        found.get("compile", {}), found.get("run", {}), found.get("outputs", {}), found.get("error", ""),
        found.get("symptom", ""),
    )  # fmt: skip


def _modules(name: str, files: Mapping[str, Path]) -> list[str]:
    """The dotted names of an adapter and those that it uses, which come first."""
    path = files[name]
    used = [
        module for other in read_literal(path, path.read_bytes()).get("uses", ()) for module in _modules(other, files)
    ]
    own = ".".join(path.relative_to(BUILT_IN).with_suffix("").parts)
    return list(dict.fromkeys([*used, own]))
