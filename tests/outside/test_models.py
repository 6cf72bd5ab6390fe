"""A user's own models that take no images, in a project of their own: tables, signals, identifiers, two inputs.

They run with the real frameworks, and so with ``--nightly`` only.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.project import LEAN, kept_environment

PROJECT = Path(__file__).parent / "project"
OWN = ("tabular", "fixed_batch", "waveform", "words", "two_inputs", "normalised")
TORCHVISION = ("squeezenet1_1", "shufflenet_v2_x1_0", "convnext_tiny")
# What the tools themselves do not support, or get wrong: model, check, exporter, importer.
KNOWN = {
    ("waveform", "export", "mx2onnx", None),  # MXNet exports two- and three-dimensional convolutions only
    ("waveform", "import", "tf2onnx", "onnx2tf"),  # docs/findings/onnx2tf_unsqueezed_conv.py
    ("normalised", "export", "tf2onnx", None),  # docs/findings/tf2onnx_normalization.py; Keras' own export does so too
    # In float32 this file's own noise is 1.1e-6, so its tolerance of 1.1e-5 hides the other GELU, which changes 3e-6.
    ("convnext_tiny", "export", "dynamo", None),
}


def run(folder: Path, models: tuple[str, ...], *arguments: str) -> list[Mapping[str, Any]]:
    """The rows of a run of the project's tests on these models."""
    shutil.copytree(PROJECT, folder, dirs_exist_ok=True)
    command = [sys.executable, "-m", "pytest", *LEAN, f"--models={','.join(models)}", *arguments]
    done = subprocess.run(
        command, cwd=folder, env=kept_environment(), text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    assert done.returncode in (0, 1), done.stdout
    return [json.loads(line) for line in (folder / "reports/results.jsonl").read_text().splitlines()]


def unjudged(rows: list[Mapping[str, Any]]) -> dict[str, str]:
    """The cells that are neither supported nor refused by an importer nor known, with their reasons."""
    found = {}
    for row in (row for row in rows if row["kind"] == "cell"):
        cell = row["cell"]
        place = (cell["model"], row["check"], cell.get("exporter"), cell.get("importer"))
        refused = row["check"] == "import" and row["status"] == "unsupported"
        blocked = row["unverified"] == "blocked" and (*place[:1], "export", place[2], None) in KNOWN
        if row["status"] != "supported" and not refused and not blocked and place not in KNOWN:
            found[row["nodeid"]] = f"{row['status']}: {row['reason']}"
    return found


def test_the_project_lists_its_models_and_no_run_of_the_suites_has_them() -> None:
    listed = [sys.executable, "-m", "bench_plugin.cli.main", "list", "models", "--json"]
    here = json.loads(subprocess.run(listed, cwd=PROJECT, text=True, stdout=subprocess.PIPE, check=True).stdout)
    above = json.loads(subprocess.run(listed, text=True, stdout=subprocess.PIPE, check=True).stdout)
    assert {*OWN, *TORCHVISION} == {row["name"] for row in here} - {row["name"] for row in above}


@pytest.mark.nightly
def test_models_that_take_no_images_are_conditioned_exported_imported_and_compiled(tmp_path: Path) -> None:
    rows = run(tmp_path, OWN)
    assert unjudged(rows) == {}
    computed = [row for row in rows if row["kind"] == "cell" and row["status"] == "supported"]
    exported = {(row["cell"]["model"], row["cell"]["framework"]) for row in computed if row["check"] == "export"}
    assert exported >= {(model, name) for model in OWN[:5] for name in ("pytorch", "tensorflow")}
    assert exported >= {("tabular", "mxnet"), ("fixed_batch", "mxnet")}
    assert {row["cell"]["model"] for row in computed if row["check"] == "import"} >= set(OWN[:5])
    assert {row["cell"]["model"] for row in computed if row["check"] == "equivalence"} >= set(OWN[:5])


@pytest.mark.nightly
@pytest.mark.parametrize("model", TORCHVISION)
def test_models_of_torchvision(tmp_path: Path, model: str) -> None:
    rows = run(tmp_path, (model,), "--frameworks=pytorch")
    assert unjudged(rows) == {}
    checks = {row["check"] for row in rows if row["kind"] == "cell" and row["status"] == "supported"}
    assert checks == {"export", "import", "equivalence"}
