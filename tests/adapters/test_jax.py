"""JAX as a framework: its digits models are exported, compiled, imported again through StableHLO, and judged."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from typing import Any

import pytest

from bench_plugin.reach.environments.toolchains import Toolchains
from tests.docs.fences import ROOT
from tests.project import kept_environment

MODELS = ("digits_cnn", "digits_mlp")


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> list[Mapping[str, Any]]:
    """The rows of round trips and compilations of both models, without what earlier runs left in the cache."""
    toolchains = Toolchains()
    for name in ("jax", "onnxruntime"):
        if not toolchains.ready(name):
            pytest.skip(f"the toolchain {name} is not made: bench env sync {name}")
    results = tmp_path_factory.mktemp("jax") / "results.jsonl"
    command = [sys.executable, "-m", "pytest", "suites/roundtrip", "suites/equivalence", "-q", "-p", "no:cacheprovider"]
    command += [
        "--frameworks",
        "jax",
        "--models",
        ",".join(MODELS),
        "--compilers",
        "onnxruntime",
        "--precisions",
        "fp32",
    ]
    command += ["--bench-results", str(results)]
    done = subprocess.run(command, cwd=ROOT, env=kept_environment(), text=True, capture_output=True, timeout=600)
    assert results.exists(), done.stdout[-3000:] + done.stderr[-3000:]
    return [row for row in map(json.loads, results.read_text("utf-8").splitlines()) if row["kind"] == "cell"]


def of(rows: list[Mapping[str, Any]], check: str, model: str) -> Mapping[str, Any]:
    """The row of one check of a model."""
    (found,) = [row for row in rows if (row["cell"]["check"], row["cell"]["model"]) == (check, model)]
    return found


@pytest.mark.nightly
@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("check", ["export", "equivalence"])
def test_what_it_exports_is_its_own_function(rows: list[Mapping[str, Any]], check: str, model: str) -> None:
    row = of(rows, check, model)
    assert row["status"] == "supported", row["reason"]
    assert row["cell"]["exporter"] == "jax2onnx" and row["numbers"]["dynamic"] == "preserved"
    assert row["numbers"]["E"] < 1e-5


@pytest.mark.nightly
@pytest.mark.parametrize("model", MODELS)
def test_what_it_imports_through_stablehlo_is_the_function_of_the_file(
    rows: list[Mapping[str, Any]], model: str
) -> None:
    row = of(rows, "import", model)
    assert row["status"] == "supported" and row["cell"]["importer"] == "stablehlo", row["reason"]
    assert row["numbers"]["E"] < 1e-5 and row["numbers"]["dynamic"]


def test_it_is_used_where_it_is_named_only() -> None:
    command = [sys.executable, "-m", "pytest", "suites/roundtrip", "-q", "--collect-only", "-p", "no:cacheprovider"]
    command += ["--models", "digits_mlp"]
    done = subprocess.run(command, cwd=ROOT, env=kept_environment(), text=True, capture_output=True, timeout=300)
    assert "pytorch" in done.stdout and "jax" not in done.stdout, done.stdout[-2000:]
