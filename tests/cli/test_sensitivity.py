"""``bench sensitivity`` on small ONNX files: figures against numpy's, compilers beside the simulation, and messages."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bench_plugin.cli.main import main
from bench_plugin.cli.shared.sensitivity import deployed
from bench_plugin.reach.environments.toolchains import Toolchains
from tests.adapters.real import written

Array = np.ndarray[Any, Any]
INPUTS = 40
PRODUCT = """<ir_version: 8, opset_import: ["": 17]>
g (float[N, 4] x) => (float[N, 3] y)
<float[4, 3] w = {WEIGHTS}>
{
  [fc] y = MatMul(x, w)
}"""
# A convolution whose BatchNormalization is folded, one behind Relu, a residual sum, and a product with its bias.
LAYERS = """<ir_version: 8, opset_import: ["": 17]>
g (float[N, 2, 4, 4] x) => (float[N, 3] y)
<float[4, 2, 3, 3] w0 = {W0}, float[4] scale = {2, 1, 0.5, 1}, float[4] shift = {0, 0.1, 0, -0.1},
 float[4] mean = {0, 0.1, 0, 0.2}, float[4] variance = {1, 2, 1, 0.5},
 float[4, 4, 3, 3] w1 = {W1}, float[4] b1 = {0.1, 0, -0.1, 0.2},
 float[64, 3] w2 = {W2}, float[3] b2 = {0.1, 0.2, 0.3}, int64[2] flat = {0, -1}>
{
  [conv0] c0 = Conv<pads = [1, 1, 1, 1]>(x, w0)
  [norm0] n0 = BatchNormalization(c0, scale, shift, mean, variance)
  [relu0] r0 = Relu(n0)
  [conv1] c1 = Conv<pads = [1, 1, 1, 1]>(r0, w1, b1)
  [relu1] r1 = Relu(c1)
  [sum] s = Add(r1, r0)
  [flatten] f = Reshape(s, flat)
  [fc] y = Gemm(f, w2, b2)
}"""

# An LSTM whose last state goes into a product. The batch is of 1, as exporters write it.
RECURRENT = """<ir_version: 8, opset_import: ["": 17]>
g (float[5, 1, 3] x) => (float[1, 2] y)
<float[1, 8, 3] w = {W}, float[1, 8, 2] r = {R}, float[1, 16] b = {B}, float[2, 2] v = {V}, int64[2] flat = {1, 2}>
{
  [lstm] steps, last, cell = LSTM<hidden_size = 2>(x, w, r, b)
  [flatten] f = Reshape(last, flat)
  [fc] y = MatMul(f, v)
}"""

# A compiler that computes integers one too large, and refuses products.
OFF_BY_ONE = """
import importlib

from bench_plugin.agent import external
from bench_plugin.agent.adapter import Reply, Unsupported
from bench_plugin.agent.contract import CompileCall, RunCall
from bench_plugin.agent.toolkit import samples

ADAPTER = {
    "name": "off", "kind": "compiler", "toolchain": "onnxruntime", "title": "Off by one", "distribution": "onnxruntime",
    "operations": ["compile", "run"], "takes": ["onnx"], "precisions": {"w8a8": ["qdq"]}, "targets": ["local"],
}


class Adapter:
    def versions(self) -> dict:
        return {}

    def reset(self) -> None:
        pass

    def compile(self, call: CompileCall) -> Reply:
        call.stage("compile")
        nodes = importlib.import_module("onnx").load(call.files["model.onnx"]).graph.node
        if any(node.op_type == "DequantizeLinear" and "w2" in node.output[0] for node in nodes):
            raise Unsupported("no product of integers here")
        return Reply({"integer": "integer"}, files=external.artefact(call.files["model.onnx"], call.folder))

    def run(self, call: RunCall) -> Reply:
        call.stage("run")
        session = importlib.import_module("onnxruntime").InferenceSession(call.files["model.onnx"])

        def run(xs):
            found = session.run(None, dict(zip(call.inputs, xs)))
            return [x + (x < 255) if x.dtype.name == "uint8" else x for x in found]

        return samples.answered(call, run, list(call.inputs.values()), {})
"""


def needs(toolchain: str) -> None:
    if not Toolchains().folder(toolchain).is_dir():
        pytest.skip(f"the toolchain {toolchain} is not made: bench env sync {toolchain}")


def listed(values: np.ndarray[Any, Any]) -> str:
    return ", ".join(f"{value:.6f}" for value in values.reshape(-1))


def random(seed: int, *shape: int) -> np.ndarray[Any, Any]:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def images() -> np.ndarray[Any, Any]:
    """Pixels of 17 brightnesses from 0 to 1, as digits have them: 8/16 is 127.5 steps of 1/255."""
    return np.clip(np.round(random(6, INPUTS, 2, 4, 4) * 5 + 8), 0, 16).astype(np.float32) / 16


def product() -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """The rows [N, 4] and the weights [4, 3] of the first file, as it has them."""
    return random(2, INPUTS, 4), np.array(listed(random(1, 4, 3)).split(", "), dtype=np.float32).reshape(4, 3)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two files with inputs and, for one of them, the answers that it gives itself."""
    needs("onnxruntime")
    found = tmp_path_factory.mktemp("sensitivity")
    written(PRODUCT.replace("WEIGHTS", listed(random(1, 4, 3))), found / "product.onnx")
    np.savez(found / "rows.npz", x=random(2, INPUTS, 4))
    text = LAYERS.replace("W0", listed(random(3, 4, 2, 3, 3) / 4)).replace("W1", listed(random(4, 4, 4, 3, 3) / 6))
    written(text.replace("W2", listed(random(5, 64, 3) / 8)), found / "layers.onnx")
    np.savez(found / "images.npz", x=images())
    relu = '<ir_version: 8, opset_import: ["": 17]>\ng (float[N, 4] x) => (float[N, 4] y) { y = Relu(x) }'
    written(relu, found / "relu.onnx")
    return found


def bench(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "bench_plugin.cli.main", "sensitivity", *arguments]
    shared = next(one for one in (folder, *folder.parents) if (one / "layers.onnx").exists())
    environment = {**os.environ, "BENCH_CACHE": str(shared / "cache")}
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=300, env=environment)


def read(folder: Path, *arguments: str, code: int = 0) -> dict[str, Any]:
    done = bench(folder, *arguments, "--json")
    assert done.returncode == code, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def error_of(found: dict[str, Any], layer: str, kind: str, bits: int) -> float:
    [row] = [row for row in found["findings"] if (row["layer"], row["kind"], row["bits"]) == (layer, kind, bits)]
    return float(row["error"])


def test_the_error_of_each_part_is_that_of_numpy(folder: Path) -> None:
    found = read(folder, "product.onnx", "--inputs", "rows.npz", "--bits", "8,4,2")
    x, w = product()
    y = x.astype(np.float64) @ w
    unit = np.linalg.norm(y - y.mean(axis=0))
    for bits in (8, 4, 2):
        step = np.abs(w).max(axis=0) / (2 ** (bits - 1) - 1)  # symmetric, for each output channel
        weights = np.linalg.norm(x @ (np.rint(w / step) * step) - y) / unit
        assert error_of(found, "fc", "weights", bits) == pytest.approx(weights, rel=1e-4)
        scale = (x.max() - x.min()) / (2**bits - 1)  # of the tensor, with 0 in its range
        zero = np.rint(-x.min() / scale)
        given = (np.clip(np.rint(x / scale) + zero, 0, 2**bits - 1) - zero) * scale
        activations = np.linalg.norm(given.astype(np.float64) @ w - y) / unit
        assert error_of(found, "fc", "activations", bits) == pytest.approx(activations, rel=1e-3)
    assert found["task"] is None and all(row["drop"] is None for row in found["findings"])
    assert found["layers"] == [
        {"name": "fc", "named": True, "operator": "MatMul", "weights": 12, "activations": 4}
    ]  # fmt: skip
    assert [row["bits_saved"] for row in found["findings"] if row["bits"] == 8] in ([288, 96], [96, 288])


def lstm(x: Array, w: Array, r: Array, b: Array) -> Array:
    """The last state [2] of an LSTM with two units after the steps [T, 3], by ONNX's formula, in float64."""

    def squashed(z: Array) -> Array:
        return 1 / (1 + np.exp(-z))

    state, cell = np.zeros(2), np.zeros(2)
    for step in x.astype(np.float64):
        i, o, f, c = np.split(w[0] @ step + r[0] @ state + b[0, :8] + b[0, 8:], 4)
        cell = squashed(f) * cell + squashed(i) * np.tanh(c)
        state = squashed(o) * np.tanh(cell)
    return state


def per_gate(weights: Array, bits: int) -> Array:
    """Weights [1, 8, n] rounded symmetrically, each row of a gate in steps of its own."""
    step = np.abs(weights).max(axis=(0, 2), keepdims=True) / (2 ** (bits - 1) - 1)
    return np.rint(weights / step) * step


def test_weights_and_activations_of_a_recurrent_layer_are_parts(folder: Path) -> None:
    x = random(21, INPUTS, 5, 1, 3)
    shapes = {"W": (1, 8, 3), "R": (1, 8, 2), "B": (1, 16), "V": (2, 2)}
    text, values = RECURRENT, {}
    for seed, (name, shape) in enumerate(shapes.items()):
        said = listed(random(30 + seed, *shape))
        text = text.replace(f"{{{name}}}", f"{{{said}}}")
        values[name] = np.array(said.split(", "), dtype=np.float32).astype(np.float64).reshape(shape)
    written(text, folder / "gates.onnx")
    np.savez(folder / "steps.npz", x=x)
    found = read(folder, "gates.onnx", "--inputs", "steps.npz", "--bits", "8,4", "--compilers", "onnxruntime")
    w, r, b, v = values.values()
    y = np.array([lstm(one[:, 0], w, r, b) @ v for one in x])
    unit = np.linalg.norm(y - y.mean(axis=0))
    assert found["layers"][0] == {
        "name": "lstm", "named": True, "operator": "LSTM", "weights": 8 * 3 + 8 * 2, "activations": 15
    }  # fmt: skip
    assert found["untouched"] == {}
    for bits in (8, 4):
        both = [lstm(one[:, 0], per_gate(w, bits), per_gate(r, bits), b) @ v for one in x]
        error = np.linalg.norm(both - y) / unit
        assert error_of(found, "lstm", "weights", bits) == pytest.approx(error, rel=1e-3)
        scale = (x.max() - x.min()) / (2**bits - 1)
        zero = np.rint(-x.min() / scale)
        given = (np.clip(np.rint(x / scale) + zero, 0, 2**bits - 1) - zero) * scale
        error = np.linalg.norm(np.array([lstm(one[:, 0], w, r, b) @ v for one in given]) - y) / unit
        assert error_of(found, "lstm", "activations", bits) == pytest.approx(error, rel=1e-2)
    first, _ = found["deployed"]  # int8 weights of both kinds, compiled
    assert first["failure"] == "" and first["layers"] == ["lstm"] and first["gaps"]["lstm"]["off"] <= 0.01
    assert first["gaps"]["lstm"]["elements"] == INPUTS * 5 * 2  # the state after every step
    assert first["deployed"]["error"] == pytest.approx(first["simulated"]["error"], rel=0.1)


def test_layers_are_ranked_and_assigned_within_the_bound(folder: Path) -> None:
    found = read(folder, "layers.onnx", "--inputs", "images.npz", "--max-error", "0.15", "--page", "page.md")
    assert [row["name"] for row in found["layers"]] == ["conv0", "conv1", "fc"]
    errors = [row["error"] for row in found["findings"]]
    assert errors == sorted(errors, reverse=True) and len(errors) == 3 * 2 * 3
    assert 0 < found["effect"]["error"] <= 0.15 < max(errors)
    assert {row["weights"] for row in found["assignment"]} <= {2, 4, 8, 32}
    assert found["bound"] == {"max_drop": None, "max_error": 0.15}
    assert found["measured"] > len(found["refused"]) > 0 and found["excluded"] == []
    text = (folder / "page.md").read_text()
    command = "bench sensitivity layers.onnx --bits 8,4,2 --inputs images.npz --max-error 0.15 --page page.md"
    assert f"`{command}`" in text
    assert "| layer | operator | kind | bits | E | saved |" in text and "| conv1 | Conv | weights | 4 |" in text


def test_labels_give_a_drop_with_its_interval(folder: Path) -> None:
    x, w = product()
    labels = (x @ w).argmax(axis=1)  # the model is always right before it is quantised
    np.save(folder / "labels.npy", labels)
    arguments = ("product.onnx", "--inputs", "rows.npz", "--labels", "labels.npy", "--bits", "2", "--max-drop", "0.5")
    found = read(folder, *arguments)
    assert found["task"] == "drop of top-1 accuracy" and found["bound"] == {"max_drop": 0.5, "max_error": None}
    [drop] = [row["drop"] for row in found["findings"] if row["kind"] == "weights"]
    step = np.abs(w).max(axis=0)
    wrong = int(((x @ (np.rint(w / step) * step)).argmax(axis=1) != labels).sum())
    assert drop["top1"] == pytest.approx(wrong / INPUTS) and drop["agreement"] == pytest.approx(1 - wrong / INPUTS)
    assert wrong > 2 and drop["mcnemar_p"] == pytest.approx(min(2 * 0.5**wrong, 1))
    assert drop["lower"] < drop["top1"] < drop["upper"]


def test_a_compiler_beside_the_simulation(folder: Path) -> None:
    """Integers agree but for ties; the text has what JSON has; layers to leave alone are written for a tool."""
    arguments = ("layers.onnx", "--inputs", "images.npz", "--bits", "8", "--max-error", "0")
    found = read(folder, *arguments, "--compilers", "onnxruntime", "--exclude-for", "tensorrt", "-o", "out/list.txt")
    assert [row["layers"] for row in found["deployed"]] == [["conv0"], ["conv1"], ["fc"]]
    gaps = [*(gap for row in found["deployed"] for gap in row["gaps"].values())]
    assert [gap["elements"] for gap in gaps] == [INPUTS * 64, INPUTS * 64, INPUTS * 3]
    for row, gap in zip(found["deployed"], gaps, strict=True):
        assert row["failure"] == "" and gap["off"] <= 0.01 and gap["largest"] <= 1
        assert row["deployed"]["error"] == pytest.approx(row["simulated"]["error"], rel=0.1)
        parts = [error_of(found, row["layers"][0], kind, 8) for kind in ("weights", "activations")]
        assert max(parts) / 2 < row["simulated"]["error"] < 3 * sum(parts)  # it also rounds the layer's result
    assert gaps[0]["input_ties"] > 100 > gaps[1]["input_ties"] + gaps[2]["input_ties"]  # pixels that lie between two
    assert [row["kernel"] for row in found["deployed"]][:2] == ["partly", "partly"]  # the others are in floating point
    [whole] = found["together"]
    assert list(whole["gaps"]) == ["conv0", "conv1", "fc"] and whole["samples"] == INPUTS
    assert found["excluded"] == ["conv0", "conv1", "fc"] and found["effect_without_excluded"]["error"] == 0
    assert "--layerPrecisions=conv0:fp32,conv1:fp32,fc:fp32\n" in (folder / "out/list.txt").read_text()
    text = bench(folder, *arguments, "--compilers", "onnxruntime").stdout
    assert "quantised alone to 8 bits" in text and "all layers quantised: the gap of each layer" in text
    assert "bits within E of at most 0; 32: in floating point" in text


def test_the_error_on_fewer_inputs_is_in_units_of_these(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    few = 10
    monkeypatch.setattr(deployed, "MOST_ELEMENTS", 3 * few)  # of the three results of the product
    monkeypatch.setenv("BENCH_CACHE", str(folder / "cache"))
    monkeypatch.chdir(folder)
    arguments = ["product.onnx", "--inputs", "rows.npz", "--bits", "8", "--compilers", "onnxruntime", "--json"]
    assert main(["sensitivity", *arguments]) == 0
    [row] = json.loads(capsys.readouterr().out)["deployed"]
    assert row["samples"] == few
    x, w = product()
    y = x.astype(np.float64) @ w
    step = np.abs(w).max(axis=0) / 127
    made = rounded(x) @ (np.rint(w / step) * step)  # the steps are those of all inputs
    result = rounded(y, np.clip(made, y.min(), y.max()))
    unit = np.linalg.norm(y[:few] - y[:few].mean(axis=0))
    error = np.linalg.norm(result[:few] - y[:few]) / unit
    assert row["simulated"]["error"] == pytest.approx(error, rel=0.05)
    assert row["deployed"]["error"] == pytest.approx(error, rel=0.1)


def rounded(given: Array, values: Array | None = None) -> Array:
    """``values``, or what is given itself, in 255 steps of the range of what is given, with 0 in it."""
    low, high = min(given.min(), 0.0), max(given.max(), 0.0)
    scale = (high - low) / 255
    zero = np.rint(-low / scale)
    steps = np.clip(np.rint((given if values is None else values) / scale) + zero, 0, 255)
    return (steps - zero) * scale


def test_a_compiler_that_is_off_or_refuses_is_a_finding(folder: Path) -> None:
    project = folder / "project"
    project.mkdir()
    (project / "off.py").write_text(OFF_BY_ONE)
    (project / "bench.toml").write_text('adapters = ["off.py"]')
    arguments = ("../layers.onnx", "--inputs", "../images.npz", "--bits", "8", "--compilers", "off")
    found = read(project, *arguments, code=1)
    first, second, last = found["deployed"]
    for row in (first, second):
        [gap] = row["gaps"].values()
        assert gap["off"] > 0.5 and gap["largest"] == 1 and row["kernel"] == "integer"
    assert last["deployed"] is None and last["failure"].startswith("compile: ") and last["gaps"] == {}
    assert "no product of integers here" in last["failure"]


WRONG = {
    "layers.onnx --bits 1": (2, "--bits: '1' is not a whole number from 2 to 16"),
    "layers.onnx --bits 8,x": (2, "--bits: 'x' is not a whole number from 2 to 16"),
    "nothing.onnx": (2, "nothing.onnx: there is no such file"),
    "digits_cmm": (2, "unknown model 'digits_cmm'; "),
    "digits_cnn --inputs rows.npz": (2, "--inputs: digits_cnn has inputs of its own"),
    "digits_cnn --framework mindspore": (2, "--framework: digits_cnn is not in 'mindspore'; valid are: "),
    "layers.onnx --framework pytorch": (2, "--framework: layers.onnx is a file already"),
    "layers.onnx --max-error -1": (2, "--max-error: -1 is not a number from 0"),
    "layers.onnx --exclude-for nncf": (2, "--exclude-for FORM and -o FILE go together"),
    "layers.onnx --compilers tvmm": (2, "--compilers: 'tvmm' is no compiler that takes a model with QuantizeLinear"),
    "mask_rcnn": (3, "mask_rcnn gives detections, which have no distance that a layer could be ranked by"),
}


@pytest.mark.parametrize("arguments", WRONG)
def test_what_does_not_fit_is_said_before_anything_runs(
    folder: Path, arguments: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(folder)
    code, message = WRONG[arguments]
    assert main(["sensitivity", *arguments.split()]) == code
    assert message in capsys.readouterr().err


WRONG_FILES = {
    "layers.onnx --inputs rows.npz": (2, "--inputs: rows.npz: array 'x' has the shape [40, 4]"),
    "layers.onnx --max-drop 0.01": (2, "--max-drop: the model has no task here, so it has E only; use --max-error"),
    "layers.onnx --labels rows.npz": (2, "--labels: rows.npz holds several arrays; it must hold one whole number"),
    "relu.onnx": (
        3,
        "no layer can be quantised: there is none of Conv, ConvTranspose, Gemm, MatMul, LSTM, GRU, RNN in float32",
    ),
    "text.onnx": (3, "text: there is no ONNX file: "),
}


@pytest.mark.parametrize("arguments", WRONG_FILES)
def test_what_cannot_be_measured_is_said(folder: Path, arguments: str) -> None:
    (folder / "text.onnx").write_text("this is no model")
    code, message = WRONG_FILES[arguments]
    done = bench(folder, *arguments.split())
    assert done.returncode == code and message in done.stderr, done.stderr
    assert "Traceback" not in done.stderr


def test_a_layer_without_a_name_cannot_be_excluded(folder: Path) -> None:
    text = PRODUCT.replace("WEIGHTS", listed(random(1, 4, 3))).replace("[fc] ", "")
    written(text, folder / "nameless.onnx")
    arguments = ("--inputs", "rows.npz", "--bits", "8", "--max-error", "0", "--exclude-for", "nncf", "-o", "list.json")
    done = bench(folder, "nameless.onnx", *arguments)
    assert done.returncode == 3 and "the first makes 'y'" in done.stderr, done.stderr
