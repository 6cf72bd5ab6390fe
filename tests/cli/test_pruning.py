"""``bench pruning`` on rows and ``bench sparse`` on a file: tables, JSON, and what is not there."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from bench_plugin.reach.environments.toolchains import Toolchains
from tests.adapters.real import written
from tests.characterise.test_pruning import ROWS, row

MODEL = """<ir_version: 8, opset_import: ["": 17]>
g (float[N, 2] x) => (float[N, 3] y)
<float[3, 2] w = {1, 2, 3, 4, 5, 6}>
{
  y = Gemm<transB = 1>(x, w)
}"""


def bench(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "bench_plugin.cli.main", *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=120)


@pytest.fixture
def results(tmp_path: Path) -> Path:
    path = tmp_path / "results.jsonl"
    path.write_text("".join(json.dumps({"schema": 1, "run": "r", **one}) + "\n" for one in ROWS))
    return path


@pytest.fixture
def model(tmp_path: Path) -> Path:
    if not Toolchains().folder("onnxruntime").is_dir():
        pytest.skip("the toolchain onnxruntime is not made: bench env sync onnxruntime")
    return written(MODEL, tmp_path / "model.onnx")


def test_variants_and_orthogonality_come_from_rows(results: Path) -> None:
    done = bench(results.parent, "pruning", "results.jsonl", "--json")
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    assert [(one["precision"], one["kept"]) for one in said["variants"]][-1] == ("w8a8 qdq", 50)
    ratios = {one["figure"]: (one["ratio"], one["orthogonal"]) for one in said["orthogonality"]}
    assert ratios["time"] == (1.5, False) and ratios["size"] == (1.0, None)
    text = bench(results.parent, "pruning", "results.jsonl").stdout
    assert "300 (30.0%)" in text and "1.500 ± 2.0%" in text
    assert "| net | onnxruntime" in bench(results.parent, "pruning", "results.jsonl", "--markdown").stdout


def test_rows_without_a_pruned_model_say_how_to_make_some(results: Path) -> None:
    whole = {"schema": 1, "run": "r", **row("quality", "fp32", 100, numbers={"accuracy": 0.5})}
    results.write_text(json.dumps(whole) + "\n")
    done = bench(results.parent, "pruning", "results.jsonl")
    assert (
        done.returncode == 3 and "no row is of a pruned model; pytest suites --kept 100,50,25 makes some" in done.stderr
    )


def test_bytes_of_a_file_in_sparse_formats(model: Path) -> None:
    done = bench(model.parent, "sparse", "model.onnx", "--zeros", "0,0.5", "--json")
    assert done.returncode == 0, done.stderr
    (layer,) = json.loads(done.stdout)
    assert (layer["rows"], layer["columns"], layer["vectors"]) == (3, 2, 1)
    assert layer["sizes"][1] == {"zeros": 0.5, "weights": 3, "bytes": {"dense": 24, "coo": 36, "csr": 40, "csc": 36}}
    assert layer["smaller_below"]["coo"] == pytest.approx(1 / 3)
    assert (
        "density (share of weights that are not zero) below which" in bench(model.parent, "sparse", "model.onnx").stdout
    )


def test_products_are_timed_in_an_agent(model: Path) -> None:
    if not Toolchains().folder("datasets").is_dir():
        pytest.skip("the toolchain datasets is not made: bench env sync datasets")
    (layer,) = json.loads(bench(model.parent, "sparse", "model.onnx", "--zeros", "0.5", "--time", "--json").stdout)
    assert all(0 < seconds < 1 for seconds in layer["sizes"][0]["seconds"].values())
    assert set(layer["sizes"][0]["seconds"]) == {"dense", "coo", "csr", "csc"} and set(layer["faster_below"])


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        ("--zeros 1", 2, "shares are from 0 to less than 1"),
        ("--zeros half", 2, "'half' is not a list of shares"),
        ("--index-bytes 0", 2, "--index-bytes: 0 is not a number of bytes"),
    ],
)
def test_wrong_arguments_are_usage_errors(model: Path, arguments: str, code: int, message: str) -> None:
    done = bench(model.parent, "sparse", "model.onnx", *arguments.split())
    assert (done.returncode, message in done.stderr) == (code, True), done.stderr
