"""``bench predict`` on real files: figures, empty pairs, pictures, scores of rows and of published measurements."""

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
from tests.project import Project

ROOT = Path(__file__).parents[2]
WEIGHTS = ", ".join(["0.5"] * 64)
MODEL = f"""<ir_version: 8, opset_import: ["": 17]>
g (float[N, 8] x) => (float[N, 8] y)
<float[8, 8] w = {{{WEIGHTS}}}>
{{
  y = MatMul(x, w)
}}"""


@pytest.fixture
def model(tmp_path: Path) -> Path:
    if not Toolchains().folder("onnxruntime").is_dir():
        pytest.skip("the toolchain onnxruntime is not made: bench env sync onnxruntime")
    return written(MODEL, tmp_path / "model.onnx")


def bench(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "bench_plugin.cli.main", "predict", *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=120)


def test_every_pair_is_predicted_or_empty_and_never_zero(model: Path) -> None:
    done = bench(
        model.parent, "--models", "model.onnx", "--targets", "coral,jetson-tx2,kalray",
        "--precisions", "fp32,int8,int4", "--json",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    rows = json.loads(done.stdout)["predictions"]
    found: dict[tuple[str, str, str], Any] = {(row["target"], row["mode"], row["precision"]): row for row in rows}
    figures = {key: row["inputs_per_s"] for key, row in found.items()}
    coral = min(4e12 / 128, 2.56e10 / 64)  # 64 weights of a byte, 128 operations
    assert figures == {
        ("coral", "fast", "fp32"): None, ("coral", "slow", "fp32"): None, ("coral", "fast", "int8"): coral,
        ("coral", "slow", "int8"): coral, ("coral", "fast", "int4"): 2 * coral, ("coral", "slow", "int4"): 2 * coral,
        **{("jetson-tx2", mode, "fp32"): 5.97e10 / 256 for mode in ("maxn", "maxp", "maxq")},
        **{("jetson-tx2", mode, name): None for mode in ("maxn", "maxp", "maxq") for name in ("int8", "int4")},
        **{("kalray", "", name): None for name in ("fp32", "int8", "int4")},
    }  # fmt: skip
    assert found["coral", "fast", "int4"]["emulated"] == "int8"
    assert found["kalray", "", "fp32"]["reason"] == "no peak is known"
    assert all(row.get("assumption") or row["reason"] for row in rows)


def test_the_text_has_counts_assumption_and_source_beside_the_figure(model: Path) -> None:
    done = bench(model.parent, "--models", "model.onnx", "--targets", "coral,kalray", "--precisions", "int8,fp32")
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    line = "model int8 coral fast 400 M memory 4 Top/s 25.6 GB/s 128 64 bytes datasheet [1]"
    assert " ".join(lines[1].split()) == line
    assert "weights off chip, activations on chip; batch 1; weights and activations in 8 bits" in done.stdout
    assert "source: M. Blott" in done.stdout
    assert "empty: no peak is known for fp32: coral" in done.stderr and "no peak is known: kalray" in done.stderr


def test_pictures_are_svg_and_vega_lite(model: Path) -> None:
    pytest.importorskip("vl_convert")
    done = bench(model.parent, "--models", "model.onnx", "--targets", "coral,jetson-nano", "--pictures", "drawn")
    assert done.returncode == 0, done.stderr
    for name in ("roofline", "predictions"):
        drawing = json.loads((model.parent / f"drawn/{name}.vl.json").read_text())
        assert drawing["data"]["values"] and "description" in drawing
        assert (model.parent / f"drawn/{name}.svg").read_text().startswith("<svg ")
    roofs = json.loads((model.parent / "drawn/roofline.vl.json").read_text())["data"]["values"]
    names = {(row["target"], row["name"]) for row in roofs if row["kind"] == "roof"}
    assert names == {("coral", "int8 fast"), ("coral", "int8 slow"), ("jetson-nano", "datatype not named")}
    assert {row["name"] for row in roofs if row["kind"] == "model"} == {"model"}


def test_rows_are_scored(model: Path) -> None:
    rows: list[dict[str, Any]] = [{"kind": "header", "titles": {"tasks": {"model": "classification"}}}]
    for key, seconds, batch in (("a", 1e-8, 1), ("b", 2e-8, 4), ("c", 1e-9, 8)):
        cell = {"check": "timing", "model": "model", "precision": "int8", "target": "coral", "mode": "fast"}
        numbers = {"timing": {"compute": {"median": seconds}}}
        rows.append({
            "schema": 1, "kind": "cell", "key": key, "check": "timing", "cell": {**cell, "batch": batch},
            "status": "supported", "numbers": numbers, "placement": {},
        })  # fmt: skip
    (model.parent / "rows.jsonl").write_text("\n".join(json.dumps({"schema": 1, **row}) for row in rows) + "\n")
    done = bench(
        model.parent, "--models", "model.onnx", "--targets", "coral", "--results", "rows.jsonl", "--json"
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    (score,) = said["scores"]
    assert (score["platform"], score["task"], score["basis"], score["pairs"]) == (
        "coral (fast)", "classification", "compute", 3
    )  # fmt: skip
    shares = [1e8 / 4e8, 2e8 / 16e8, 8e9 / 32e8]
    assert [row["efficiency"] for row in said["pairs"]] == pytest.approx(shares)
    assert [bool(row["explained"]) for row in said["pairs"]] == [False, False, True]


def test_predictions_are_refined_by_other_models_of_the_rows(model: Path) -> None:
    for name in ("other", "third"):
        (model.parent / f"{name}.onnx").write_bytes(model.read_bytes())
    rows: list[dict[str, Any]] = [{"schema": 1, "kind": "header"}]
    for name, seconds in (("model", 1e-9), ("other", 5e-9), ("third", 10e-9)):  # 4e8 per second are predicted
        cell = {"check": "timing", "model": name, "precision": "int8", "target": "coral", "mode": "fast"}
        rows.append({
            "schema": 1, "kind": "cell", "key": name, "check": "timing", "cell": cell, "status": "supported",
            "numbers": {"timing": {"compute": {"median": seconds}}}, "placement": {},
        })  # fmt: skip
    (model.parent / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    where = ("--targets", "coral", "--precisions", "int8", "--refine", "rows.jsonl")
    done = bench(model.parent, "--models", "model.onnx,other.onnx,third.onnx", *where, "--json")
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    refined = {row["model"]: row for row in said["refined"] if row["mode"] == "fast"}
    assert refined["model"]["fitted_on"] == ["other", "third"]
    assert refined["model"]["factor"] == pytest.approx((0.5 * 0.25) ** 0.5)  # of 2e8 / 4e8 and 1e8 / 4e8
    assert refined["model"]["refined_inputs_per_s"] == pytest.approx(4e8 * (0.5 * 0.25) ** 0.5)
    assert all(row["inputs_per_s"] == pytest.approx(4e8) for row in said["predictions"])  # as they are without it
    (errors,) = said["refinements"]
    assert errors["error"] == pytest.approx(100 * (0.6 + 1 + 3) / 3) and errors["pairs"] == 3
    text = bench(model.parent, "--models", "model.onnx,other.onnx,third.onnx", *where).stdout
    assert "2: other, third" in text and "refined error %" in text


def test_predictions_are_refined_by_published_measurements(model: Path) -> None:
    done = bench(
        model.parent, "--models", "model.onnx", "--targets", "jetson-tx2", "--precisions", "fp16",
        "--refine", str(ROOT / "docs/published"), "--json",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    refined = {row["mode"]: row for row in said["refined"]}
    assert set(refined) == {"maxn", "maxp"}, "in maxq no model was measured in fp16"
    assert refined["maxp"]["fitted_on"] == ["CNV", "MLP", "GoogLeNetv1", "ResNet50"]
    assert 0 < refined["maxp"]["factor"] < 1
    assert refined["maxp"]["slope"] > 0 and refined["maxn"]["by_size_inputs_per_s"] is None
    (errors,) = (
        one
        for one in said["refinements"]
        if one["mode"] == "maxp"
        and one["basis"] == "compute"
        and one["datatype"] == "fp16"
        and one["target"] == "jetson-tx2"
    )
    assert errors["sized"] < errors["refined"] < errors["error"], "smaller models are less efficient there"


@pytest.mark.parametrize("more", [("--results", "rows.jsonl"), ("--published", "docs/published")])
def test_refining_goes_with_predictions_alone(tmp_path: Path, more: tuple[str, str]) -> None:
    done = bench(tmp_path, "--refine", "rows.jsonl", *more)
    assert done.returncode == 2 and "--refine goes with --models" in done.stderr


def test_the_page_of_published_predictions_is_what_the_command_writes(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    done = bench(ROOT, "--published", "docs/published", "--page", str(page))
    assert done.returncode == 0, done.stderr
    assert page.read_text() == (ROOT / "docs/published-predictions.md").read_text()


WRONG = {
    "": (2, "--models: name models, ONNX files, or all"),
    "--models nothing": (2, "unknown model 'nothing'"),
    "--models nothing.onnx": (2, "nothing.onnx: there is no such file"),
    "--models digits_mlp --precisions int3": (2, "unknown precision 'int3'"),
    "--models digits_mlp --targets moon": (2, "unknown target 'moon'"),
    "--models digits_mlp --batch 0": (2, "--batch: 0 is not a positive number"),
    "--published .": (2, "has no file qutibench_topologies.csv"),
    "--models digits_mlp --page x.md": (2, "--page goes with --published"),
}


@pytest.mark.parametrize("arguments", WRONG)
def test_what_cannot_be_predicted_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], arguments: str
) -> None:
    monkeypatch.chdir(tmp_path)
    code, message = WRONG[arguments]
    assert main(["predict", *arguments.split()]) == code
    assert message in capsys.readouterr().err


def test_registered_models_are_exported_once_and_then_come_from_the_cache(project: Project) -> None:
    project.model("linear")
    with (project.folder / "bench.toml").open("a") as file:
        file.write('cache = "cache"\n')
    first = project.bench("needs", "linear", "--json")
    assert first.returncode == 0, first.stderr
    said = json.loads(first.stdout)
    assert said["operations"] > 0 and not said["lower_bound"]
    again = project.bench("predict", "--models", "linear", "--targets", "coral", "--precisions", "int8", "--json")
    assert again.returncode == 0, again.stderr
    assert {row["operations"] for row in json.loads(again.stdout)["predictions"]} == {said["operations"]}


@pytest.mark.nightly
def test_the_page_of_models_is_what_the_command_writes(tmp_path: Path) -> None:
    if not Toolchains().folder("pytorch").is_dir():
        pytest.skip("the toolchain pytorch is not made: bench env sync pytorch")
    assert main(["needs", "all", "--page", str(tmp_path / "models.md")]) == 0
    assert (tmp_path / "models.md").read_text() == (ROOT / "docs/models.md").read_text()
