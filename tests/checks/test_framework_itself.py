"""The framework itself as a compiler, with a real framework: what its row says of sizes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from bench_plugin.reach.environments.toolchains import Toolchains
from tests.project import rows_of_suites


def equivalence(folder: Path, framework: str, models: str, precision: str) -> list[dict[str, Any]]:
    """The rows of the framework's own models, run by the framework itself; skips the test without the toolchains."""
    for name in (framework, "onnxruntime"):
        if not Toolchains().folder(name).is_dir():
            pytest.skip(f"the toolchain {name} is not made: bench env sync {name}")
    return rows_of_suites(
        folder, "suites/equivalence", f"--models={models}", "--compilers=native", f"--precisions={precision}",
        f"--frameworks={framework}", "--targets=local",
    )  # fmt: skip


def test_the_framework_itself_takes_other_sizes_than_those_it_was_built_for(tmp_path: Path) -> None:
    found = equivalence(tmp_path, "pytorch", "lstm", "fp32")
    assert [(row["status"], row["numbers"]["dynamic"]) for row in found] == [("supported", "preserved")]
    assert [row["placement"]["effective"] for row in found] == ["fp32"], "what the run says is in the row, too"


def test_a_contraction_that_mxnet_keeps_in_float32_is_no_run_in_bfloat16(tmp_path: Path) -> None:
    rows = {row["cell"]["model"]: row for row in equivalence(tmp_path, "mxnet", "lstm,digits_cnn", "bf16")}
    assert (rows["lstm"]["status"], rows["lstm"]["stage"], rows["lstm"]["reason"]) == (
        "unsupported", "compile", "asked bf16, ran bf16 and fp32: MXNet's AMP keeps RNN in float32",
    )  # fmt: skip
    assert rows["digits_cnn"]["status"] == "supported" and rows["digits_cnn"]["placement"]["effective"] == "bf16"


def test_without_an_exported_file_a_framework_itself_says_what_that_is_needed_for(tmp_path: Path) -> None:
    found = equivalence(tmp_path, "tensorflow", "transformer", "fp32")
    assert [(row["status"], row["unverified"]) for row in found] == [("unverified", "blocked")]
    assert found[0]["reason"].startswith("export failed (noise and mutants are made of its file): ")
