"""Known failures of operator cases: their reasons are words of this project, and their links lead to a finding."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "suites/expectations/operators"
BACKENDS = ("mnn", "ncnn", "openvino", "reference", "tflite", "tract")
NOT_ANALYSED = "not analysed"
MOST = 80  # rows of these backends that may say so
# What is left of a tool's message once its names, lists and numbers are crossed out: '...', [...], N.
CROSSED_OUT = re.compile(r"'\.\.\.'|\[\.\.\.\]|\bN\b|floatN|intN|[A-Za-z]+Error: ")


def rows(backend: str) -> list[dict[str, Any]]:
    """The rows of one backend's file."""
    found: list[dict[str, Any]] = tomllib.loads((FOLDER / f"{backend}.toml").read_text("utf-8"))["expectation"]
    return found


@pytest.mark.parametrize("backend", BACKENDS)
def test_no_reason_is_a_message_with_its_words_crossed_out(backend: str) -> None:
    assert [row["reason"] for row in rows(backend) if CROSSED_OUT.search(row["reason"])] == []


def test_few_rows_say_that_nobody_looked() -> None:
    silent = [(backend, row["model"]) for backend in BACKENDS for row in rows(backend) if row["reason"] == NOT_ANALYSED]
    assert len(silent) <= MOST, silent


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_link_is_a_finding_of_ours_or_a_thread(backend: str) -> None:
    links = [row["link"] for row in rows(backend) if row.get("link")]
    lost = [link for link in links if not link.startswith("https://github.com/") and not (ROOT / link).is_file()]
    assert links
    assert lost == []


def test_the_reference_evaluator_has_the_package_that_decodes_images() -> None:
    # ONNX's ImageDecoder is written with Pillow; without it nine cases said that a package is missing.
    lock = (ROOT / "bench_plugin/toolchains/onnxruntime.lock").read_text("utf-8")
    assert re.search(r"^pillow==", lock, re.MULTILINE)
    cases = {case for row in rows("reference") for case in row["model"]}
    assert not {case for case in cases if case.startswith("test_image_decoder_")}
