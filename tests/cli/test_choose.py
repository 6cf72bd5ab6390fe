"""``bench choose``: from the rows of a real run and predictions of three boards to a choice with reasons."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.checks.test_task_metric import QUALITY, TRAINED, TRAINING
from tests.checks.test_timing import FAKE, TESTS
from tests.project import Project, make_project
from tests.report.pictures import made

# The labels are the answers of the fake framework's network, but for one in sixteen.
DATASET = """
from bench_plugin.agent.adapter import Reply
from bench_plugin.agent.toolkit import samples

ADAPTER = {"name": "noise", "kind": "dataset", "toolchain": "fake", "title": "Noise", "distribution": "numpy",
           "operations": ["fetch"], "classes": 4}

class Adapter:
    def versions(self):
        return {}

    def reset(self):
        pass

    def fetch(self, call):
        import numpy as np

        call.stage("build")
        images = np.random.default_rng(1).standard_normal((256, 8)).astype("float32")
        rng = np.random.default_rng(7)
        a, b, c, d = (rng.standard_normal(shape).astype("float32") for shape in ((8, 16), 16, (16, 4), 4))
        labels = (np.maximum(images @ a + b, 0) @ c + d).argmax(axis=1)
        labels[::16] = (labels[::16] + 1) % 4
        return Reply({"classes": 4}, samples.blobs(dict(x_train=images, y_train=labels, x_test=images, y_test=labels)))
"""
BOARD = """
name = "{name}"
architecture = "aarch64"
[[prices]]
price_usd = {price}
source = "a price list"
[[power]]
power_w = {power}
source = "a data sheet"
[software]
os = ["{os}"]
source = "a data sheet"
"""
BOARDS = [("ada", "[40.0, 50.0]", "5.0", "Linux"), ("bob", "90.0", "9.0", "Linux"), ("cleo", "60.0", "4.0", "RTOS")]
RATES = {"ada": 250.0, "bob": 500.0, "cleo": 80.0}


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory, tools_python: Path) -> Project:
    """A project with a trained model, which was timed and judged on this machine, and three boards to buy."""
    folder = tmp_path_factory.mktemp("choose")
    project = make_project(folder, tools_python)
    dataset = project.write("noise.py", DATASET)
    training = project.write("training.py", TRAINING)
    adapters = ", ".join(f'"{one}"' for one in (FAKE / "framework.py", FAKE / "compiler.py", dataset, training))
    project.write("bench.toml", f'adapters = [{adapters}]\ntoolchains = ["toolchains"]\nenvironment = ["FAKE_*"]\n')
    path = project.model("net", seconds=20)
    path.write_text(path.read_text().replace("[[inputs]]", TRAINED, 1))
    project.write("test_models.py", TESTS + QUALITY.replace("import pytest\n", ""))
    done = project.run("--compilers=fakec", "--bench-profile=smoke", "--precisions=fp32")
    assert done.code == 0, done.text
    for name, price, power, system in BOARDS:
        text = BOARD.format(name=name, price=price, power=power, os=system)
        project.write(f"boards/targets/{name}.toml", text)
    rows = [
        {"model": "net", "target": name, "mode": "", "precision": "fp32", "inputs_per_s": rate, "bound": "memory",
         "assumption": "weights off-chip"}
        for name, rate in RATES.items()
    ]  # fmt: skip
    project.write("predictions.json", json.dumps({"predictions": rows}))
    return project


def choose(project: Project, *arguments: str) -> dict[str, Any]:
    done = project.bench("choose", *arguments, "--json")
    assert done.returncode in (0, 1, 3), done.stderr
    return {"code": done.returncode, **json.loads(done.stdout)}


def test_three_boards_and_one_model_give_a_choice_with_reasons_in_one_command(project: Project) -> None:
    done = project.bench(
        "choose", "reports/results.jsonl", "predictions.json", "--max-latency", "10ms", "--max-drop", "1%",
        "--max-price", "80USD", "--max-power", "8W", "--require", "os=linux",
    )  # fmt: skip
    text = " ".join(done.stdout.split())
    assert done.returncode == 0, done.stdout + done.stderr
    assert "4 candidates: 1 measured, 3 predicted" in text
    assert "choice: any compiler fp32 on ada (latency predicted)" in text
    assert "latency 4 ms (predicted)" in text and "price 50 USD (published)" in text
    assert "drop 0 % (measured elsewhere)" in text, "that of the compiled model on this machine"
    assert "any compiler fp32 on bob: power 9 W (published), 12.5% beyond; price 90 USD (published), 12.5%" in text
    assert "any compiler fp32 on cleo: latency 12.5 ms (predicted), 25.0% beyond; os is RTOS" in text
    assert "undecided: a missing figure is never taken as satisfied: 1" in text
    assert "fakec fp32 on local: power unknown; price unknown power unknown: time it with a meter" in text
    assert "price unknown: write [[prices]] in boards/targets/local.toml" in text
    assert "nothing has run; a prediction says nothing of the outputs" in text
    assert "predicted: memory; weights off-chip" in text, "the assumption of the prediction"


def test_measured_and_predicted_figures_are_told_apart_in_the_data(project: Project) -> None:
    said = choose(project, "reports/results.jsonl", "predictions.json", "--max-latency", "10s")
    by_name = {one["name"]: one for one in said["candidates"]}
    local, bob = by_name["fakec fp32 on local"], by_name["any compiler fp32 on bob"]
    assert (
        said["code"] == 0
        and local["figures"]["latency"]["basis"] == local["figures"]["accuracy"]["basis"] == "measured"
    )
    assert local["status"] == "supported" and local["figures"]["memory"]["value"] > 1e6 and local["key"]
    assert bob["figures"]["latency"] == {"value": 0.002, "basis": "predicted", "source": "memory; weights off-chip"}
    assert (
        bob["figures"]["accuracy"]["basis"] == "measured elsewhere" and bob["figures"]["price"]["basis"] == "published"
    )
    assert {one["state"] for one in said["candidates"]} == {"kept"}
    assert bob["figures"]["accuracy"]["value"] == local["figures"]["accuracy"]["value"]


def test_the_exit_code_says_whether_nothing_fits_or_nothing_is_known(project: Project) -> None:
    files = ("reports/results.jsonl", "predictions.json")
    assert choose(project, *files, "--max-latency", "1ns")["code"] == 1
    said = choose(project, *files, "--max-energy", "1J")
    assert (said["code"], said["choice"]) == (3, None)
    assert {one["state"] for one in said["candidates"]} == {"undecided"}
    assert all("energy unknown" in one["findings"][1]["text"] for one in said["candidates"])


def test_weights_choose_and_the_picture_has_both_kinds(project: Project) -> None:
    files = ("reports/results.jsonl", "predictions.json")
    said = choose(project, *files, "--weights", "price=3,latency=1", "--picture", "choice.json")
    assert said["choice"] == "any compiler fp32 on ada" and said["scored"]["stable"] is True
    assert said["scored"]["left_out"] == {"fakec fp32 on local": "price unknown"}
    picture = json.loads((project.folder / "choice.json").read_text())
    rows = picture["data"]["values"]
    assert {row["kind"] for row in rows} == {"measured", "predicted"} and sum(row["chosen"] for row in rows) == 1
    assert {row["value"] for row in rows if row["kind"] == "predicted"} == {4.0, 2.0, 12.5}
    assert picture["encoding"]["y"]["field"] == "accuracy" and "latency, ms" in json.dumps(picture)


def test_the_picture_is_drawn(project: Project) -> None:
    pytest.importorskip("vl_convert", reason="comes with the extra report")
    done = project.bench("choose", "reports/results.jsonl", "predictions.json", "--picture", "made/choice.svg")
    svg = (project.folder / "made/choice.svg").read_text()
    assert done.returncode == 0 and "wrote made/choice.svg" in done.stderr
    assert svg.startswith("<svg") and 'aria-label="A scatter plot of accuracy' in svg


def write_rows(path: Path, *rows: dict[str, Any]) -> str:
    header = {"schema": 1, "kind": "header", "run": "run-1", "host": {"digest": "h"}, "machine": {"system": "Linux"}}
    path.write_text("".join(json.dumps(row) + "\n" for row in (header, *rows)))
    return str(path)


def on(target: str, compiler: str = "tvm", **more: Any) -> dict[str, Any]:
    return made.axes(compiler=compiler, target=target, **more)


def test_measured_boards_of_several_files_a_wrong_result_and_a_predicted_front(
    project: Project, tmp_path: Path
) -> None:
    first = write_rows(
        tmp_path / "ada.jsonl", made.timing(on("ada"), 0.004), made.quality(on("ada"), 0.90),
        made.timing(on("ada", batch=8), 0.020, 400.0), made.timing(on("ada", "emx"), 0.001, status="mismatch"),
    )  # fmt: skip
    second = write_rows(
        tmp_path / "bob.jsonl", made.timing(on("bob"), 0.003, numbers=made.power(1.0, 2.0, 6.5)),
        made.quality(on("bob"), 0.92), made.equivalence(on("cleo"), 1e-7, 1e-3),
    )  # fmt: skip
    rows = [
        {"model": "digits", "target": name, "precision": "fp32", "inputs_per_s": rate}
        for name, rate in (("ada", 600.0), ("bob", 500.0), ("cleo", 90.0))
    ]
    predictions = tmp_path / "predictions.json"
    predictions.write_text(json.dumps({"predictions": rows}))
    said = choose(project, first, second, str(predictions), "--max-power", "8W", "--against", "throughput")
    by_name = {one["name"]: one for one in said["candidates"]}
    assert set(by_name) == {
        "tvm fp32 on ada", "emx fp32 on ada", "tvm fp32 on ada, batch 8", "tvm fp32 on bob", "tvm fp32 on cleo",
    }  # fmt: skip
    assert by_name["tvm fp32 on bob"]["figures"]["power"]["value"] == 6.5, "what was measured counts"
    assert by_name["emx fp32 on ada"]["state"] == "removed" and by_name["emx fp32 on ada"]["status"] == "mismatch"
    assert (
        by_name["tvm fp32 on ada, batch 8"]["figures"]["accuracy"] == by_name["tvm fp32 on ada"]["figures"]["accuracy"]
    )
    cleo = by_name["tvm fp32 on cleo"]["figures"]
    assert (cleo["throughput"]["basis"], cleo["accuracy"]["basis"], cleo["accuracy"]["value"]) == (
        "predicted", "measured elsewhere", 0.9,
    )  # fmt: skip
    assert said["predicted_front"]["candidates"] >= 2 and said["predicted_front"]["recall"] == 1.0


WRONG = {
    ("--max-latency", "10"): "--max-latency: '10': the unit is missing; write one of s, ms",
    ("--max-memory", "64Mb"): "--max-memory: '64Mb': Mb is no unit of a size in bytes; b stands for bits",
    ("--require", "os"): "--require: 'os' is not NAME=VALUE",
    ("--require", "colour=red"): "--require: no candidate has 'colour'; valid are:",
    ("--weights", "speed=1"): "--weights: 'speed' is no quantity",
    ("--models", "other"): "--models: nothing is known of 'other'; valid are: net",
    ("--picture", "x.png"): "--picture: x.png ends neither with .svg nor with .json",
    ("nothing.jsonl",): "nothing.jsonl: neither a results file nor a run id",
}


@pytest.mark.parametrize("arguments", WRONG, ids=" ".join)
def test_what_is_wrong_is_a_message(project: Project, arguments: tuple[str, ...]) -> None:
    done = project.bench("choose", *arguments)
    assert done.returncode == 2 and WRONG[arguments] in done.stderr, done.stderr
    assert "Traceback" not in done.stderr


def test_several_models_are_refused_unless_they_are_named(project: Project, tmp_path: Path) -> None:
    rows = write_rows(tmp_path / "two.jsonl", made.timing(made.axes("a"), 0.1), made.timing(made.axes("b"), 0.2))
    refused = project.bench("choose", rows)
    assert refused.returncode == 2 and "the files are of 2 models (a, b)" in refused.stderr
    said = choose(project, rows, "--models", "a,b")
    assert [one["name"] for one in said["candidates"]] == ["a tvm fp32 on local", "b tvm fp32 on local"]
