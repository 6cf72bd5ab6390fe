"""Compiled models through the whole plugin, with a compiler of the tests' own."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from bench_plugin.checks.compiled.twice import asked
from bench_plugin.domain.cell import Cell, Check
from bench_plugin.reach.environments.toolchains import Toolchains
from tests.project import Finished, Project

COMPILER = Path(__file__).parent.parent / "fake" / "compiler.py"
FRAMEWORK = Path(__file__).parent.parent / "fake" / "framework.py"
TESTS = """
import pytest

@pytest.mark.bench(check="equivalence")
def test_equivalence(bench_cell):
    bench_cell.verify()
"""


@pytest.fixture
def compiled(project: Project) -> Project:
    """A project with one model, and the fake compiler beside the fake framework."""
    project.write("bench.toml", f'adapters = ["{FRAMEWORK}", "{COMPILER}"]\ntoolchains = ["toolchains"]\n')
    project.write("test_models.py", TESTS)
    project.model("net", seconds=20)
    return project


def run(project: Project, *arguments: str, fault: str = "none") -> Finished:
    return project.run("--compilers=fakec", f"--bench-option=fakec.fault={fault}", *arguments)


def the_row(finished: Finished) -> Mapping[str, Any]:
    rows = [row for row in finished.rows if row["kind"] == "cell"]
    assert len(rows) == 1, finished.text
    return rows[0]


def test_what_is_right_is_supported_and_says_how_it_was_made(compiled: Project) -> None:
    finished = run(compiled, "--precisions=fp32")
    row = the_row(finished)
    assert finished.code == 0 and row["status"] == "supported", finished.text
    assert row["numbers"]["E"] < row["numbers"]["tolerance_E"]
    assert row["artefacts"]["model.onnx"]["bytes"] > 0 and len(row["artefacts"]["model.onnx"]["sha256"]) == 64
    assert row["placement"]["compiled_by"] != row["placement"]["run_by"]
    assert row["placement"]["effective_by_error"] == "fp32" and row["placement"]["backend"] == "plain"
    assert {"compile", "run"} <= set(row["timings"]) and row["peaks"]["compile"] > 0
    assert all(mutant["killed"] for mutant in row["numbers"]["mutants"].values())


def test_every_precision_is_judged_by_its_own_rule(compiled: Project) -> None:
    finished = run(compiled)
    rows = {row["nodeid"].partition("[")[2][:-1].rpartition("fakec")[2]: row for row in finished.rows
            if row["kind"] == "cell"}  # fmt: skip
    assert set(rows) == {"", "-bf16", "-w16", "-w16-own", "-w8a8-qdq", "-w8a8-own"}
    assert rows["-bf16"]["status"] == "supported" and rows["-bf16"]["numbers"]["tolerance_E"] >= 8e-3
    assert rows["-w16"]["numbers"]["truth"] == "file with float16 weights in float64"
    assert rows["-w16"]["status"] == "supported" and rows["-w16"]["numbers"]["approximation"]["sqnr_db"] > 50
    assert rows["-w16-own"]["status"] == "mismatch"  # its weights were not rounded at all
    assert rows["-w8a8-qdq"]["status"] == "supported" and rows["-w8a8-qdq"]["numbers"]["layers"] >= 3
    assert rows["-w8a8-qdq"]["artefacts"]["graph"]["calibration"]["samples"] == 64
    assert rows["-w8a8-own"]["status"] == "supported" and "by approximation" in rows["-w8a8-own"]["flags"]


WRONG = {
    "compile-exception": ("ERROR", "compile", "exception", "RuntimeError: cannot lower node 17"),
    "compile-crash": ("ERROR", "compile", "crash", "SIGABRT"),
    "compile-megabyte": ("ERROR", "compile", "exception", "RuntimeError"),
    "compile-disk": ("ERROR", "compile", "exception", "File too large"),
    "skew": ("version skew", "compile", "version-skew", "opset 17"),
    "run-crash": ("ERROR", "run", "crash", "SIGABRT"),
    "run-wrong": ("mismatch", "compare", "mismatch", "E "),
    "run-bf16": ("mismatch", "compare", "mismatch", "looks like wbf16"),
    "run-nan": ("mismatch", "compare", "mismatch", "NaN"),
    "run-shape": ("mismatch", "compare", "mismatch", "shape"),
}


@pytest.mark.parametrize("fault", WRONG)
def test_what_goes_wrong_has_its_stage_and_symptom(compiled: Project, fault: str) -> None:
    status, stage, symptom, reason = WRONG[fault]
    finished = run(compiled, "--precisions=fp32", fault=fault)
    row = the_row(finished)
    assert (row["status"], row["stage"]) == (status, stage), finished.text
    assert row["symptom"] == symptom and reason in row["reason"]
    assert len(finished.text) < 20_000
    assert finished.code == (0 if status == "version skew" else 1)


@pytest.mark.parametrize("precision", ["fp32", "bf16"])
def test_a_result_that_is_wrong_altogether_looks_like_no_precision(compiled: Project, precision: str) -> None:
    row = the_row(run(compiled, f"--precisions={precision}", fault="run-opposite"))
    assert row["status"] == "mismatch" and row["numbers"]["E"] >= 1
    assert "looks like" not in row["reason"]
    assert not row["placement"].get("effective_by_error")


def test_a_mismatch_of_a_used_process_alone_does_not_count(compiled: Project) -> None:
    compiled.model("other", seconds=20)
    finished = run(compiled, "--precisions=fp32", fault="run-leaks")
    rows = [row for row in finished.rows if row["kind"] == "cell"]
    assert [row["status"] for row in rows] == ["supported", "supported"], finished.text
    assert sorted(row["flags"] for row in rows) == [[], ["harness: state carried over"]]
    assert sorted(bool(row["retry"].get("mismatch")) for row in rows) == [False, True]


def twice(project: Project, fault: str) -> Mapping[str, Any]:
    """The row of a cell of profile full, in which every cell is computed twice."""
    project.write("bench.toml", (project.folder / "bench.toml").read_text() + 'environment = ["FAKE_*"]\n')
    project.environment["FAKE_COUNTER"] = str(project.folder / "counter")
    finished = run(project, "--precisions=fp32", "--bench-profile=full", "--targets=local", fault=fault)
    return the_row(finished)


def test_the_same_bits_twice_are_deterministic(compiled: Project) -> None:
    row = twice(compiled, "none")
    assert (row["status"], row["numbers"]["deterministic"]) == ("supported", True)
    assert row["numbers"]["artefact_same_twice"] is None


def test_other_bits_within_the_tolerance_are_noted_and_supported(compiled: Project) -> None:
    row = twice(compiled, "run-jitters")
    assert (row["status"], row["numbers"]["deterministic"]) == ("supported", False)
    assert row["numbers"]["artefact_same_twice"] is True


def test_results_that_leave_the_tolerance_now_and_then_are_nondeterministic(compiled: Project) -> None:
    row = twice(compiled, "run-varies")
    assert (row["status"], row["stage"], row["symptom"]) == ("mismatch", "compare", "nondeterministic")
    assert "the first agrees (E " in row["reason"] and "the second is wrong (E " in row["reason"]
    assert row["numbers"]["deterministic"] is False


def test_an_expectation_can_name_what_is_nondeterministic(compiled: Project) -> None:
    expected = 'check = "equivalence"\nmodel = "net"\ncompiler = "fakec"\nstage = "compare"\n'
    expected += 'symptom = "nondeterministic"\nreason = "it reads memory that nobody wrote"\n'
    compiled.write("expectations/known.toml", f"[[expectation]]\n{expected}")
    compiled.write("bench.toml", (compiled.folder / "bench.toml").read_text() + 'expectations = ["expectations"]\n')
    assert twice(compiled, "run-varies")["result"] == "xfailed"


def test_a_sample_of_cells_is_computed_twice_and_is_always_the_same() -> None:
    cells = [Cell(Check.EQUIVALENCE, f"model{number}", "pytorch", compiler="tvm") for number in range(400)]
    chosen = [cell for cell in cells if asked(cell, "quick")]
    assert 20 <= len(chosen) <= 100 and chosen == [cell for cell in cells if asked(cell, "quick")]
    assert all(asked(cell, "full") for cell in cells)


def test_a_compiler_that_hangs_is_ended(compiled: Project) -> None:
    compiled.model("net", seconds=2)
    finished = run(compiled, "--precisions=fp32", fault="compile-hang")
    said = r"stage compile took longer than 8 s on the clock: \d+\.\d s, and 0\.\d s of processor time, of which it may"
    assert the_row(finished)["symptom"] == "timeout" and re.search(said, finished.text), finished.text


def test_a_compiler_that_computes_without_end_is_ended_by_its_processor_time(compiled: Project) -> None:
    compiled.model("net", seconds=2)
    finished = run(compiled, "--precisions=fp32", fault="compile-spin")
    said = r"stage compile took longer than 2 s of processor time: \d+\.\d s, and \d+\.\d s on the clock"
    assert the_row(finished)["symptom"] == "timeout" and re.search(said, finished.text), finished.text


def test_the_time_that_a_compiler_waits_is_not_taken_from_its_seconds(compiled: Project) -> None:
    compiled.model("net", seconds=2)
    row = the_row(run(compiled, "--precisions=fp32", fault="compile-pause"))
    assert row["status"] == "supported" and row["timings"]["compile"] >= 3


def test_orphans_of_a_compiler_do_not_outlive_the_run(compiled: Project) -> None:
    assert the_row(run(compiled, "--precisions=fp32", fault="compile-orphan"))["status"] == "supported"
    found = subprocess.run(["pgrep", "-f", "sleep 613"], capture_output=True, text=True, check=False)
    assert found.stdout == ""


def test_what_a_compiler_writes_beside_itself_stays_in_the_agents_folder(compiled: Project) -> None:
    assert the_row(run(compiled, "--precisions=fp32", fault="compile-outside"))["status"] == "supported"
    assert not list(compiled.folder.rglob("stray.txt"))


def test_a_precision_that_reads_back_differently_is_unsupported(compiled: Project) -> None:
    row = the_row(run(compiled, "--precisions=bf16", fault="other-precision"))
    assert (row["status"], row["stage"], row["reason"]) == ("unsupported", "compile", "asked bf16, ran fp32")


def test_quantised_layers_are_judged_one_by_one(compiled: Project) -> None:
    rows = run(compiled, "--precisions=w8a8", fault="run-steps").rows
    [row] = [row for row in rows if row["kind"] == "cell" and row["cell"].get("graph") == "qdq"]
    assert row["status"] == "mismatch" and row["reason"].startswith("layer ")
    assert 6.5 <= row["numbers"]["worst_steps"] <= 7.5


def quantised(compiled: Project, fault: str) -> Mapping[str, Any]:
    rows = run(compiled, "--precisions=w8a8", fault=fault).rows
    [row] = [row for row in rows if row["kind"] == "cell" and row["cell"].get("graph") == "qdq"]
    return row


def test_layers_that_are_wrong_only_apart_are_judged_within_the_model(compiled: Project) -> None:
    row = quantised(compiled, "wrong-apart")
    assert row["status"] == "supported", row["reason"]
    [flag] = [flag for flag in row["flags"] if "within the model" in flag]
    assert flag.startswith("layers are compared within the model; compiled apart: layer ")
    assert row["numbers"]["worst_steps"] <= 0.51 and row["numbers"]["mutants"]


def test_layers_that_no_result_of_the_model_shows_prove_nothing(compiled: Project) -> None:
    row = quantised(compiled, "wrong-exposed")
    assert (row["status"], row["unverified"]) == ("unverified", "no reference"), row["reason"]
    assert "exposing the tensors of the model changes its result" in row["reason"]


def test_what_only_simulates_integers_says_so(compiled: Project) -> None:
    rows = [row for row in run(compiled, "--precisions=int8", fault="simulated").rows if row["kind"] == "cell"]
    assert len(rows) == 2 and all("simulated" in row["flags"] for row in rows)


def test_an_artefact_for_another_target_is_checked_and_not_run(compiled: Project) -> None:
    row = the_row(run(compiled, "--precisions=fp32", "--targets=aarch64"))
    assert row["status"] == "unverified" and row["reason"].startswith(
        "not run: compiled, the artefact is for aarch64; "
    )
    assert row["artefacts"]["kernel.o"]["machine"] == "AArch64" and "run" not in row["timings"]
    row = the_row(run(compiled, "--precisions=fp32", "--targets=aarch64", fault="wrong-machine"))
    assert (row["status"], row["symptom"]) == ("ERROR", "invalid-model")
    assert row["reason"] == "kernel.o is for x86-64, not for AArch64"


def test_what_a_compiler_does_not_offer_is_declared(compiled: Project) -> None:
    finished = run(compiled, "--precisions=fp16,fp32", "--targets=riscv64,local")
    declared = {row["reason"] for row in finished.rows if row["kind"] == "declared"}
    assert declared == {
        "fakec offers fp32, bf16, w16, w8a8; asked for fp16", "fakec compiles for local, aarch64; asked for riscv64",
    }  # fmt: skip


def test_a_missing_executable_is_a_skip_that_names_it(compiled: Project) -> None:
    text = COMPILER.read_text().replace('"on_request": True,', '"on_request": True,\n    "needs": ["no-such-cc"],')
    path = compiled.write("needy.py", text)
    compiled.write("bench.toml", f'adapters = ["{FRAMEWORK}", "{path}"]\ntoolchains = ["toolchains"]\n')
    row = the_row(run(compiled, "--precisions=fp32"))
    assert (row["status"], row["reason"]) == ("Not provided", "no-such-cc not found; install no-such-cc")


def test_a_compiler_with_its_own_cross_compiler_needs_executables_for_this_machine_only(compiled: Project) -> None:
    needy = '"on_request": True,\n    "needs": ["no-such-cc"], "own_cross_compiler": True,'
    path = compiled.write("needy.py", COMPILER.read_text().replace('"on_request": True,', needy))
    compiled.write("bench.toml", f'adapters = ["{FRAMEWORK}", "{path}"]\ntoolchains = ["toolchains"]\n')
    rows = [row for row in run(compiled, "--precisions=fp32", "--targets=local,aarch64").rows if row["kind"] == "cell"]
    found = {row["cell"]["target"]: row["reason"] for row in rows}
    assert found["local"] == "no-such-cc not found; install no-such-cc"
    assert found["aarch64"].startswith("not run: compiled")


USAGE = {
    "--bench-option=fakec.nope=1": "fakec has no option 'nope'; it has: fault",
    "--bench-option=fakec.fault=nope": "fakec.fault is 'nope'; valid are: none",
    "--bench-option=gcc.fault=none": "unknown compiler 'gcc'",
    "--bench-option=fakec": "is not COMPILER.NAME=VALUE",
    "--bench-calibration=guess": "unknown name 'guess'; valid are: minmax, entropy, percentile",
    "--compilers=fakec[dull]": "unknown backend of fakec 'dull'; valid are: plain, shiny",
}


@pytest.mark.parametrize("option", USAGE)
def test_a_wrong_option_is_a_usage_error(compiled: Project, option: str) -> None:
    arguments = [option] if option.startswith("--compilers") else ["--compilers=fakec", option]
    finished = compiled.run(*arguments)
    assert finished.code == 4 and USAGE[option] in finished.text


def test_another_seed_is_another_model_on_other_inputs(compiled: Project) -> None:
    rows = [the_row(run(compiled, "--precisions=fp32", f"--bench-seed={seed}")) for seed in (0, 1)]
    assert [row["settings"]["seed"] for row in rows] == [0, 1]
    assert rows[0]["key"] != rows[1]["key"] and rows[1]["stages_cached"] == []
    assert rows[0]["numbers"]["E"] != rows[1]["numbers"]["E"]


def test_a_backend_is_an_axis(compiled: Project) -> None:
    row = the_row(compiled.run("--compilers=fakec[shiny]", "--precisions=fp32"))
    assert row["cell"]["compiler"] == "fakec[shiny]" and row["placement"]["backend"] == "shiny"


def test_the_page_of_compiled_models_is_written(compiled: Project) -> None:
    run(compiled)
    page = (compiled.folder / "reports/equivalence.md").read_text()
    assert "| Model net | w8a8 (qdq) | supported |" in page
    details = (compiled.folder / "reports/equivalence-fakec.md").read_text()
    assert "| Model net | fake (fakeout) | w8a8 (qdq) | supported |" in details
    for heading in ("Semantic preservation", "Formats and precisions by compiler", "Hardware by compiler", "Mutants"):
        assert f"## {heading}" in page
    [heads] = [line for line in page.splitlines() if line.startswith("|  | ") and "Fake compiler" in line]
    column = heads.split(" | ").index("Fake compiler") if " | Fake compiler | " in heads else -1
    [w8a8] = [line for line in page.splitlines() if line.startswith("| w8a8 | ")]
    assert w8a8.strip("| ").split(" | ")[column].strip() == "D P"


def test_what_was_compiled_comes_from_the_cache(compiled: Project) -> None:
    run(compiled, "--precisions=fp32")
    row = the_row(run(compiled, "--precisions=fp32"))
    assert {"export", "compile", "run", "evaluate"} <= set(row["stages_cached"])
    row = the_row(run(compiled, "--precisions=fp32", fault="run-wrong"))
    assert "export" in row["stages_cached"] and "compile" not in row["stages_cached"]


def test_a_compiled_cell_is_repeated_alone(compiled: Project) -> None:
    run(compiled, fault="run-shape")
    rows = [row for row in compiled.rows() if row["kind"] == "cell" and row["cell"].get("graph") == "qdq"]
    done = compiled.bench("repro", rows[0]["key"])
    assert done.returncode == 1 and "1 failed" in done.stdout, done.stdout
    assert "w8a8-qdq" in done.stdout


BAD = ("truncated", "cycle", "not-onnx", "no-external-data")


@pytest.mark.parametrize("bad", BAD)
def test_a_bad_file_is_an_invalid_model(compiled: Project, bad: str) -> None:
    path = write_bad(compiled.folder / f"{bad}.onnx", bad)
    row = the_row(compiled.run("--compilers=fakec", "--precisions=fp32", f"--bench-onnx={path}"))
    assert (row["status"], row["stage"], row["symptom"]) == ("ERROR", "check", "invalid-model")


def write_bad(path: Path, bad: str) -> Path:
    """A file that cannot be compiled, made in the environment that has onnx."""
    script = """
import sys
import numpy as np, onnx
from onnx import helper as h
path, bad = sys.argv[1:]
value = lambda name: h.make_tensor_value_info(name, 1, ["n", 4])
nodes = [h.make_node("Add", ["x", "b"], ["a"]), h.make_node("Relu", ["a"], ["b"])] if bad == "cycle" else [
    h.make_node("MatMul", ["x", "w"], ["b"])]
weight = onnx.numpy_helper.from_array(np.ones((4, 4), np.float32), "w")
model = h.make_model(h.make_graph(nodes, "g", [value("x")], [value("b")], [weight]),
                     opset_imports=[h.make_opsetid("", 17)], ir_version=8)
if bad == "no-external-data":
    tensor = model.graph.initializer[0]
    tensor.ClearField("raw_data")
    tensor.data_location = onnx.TensorProto.EXTERNAL
    tensor.external_data.add(key="location", value="weights.bin")
data = model.SerializeToString()
open(path, "wb").write({"truncated": data[:-30], "not-onnx": b"PK" + bytes(99)}.get(bad, data))
"""
    subprocess.run([str(Toolchains().ensure("onnxruntime")), "-c", script, str(path), bad], check=True)
    return path
