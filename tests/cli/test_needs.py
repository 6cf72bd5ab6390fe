"""``bench needs`` on real files: a symbolic batch, sizes that are missing or wrong, and files that are no models."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from bench_plugin.reach.environments.toolchains import Toolchains
from tests.adapters.real import written
from tests.characterise.test_outline import field, number, varint

MODEL = """<ir_version: 8, opset_import: ["": 17]>
g (float[N, 3, T] x) => (float[N, 2, U] y)
<float[2, 3, 1] w = {1, 2, 3, 4, 5, 6}, float[2] b = {0, 1}>
{
  c = Conv(x, w, b)
  y = Relu(c)
}"""


@pytest.fixture
def model(tmp_path: Path) -> Path:
    if not Toolchains().folder("onnxruntime").is_dir():
        pytest.skip("the toolchain onnxruntime is not made: bench env sync onnxruntime")
    return written(MODEL, tmp_path / "model.onnx")


def bench(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "bench_plugin.cli.main", "needs", *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=120)


def test_a_file_is_counted_at_a_batch_and_at_sizes(model: Path) -> None:
    done = bench(model.parent, "model.onnx", "--batch", "4", "--sizes", "T=10", "--bits", "8", "--json")
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    assert (said["operations"], said["weights"], said["parameters"]) == (2 * 4 * 2 * 10 * 3, 6, 8)
    assert said["by_kind"] == {"additions": 80, "comparisons": 80} and said["other_operations"] == 160
    assert (said["lower_bound"], [one["operator"] for one in said["layers"]]) == (False, ["Conv", "Relu"])
    assert said["memory"] == {"weights": 8, "tensors": 120 + 80 + 80, "alive": 200}


def test_the_text_says_what_was_counted(model: Path) -> None:
    said = bench(model.parent, "model.onnx", "--sizes", "T=10", "--layers").stdout
    assert "batch 1, types of the file; 1 multiply-add = 2 operations" in said
    assert "operations        120 of convolutions and fully connected layers, no biases" in said
    assert "Conv      1 x 2 x 10" in said


def test_a_file_that_no_reader_could_take_in_is_counted_by_its_outline(model: Path) -> None:
    size = 5 << 29  # of a weight in a hole of the file: more than protobuf reads at once
    head = number(1, size // 4) + number(2, 1) + field(8, b"w") + varint(9 << 3 | 2) + varint(size)
    made = field(2, b"g") + field(11, port(b"x", 1, size // 4)) + field(12, port(b"y", 1, 1))
    node = field(1, b"x") + field(1, b"w") + field(2, b"y") + field(4, b"Gemm") + field(5, flag(b"transB", 1))
    made += field(1, node) + varint(5 << 3 | 2) + varint(len(head) + size) + head
    dims = head.replace(number(1, size // 4), number(1, 1) + number(1, size // 4))
    made = made[: -len(head) - len(varint(len(head) + size))] + varint(len(dims) + size) + dims
    path = model.parent / "large.onnx"
    with path.open("wb") as file:
        file.write(number(1, 8) + field(8, number(2, 17)) + varint(7 << 3 | 2) + varint(len(made) + size) + made)
        file.truncate(file.tell() + size)
    done = bench(model.parent, "large.onnx", "--json")
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    assert (said["operations"], said["weights"], said["memory"]["weights"]) == (2 * size // 4, size // 4, size)


def port(name: bytes, *shape: int) -> bytes:
    """A ValueInfoProto of floats."""
    dims = b"".join(field(1, number(1, dim)) for dim in shape)
    return field(1, name) + field(2, field(1, number(1, 1) + field(2, dims)))


def flag(name: bytes, value: int) -> bytes:
    """An AttributeProto of a whole number."""
    return field(1, name) + number(3, value) + number(20, 2)


WRONG = {
    "model.onnx": (2, "sizes are needed of the symbols T: --sizes T=N"),
    "model.onnx --sizes T": (2, "--sizes: 'T' is not NAME=N with a positive whole number"),
    "model.onnx --sizes T=0": (2, "--sizes: 'T=0' is not NAME=N with a positive whole number"),
    "model.onnx --sizes T=3,K=4": (2, "no input has the symbols K; it has N, T"),
    "model.onnx --batch 0": (2, "--batch: 0 is not a positive number"),
    "model.onnx --bits 65": (2, "--bits: 65 is not a number from 1 to 64"),
    "nothing.onnx": (2, "nothing.onnx: there is no such file"),
    "text.onnx": (3, "text.onnx: not an ONNX file"),
    "fixed.onnx --batch 2": (3, "input x has the fixed size 1 at its first dimension"),
}


@pytest.mark.parametrize("arguments", WRONG)
def test_what_cannot_be_counted_is_said(model: Path, arguments: str) -> None:
    (model.parent / "text.onnx").write_text("this is no model")
    written(MODEL.replace("float[N, 3, T] x", "float[1, 3, 10] x"), model.parent / "fixed.onnx")
    done = bench(model.parent, *arguments.split())
    code, message = WRONG[arguments]
    assert done.returncode == code and message in done.stderr, done.stderr
    assert "Traceback" not in done.stderr
