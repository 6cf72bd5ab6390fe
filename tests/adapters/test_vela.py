"""Vela: what is read from its reports, and what becomes of a model that it compiled."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from bench_plugin.reach.environments.toolchains import Toolchains
from tests.docs.fences import ROOT
from tests.project import kept_environment


@pytest.mark.nightly
@pytest.mark.parametrize(("sram", "fits"), [("128", True), ("of the target", None)])
def test_a_compiled_model_is_not_run_and_its_row_says_what_vela_estimates(
    tmp_path: Path, sram: str, fits: bool | None
) -> None:
    toolchains = Toolchains()
    for name in ("vela", "pytorch"):
        if not toolchains.ready(name):
            pytest.skip(f"the toolchain {name} is not made: bench env sync {name}")
    results = tmp_path / "results.jsonl"
    command = [sys.executable, "-m", "pytest", "suites/equivalence", "-q", "-p", "no:cacheprovider"]
    command += ["--compilers", "vela", "--targets", "ethos-u55", "--models", "digits_cnn", "--precisions", "w8a8"]
    command += ["--bench-option", f"vela.sram_kib={sram}", "--bench-results", str(results)]
    done = subprocess.run(command, cwd=ROOT, env=kept_environment(), text=True, capture_output=True, timeout=900)
    assert results.exists(), done.stdout[-3000:]
    (row,) = [row for row in map(json.loads, results.read_text("utf-8").splitlines()) if row["kind"] == "cell"]
    assert (row["status"], row["unverified"]) == ("unverified", "not run"), row["reason"]
    placement, estimated = row["placement"], row["placement"]["estimated"]
    # Two convolutions and a fully connected layer, counted by hand; Vela counts the windows of the pooling too.
    assert estimated["multiply_adds"] == 8 * 8 * 16 * 9 + 8 * 8 * 32 * 16 * 9 + 512 * 10 + 4 * 4 * 32 * 4
    assert estimated["fits"] is fits and estimated["cycles"] > estimated["cycles_npu"] > 0
    assert placement["requested"] == 0.8 and placement["nodes"] == 10
    assert [text.partition(":")[0] for text in placement["fallback"]] == ["1 x DEQUANTIZE", "1 x QUANTIZE"]
    assert "not measured" in placement["notes"][0]
    assert set(row["artefacts"]) >= {"model_vela.tflite"}
