"""hls4ml: the design that it makes computes bit for bit what the file says, in the types that the file names."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from bench_plugin.reach.environments.toolchains import Toolchains
from tests.adapters.real import answered, written
from tests.docs.fences import ROOT
from tests.project import kept_environment

HEAD = '<ir_version: 10, opset_import: ["": 21]> '
WEIGHTS = np.array([[3, -8], [-5, 7], [1, 2], [7, -1]])
STORED = "int8[4,2] w = {3, -8, -5, 7, 1, 2, 7, -1}, float v = {0.125}"
LAYER = "d = DequantizeLinear(q, s, z) k = DequantizeLinear(w, v) m = MatMul(d, k) y = Relu(m) }"
# Inputs of 8 bits without a sign, and of 3 bits with one, of which a Clip leaves -3 to 3.
FILES = {
    "8 bits": (
        f"g (float[1,4] x) => (float[1,2] y) <float s = {{0.25}}, uint8 z = {{0}}, {STORED}> "
        f"{{ q = QuantizeLinear(x, s, z) {LAYER}",
        (0, 255), "ufixed<8,6,RND_CONV,SAT,0>",
    ),
    "3 bits": (
        "g (float[1,4] x) => (float[1,2] y) <float s = {0.25}, int8 z = {0}, float low = {-0.75}, float high = {0.75}, "
        f"{STORED}> {{ c = Clip(x, low, high) q = QuantizeLinear(c, s, z) {LAYER}",
        (-3, 3), "fixed<3,1,RND_CONV,SAT_SYM,0>",
    ),
}  # fmt: skip
X = np.array([[-9.0, 0.375, 0.5625, 100.3]], np.float32)  # beyond both ranges, a tie, and between two steps


@pytest.fixture(autouse=True)
def _compiler() -> None:
    if shutil.which("g++") is None:
        pytest.skip("g++ not found; install g++")


@pytest.mark.parametrize("name", FILES)
def test_a_design_computes_what_the_file_says_bit_for_bit(tmp_path: Path, name: str) -> None:
    text, (low, high), kind = FILES[name]
    model = written(HEAD + text, tmp_path / "model.onnx")
    answer = answered("hls4ml", model, {"x": X}, [("y", "float32", (1, 2))], tmp_path / "made", precision="w8a8",
                      graph="fixed-qdq")  # fmt: skip
    integers = np.clip(np.rint(X.astype(np.float64) / 0.25), low, high)
    assert answer.outputs["out0"][2] == np.maximum(integers * 0.25 @ (WEIGHTS * 0.125), 0).tolist(), answer.error
    types = [one["result_t"] for one in answer.compile["placement"]["types"].values()]
    assert kind in types, "the type of the input is the one that the file rounds to"
    assert (answer.compile["integer"], answer.compile["placement"]["emulated"]) == ("integer", "yes")
    assert "no FPGA ran it" in answer.compile["notes"][0]


def test_what_it_lacks_is_a_refusal(tmp_path: Path) -> None:
    text = HEAD + "g (float[1,4] x) => (float[1,4] y) { y = Erf(x) }"
    answer = answered("hls4ml", written(text, tmp_path / "model.onnx"), {"x": X}, [("y", "float32", (1, 4))],
                      tmp_path / "made")  # fmt: skip
    assert "Unsupported operation type: Erf" in answer.error
    rows = HEAD + "g (float[4,3] x) => (float[4,3] y) { y = Relu(x) }"
    answer = answered("hls4ml", written(rows, tmp_path / "rows.onnx"), {"x": np.zeros((4, 3), np.float32)},
                      [("y", "float32", (4, 3))], tmp_path / "rows")  # fmt: skip
    assert answer.symptom == "unsupported" and "first dimension for the batch; input x is [4, 3]" in answer.error


@pytest.mark.nightly
@pytest.mark.parametrize("precision", ["w8a8", "int4"])
def test_a_model_in_fixed_point_is_bit_exact_and_has_no_time(tmp_path: Path, precision: str) -> None:
    toolchains = Toolchains()
    for name in ("hls4ml", "pytorch"):
        if not toolchains.ready(name):
            pytest.skip(f"the toolchain {name} is not made: bench env sync {name}")
    results = tmp_path / "results.jsonl"
    command = [sys.executable, "-m", "pytest", "suites/equivalence", "-q", "-p", "no:cacheprovider"]
    command += ["--compilers", "hls4ml", "--targets", "sim-fpga", "--models", "digits_cnn", "--precisions", precision]
    command += ["--bench-results", str(results)]
    done = subprocess.run(command, cwd=ROOT, env=kept_environment(), text=True, capture_output=True, timeout=1200)
    assert results.exists(), done.stdout[-3000:]
    (row,) = [row for row in map(json.loads, results.read_text("utf-8").splitlines()) if row["kind"] == "cell"]
    assert row["status"] == "supported", row["reason"]
    (output,) = row["numbers"]["end_to_end"]
    assert output["largest_steps"] == 0.0, "every bit is that of the graph in float64"
    assert (row["cell"]["graph"], row["placement"]["timing"]) == ("fixed-qdq", "emulated")
    assert set(row["artefacts"]) >= {"model.so", "design.zip"}
