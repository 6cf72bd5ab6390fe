"""``bench complies`` on real files: verdicts with their evidence, exit codes, and traces of compiled graphs."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from bench_plugin.cli.main import main
from bench_plugin.reach.environments.toolchains import Toolchains
from tests.adapters.real import written

MODEL = """<ir_version: 8, opset_import: ["": 17]>
g (float[N, 3, 8, 8] x) => (float[N, 2, 8, 8] y)
<float[2, 3, 1, 1] w = {1, 2, 3, 4, 5, 6}, float[2] b = {0, 1}>
{
  c = Conv(x, w, b)
  y = Relu(c)
}"""
CUSTOM = """<ir_version: 8, opset_import: ["": 17, "com.acme": 1]>
g (float[2, 3] x) => (float[2, 3] y)
{
  c = Relu(x)
  y = com.acme.Magic(c)
}"""
HALF = MODEL.replace("float[", "float16[")
# No case of a convolution has this attribute.
UNPADDED = """<ir_version: 8, opset_import: ["": 17]>
g (float[2, 3, 8, 8] x) => (float[2, 3, 8, 8] y)
<float[3, 3, 1, 1] w = {1, 2, 3, 1, 2, 3, 1, 2, 3}>
{
  c = Conv <auto_pad = "VALID"> (x, w)
  y = Relu(c)
}"""


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if not Toolchains().folder("onnxruntime").is_dir():
        pytest.skip("the toolchain onnxruntime is not made: bench env sync onnxruntime")
    return written(MODEL, tmp_path_factory.mktemp("complies") / "model.onnx")


def bench(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "bench_plugin.cli.main", "complies", *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=240)


def said(folder: Path, *arguments: str, code: int = 0) -> dict[str, Any]:
    done = bench(folder, *arguments, "--json")
    assert done.returncode == code, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_every_node_has_a_verdict_with_its_evidence(model: Path) -> None:
    found = said(model.parent, "model.onnx", "--compilers", "onnxruntime,executorch", "--batch", "2")
    conv, relu = found["nodes"]
    assert (conv["operator"], conv["signature"], conv["operations"]) == (
        "Conv",
        "Conv-11 (T float)",
        2 * 2 * 128 * 3 + 256,
    )
    verdict = conv["by_compiler"]["onnxruntime"]
    assert (verdict["status"], verdict["evidence"]) == ("supported", "proven") and "cases of Conv-11" in verdict["why"]
    assert relu["by_compiler"]["executorch"]["why"] == "it compiles from pytorch, not from ONNX files"
    by_name = {one["compiler"]: one for one in found["compilers"]}
    assert (by_name["onnxruntime"]["takes"], by_name["onnxruntime"]["operation_share"]) == ("yes", 1.0)
    assert (by_name["executorch"]["takes"], by_name["executorch"]["node_share"]) == ("no", 0.0)
    assert found["runs"]["onnxruntime"]


def test_what_a_node_asks_for_and_no_case_proves_is_partial(model: Path) -> None:
    written(UNPADDED, model.parent / "unpadded.onnx")
    found = said(model.parent, "unpadded.onnx", "--compilers", "tvm", "--batch", "2", code=3)
    (one,) = found["compilers"]
    assert (one["takes"], one["first"], one["node_share"]) == ("perhaps", "c (Conv)", 0.5)
    assert one["why"].endswith("none of them with auto pad=VALID")


def test_the_text_names_the_taker_and_what_stops_the_others(model: Path) -> None:
    done = bench(model.parent, "model.onnx", "--compilers", "all")
    assert done.returncode == 0, done.stderr
    assert "model: 2 nodes, opset ai.onnx 17" in done.stdout and "whole model: " in done.stdout
    assert "inductor stops at " in done.stdout and "not from ONNX files" in done.stdout
    short = bench(model.parent, "model.onnx", "--compilers", "all", "--summary").stdout
    assert "covered" in short and "why" not in short.splitlines()


def test_exit_codes_say_whether_some_compiler_takes_it(model: Path) -> None:
    written(CUSTOM, model.parent / "custom.onnx")
    assert bench(model.parent, "custom.onnx", "--compilers", "openvino").returncode == 3  # it states no list of its own
    found = said(model.parent, "custom.onnx", "--compilers", "onnxruntime", code=1)
    (one,) = found["compilers"]
    assert (one["takes"], one["node_share"]) == ("no", 0.5) and "does not have com.acme.Magic" in one["why"]
    assert bench(model.parent, "model.onnx", "--compilers", "executorch").returncode == 1


def test_a_type_that_no_case_proves_is_partial(model: Path) -> None:
    written(HALF, model.parent / "half.onnx")
    found = said(model.parent, "half.onnx", "--compilers", "iree", code=3)
    verdict = found["nodes"][1]["by_compiler"]["iree"]
    assert (verdict["status"], verdict["why"]) == (
        "partial", "proven for Relu-6 (T float), Relu-14 (T float), not for Relu-14 (T float16)",
    )  # fmt: skip


def test_rows_that_are_named_are_evidence(model: Path, tmp_path: Path) -> None:
    cell = {"check": "equivalence", "model": "model", "framework": "onnx", "compiler": "tvm", "precision": "fp32"}
    path = written(UNPADDED, tmp_path / "model.onnx")
    file = {"opsets": {"ai.onnx": 17}, "operators": {"Conv": 1, "Relu": 1}, "bytes": path.stat().st_size}
    rows = [
        {"schema": 1, "kind": "header", "run": "20260101-000000-aaaaaa"},
        {"schema": 1, "kind": "cell", "key": "aaaaaaaaaaaa", "cell": cell, "check": "equivalence",
         "status": "supported", "artefacts": {"model.onnx": file}},
    ]  # fmt: skip
    (tmp_path / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    found = said(tmp_path, "model.onnx", "--compilers", "tvm", "--results", "rows.jsonl")
    verdict = found["nodes"][0]["by_compiler"]["tvm"]
    assert (verdict["evidence"], verdict["shown"]) == ("compiled", ["aaaaaaaaaaaa"])
    assert found["compilers"][0]["takes"] == "yes"


WRONG = {
    "nothing.onnx": "nothing.onnx: there is no such file",
    "nothing": "unknown model 'nothing'",
    "model.onnx --compilers gcc": "--compilers: unknown compiler 'gcc'",
    "model.onnx --compilers ,": "--compilers: name one at least",
    "model.onnx --batch 0": "--batch: 0 is not a positive number",
    "model.onnx --results none.jsonl": "none.jsonl",
}


@pytest.mark.parametrize("arguments", WRONG)
def test_what_is_not_there_is_said(
    model: Path, arguments: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(model.parent)
    assert main(["complies", *arguments.split()]) == 2
    assert WRONG[arguments] in capsys.readouterr().err


def test_a_compiled_graph_is_traced_and_one_that_cannot_be_read_is_named(model: Path) -> None:
    found = said(model.parent, "model.onnx", "--compilers", "onnxruntime,iree,native", "--trace")
    by_name = {one["compiler"]: one for one in found["traces"]}
    traced = by_name["onnxruntime"]["found"]
    assert {node["status"] for node in traced["nodes"]} <= {"traced", "fused into", "lost"} and traced["compiled"] >= 1
    assert sum(traced["shares"].values()) == 1.0 and traced["shares"]["lost"] < 1
    assert by_name["onnxruntime"]["source"] == "the optimised graph of its session"
    assert by_name["iree"]["why"].startswith("not readable") and by_name["iree"]["found"] is None
    assert by_name["native"]["why"] == "not readable: it does not compile from ONNX files"
