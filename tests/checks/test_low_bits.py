"""Models and operator cases of few bits through the whole plugin, with a compiler of the tests' own."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.project import Finished, Project

FAKE = Path(__file__).parent.parent / "fake"
TESTS = """
import pytest

@pytest.mark.bench(check="equivalence")
def test_equivalence(bench_cell):
    bench_cell.verify()

@pytest.mark.bench(check="operator")
def test_operator(bench_cell):
    bench_cell.verify()
"""
PRECISIONS = '"w8a8": ["qdq", "original"],'
FEW_BITS = """"w8a8": ["qdq"], "w8": ["weights"], "w4": ["weights"], "w4a8": ["qdq"],
        "int4": ["weights", "qdq", "fixed", "fixed-qdq", "kmeans"], "int2": ["weights", "qdq"],
        "uint4": ["weights", "qdq"], "uint2": ["weights"],
"""
ROUNDED = """given = call.named(evaluator.input_names)
        if fault == "simulated":  # rounds activations that nothing asked it to round
            given = {name: np.rint(x * 64).astype(x.dtype) / 64 if x.dtype == np.float32 else x
                     for name, x in given.items()}
"""


@pytest.fixture
def compiled(project: Project) -> Project:
    """A project whose compiler takes files of few bits, and says that it holds int4 in a wider carrier."""
    source = (FAKE / "compiler.py").read_text("utf-8")
    for before, after in (
        (PRECISIONS, FEW_BITS),
        ("given = call.named(evaluator.input_names)\n", ROUNDED),
        ('"targets": ["local", "aarch64"],', '"targets": ["local"], "operators": True,'),
        (
            '"backend": call.backend}',
            '"backend": call.backend, **({"emulated": "yes"} if call.precision == "int4" else {})}',
        ),
    ):
        assert source.count(before) == 1, before
        source = source.replace(before, after)
    project.write("few_bits.py", source)
    project.write("bench.toml", f'adapters = ["{FAKE / "framework.py"}", "few_bits.py"]\ntoolchains = ["toolchains"]\n')
    project.write("test_models.py", TESTS)
    project.model("net", seconds=20)
    return project


def rows_of(finished: Finished) -> Mapping[str, Any]:
    """The rows by precision and graph, or by the name of the case for operators."""
    found = {}
    for row in finished.rows:
        if row["kind"] == "cell":
            cell = row["cell"]
            name = cell["model"] if row["check"] == "operator" else f"{cell['precision']} {cell['graph']}"
            found[name] = row
    return found


def models(project: Project, precisions: str, fault: str = "none") -> Finished:
    options = (f"--bench-option=fakec.fault={fault}", f"--precisions={precisions}")
    return project.run("--compilers=fakec", *options, "-k", "test_equivalence")


def test_every_graph_of_few_bits_is_judged_against_itself(compiled: Project) -> None:
    finished = models(compiled, "w4,w4a8,int4,uint4,int2,uint2")
    rows = rows_of(finished)
    weights = {f"{name} weights" for name in ("w4", "int4", "uint4", "int2", "uint2")}
    layers = {f"{name} qdq" for name in ("w4a8", "int4", "uint4", "int2")}
    assert set(rows) == weights | layers | {"int4 fixed", "int4 fixed-qdq", "int4 kmeans"}
    assert {name: row["reason"] for name, row in rows.items() if row["status"] != "supported"} == {}, finished.text
    for name in weights | {"int4 fixed", "int4 kmeans"}:
        numbers = rows[name]["numbers"]
        assert numbers["truth"].startswith("file with") and numbers["E"] <= numbers["tolerance_E"] <= 1e-3
        assert numbers["approximation"]["sqnr_db"] < 40  # the weights were rounded
        said = rows[name]["artefacts"]["graph"]["weights"]
        assert said["layers"] > 0 and said["bytes"] > 0 and 0 < said["error"] < 1
    for name in layers:
        assert rows[name]["numbers"]["layers"] > 0 and rows[name]["numbers"]["layers_wrong"] == 0
    assert rows["int4 weights"]["artefacts"]["graph"]["operators"]["DequantizeLinear"] > 0
    assert rows["int4 kmeans"]["artefacts"]["graph"]["operators"]["Gather"] > 0
    errors = {name: rows[name]["artefacts"]["graph"]["weights"]["error"] for name in ("int4 weights", "int2 weights")}
    assert errors["int4 weights"] < errors["int2 weights"]
    book = rows["int4 kmeans"]["artefacts"]["graph"]["weights"]
    assert book["error"] <= book["uniform_error"]


def test_in_fixed_point_throughout_activations_and_biases_are_rounded_too(compiled: Project) -> None:
    row = rows_of(models(compiled, "int4"))["int4 fixed-qdq"]
    assert row["status"] == "supported", row["reason"]
    graph = row["artefacts"]["graph"]
    layers = graph["weights"]["layers"]
    assert graph["operators"]["QuantizeLinear"] == layers, "the input of every layer"
    assert graph["operators"]["DequantizeLinear"] == 3 * layers, "inputs, weights and biases"
    assert graph["calibration"]["method"] == "minmax" and graph["calibration"]["samples"] > 0
    assert row["numbers"]["end_to_end"][0]["within_one_step"] == 1.0


def test_weight_only_files_of_8_bits_are_planned_where_they_are_asked_for(compiled: Project) -> None:
    row = rows_of(models(compiled, "w8"))["w8 weights"]
    assert row["status"] == "supported", row["reason"]
    assert row["numbers"]["truth"] == "file with int8 weights in float64"
    assert row["placement"]["emulated"] == "unknown"
    assert row["artefacts"]["graph"]["weights"]["bytes"] > 0
    assert row["numbers"]["approximation"]["sqnr_db"] > 30
    planned = compiled.run("--compilers=fakec", "--collect-only", "-q", "-k", "test_equivalence").text
    assert "fakec-w8a8-qdq]" in planned and "fakec-w8-weights]" not in planned


def test_what_is_held_in_a_wider_carrier_is_marked_and_what_is_not_known_is_said(compiled: Project) -> None:
    rows = rows_of(models(compiled, "int4,int2"))
    assert rows["int4 weights"]["placement"]["emulated"] == "yes" and "emulated" in rows["int4 weights"]["flags"]
    assert rows["int2 weights"]["placement"]["emulated"] == "unknown" and rows["int2 weights"]["flags"] == []


def test_activations_that_are_rounded_unasked_are_a_mismatch(compiled: Project) -> None:
    row = rows_of(models(compiled, "w4", fault="simulated"))["w4 weights"]
    assert (row["status"], row["stage"]) == ("mismatch", "compare")


def test_operator_cases_of_few_bits_run_at_their_precision(compiled: Project) -> None:
    names = "low_bits_matmul_int4_*,low_bits_conv_uint2_block_*"
    finished = compiled.run(
        "--compilers=fakec", "--precisions=int4,uint2", f"--bench-cases={names}", "-k", "test_operator"
    )
    rows = rows_of(finished)
    assert len(rows) == 3 * 2 + 2, finished.text
    assert {name: row["reason"] for name, row in rows.items() if row["status"] != "supported"} == {}
    row = rows["low_bits_matmul_int4_block_weights"]
    assert row["cell"]["precision"] == "int4" and row["cell"]["graph"] == "weights"
    assert row["numbers"]["category"] == "low-bits" and row["placement"]["emulated"] == "yes"
    # This compiler offers uint2 for weights alone: the other case is given to it as any file, and it says nothing.
    assert rows["low_bits_conv_uint2_block_both"]["placement"]["emulated"] == "unknown"


def test_an_operator_case_whose_activations_are_rounded_unasked_is_a_mismatch(compiled: Project) -> None:
    options = ("--precisions=w4", "--bench-cases=low_bits_*", "--bench-option=fakec.fault=simulated")
    finished = compiled.run("--compilers=fakec", *options, "-k", "test_operator")
    rows = rows_of(finished)
    assert set(rows) == {f"low_bits_{name}_int4_block_weights" for name in ("matmul", "gemm", "conv")}
    assert {row["status"] for row in rows.values()} == {"mismatch"}, finished.text


@pytest.mark.parametrize(
    ("option", "weights", "both"),
    [
        ("exact", ("supported", None), ("supported", None)),
        ("default", ("mismatch", "mismatch"), ("ERROR", "exception")),
    ],
)
def test_onnxruntime_is_set_so_that_it_is_right_and_its_defaults_can_be_seen(
    compiled: Project, option: str, weights: tuple[str, str | None], both: tuple[str, str | None]
) -> None:
    names = ("low_bits_matmul_int4_block_weights", "low_bits_matmul_int2_channel_both")
    finished = compiled.run(
        "--compilers=onnxruntime", "--precisions=int4,int2", f"--bench-cases={','.join(names)}",
        f"--bench-option=onnxruntime.few_bits={option}", "-k", "test_operator",
    )  # fmt: skip
    rows = rows_of(finished)
    assert [(rows[name]["status"], rows[name]["symptom"]) for name in names] == [weights, both], finished.text
    if option == "exact":  # read back from the graph that it runs
        assert [rows[name]["placement"]["emulated"] for name in names] == ["no", "yes"]
        assert rows[names[0]]["placement"]["carriers"] == {"int4": 1}


def test_a_qonnx_file_is_a_model(compiled: Project) -> None:
    path = Path(__file__).parents[2] / "fixtures/models/qonnx/layer_w3a4.onnx"
    finished = compiled.run("--compilers=fakec", "--precisions=fp32", f"--bench-onnx={path}", "-k", "test_equivalence")
    [row] = [row for row in finished.rows if row["kind"] == "cell"]
    assert row["status"] == "supported", finished.text
    assert row["artefacts"]["qonnx"] == {"quant_nodes": {"3 bits": 1, "4 bits": 1}, "carrier": "int8"}
    assert "QONNX, in a carrier of 8 bits" in row["flags"]
