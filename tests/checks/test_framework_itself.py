"""The framework itself as a compiler, with a real framework: what its row says of sizes."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench_plugin.reach.environments.toolchains import Toolchains
from tests.project import rows_of_suites


def test_the_framework_itself_takes_other_sizes_than_those_it_was_built_for(tmp_path: Path) -> None:
    if not Toolchains().folder("pytorch").is_dir():
        pytest.skip("the toolchain pytorch is not made: bench env sync pytorch")
    found = rows_of_suites(
        tmp_path, "suites/equivalence", "--models=lstm", "--compilers=native", "--precisions=fp32",
        "--frameworks=pytorch", "--targets=local",
    )  # fmt: skip
    assert [(row["status"], row["numbers"]["dynamic"]) for row in found] == [("supported", "preserved")]
    assert [row["placement"]["effective"] for row in found] == ["fp32"], "what the run says is in the row, too"


def test_a_contraction_that_mxnet_keeps_in_float32_is_no_run_in_bfloat16(tmp_path: Path) -> None:
    if not all(Toolchains().folder(name).is_dir() for name in ("mxnet", "onnxruntime")):
        pytest.skip("the toolchains mxnet and onnxruntime are not made: bench env sync mxnet onnxruntime")
    found = rows_of_suites(
        tmp_path, "suites/equivalence", "--models=lstm,digits_cnn", "--compilers=native", "--precisions=bf16",
        "--frameworks=mxnet", "--targets=local",
    )  # fmt: skip
    rows = {row["cell"]["model"]: row for row in found}
    assert (rows["lstm"]["status"], rows["lstm"]["stage"], rows["lstm"]["reason"]) == (
        "unsupported", "compile", "asked bf16, ran bf16 and fp32: MXNet's AMP keeps RNN in float32",
    )  # fmt: skip
    assert rows["digits_cnn"]["status"] == "supported" and rows["digits_cnn"]["placement"]["effective"] == "bf16"


def test_without_an_exported_file_a_framework_itself_says_what_that_is_needed_for(tmp_path: Path) -> None:
    if not all(Toolchains().folder(name).is_dir() for name in ("tensorflow", "onnxruntime")):
        pytest.skip("the toolchains tensorflow and onnxruntime are not made: bench env sync tensorflow onnxruntime")
    found = rows_of_suites(
        tmp_path, "suites/equivalence", "--models=transformer", "--compilers=native", "--precisions=fp32",
        "--frameworks=tensorflow", "--targets=local",
    )  # fmt: skip
    assert [(row["status"], row["unverified"]) for row in found] == [("unverified", "blocked")]
    assert found[0]["reason"].startswith("export failed (noise and mutants are made of its file): ")
