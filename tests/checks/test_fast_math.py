"""A mismatch by fast arithmetic says what the tool gives by the option that makes its arithmetic exact."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from bench_plugin.checks.equivalence.fast_math import with_exact
from bench_plugin.compare.verdict import MISMATCH, Comparison
from bench_plugin.reach.environments.toolchains import Toolchains
from tests.checks.test_equivalence import COMPILER, FRAMEWORK, compiled, run, the_row
from tests.checks.test_rounded_constants import MAKE
from tests.given_file import EQUIVALENCE, compiles, write_file
from tests.project import Project

__all__ = ["compiled"]  # a fixture
EXACT = "--bench-option fakec.arithmetic=exact"
# How the fault of the compiler depends on the option that is declared as the exact one.
WRONG_IF_FAST = 'call.options["fault"] if call.options["arithmetic"] == "fast" else "none"'
FAILS_IF_EXACT = 'call.options["fault"] if call.options["arithmetic"] == "fast" else "run-crash"'
WRONG_ALWAYS = 'call.options["fault"]'


def fast(project: Project, fault: str, declared: str) -> Project:
    """The project, whose compiler has fast arithmetic, the lines ``declared`` and a fault by this expression."""
    text = COMPILER.read_text().replace('"options": {', declared + '"options": {"arithmetic": ["fast", "exact"],')
    project.write("fast.py", text.replace('return call.options["fault"]', f"return {fault}"))
    adapters = f'adapters = ["{FRAMEWORK}", "{project.folder / "fast.py"}"]'
    project.write("bench.toml", f'{adapters}\ntoolchains = ["toolchains"]\n')
    return project


def judged(project: Project, fault: str, *arguments: str, declared: str = "") -> Mapping[str, Any]:
    declared = declared or '"loose": ["fp32"], "exact": {"arithmetic": "exact"}, '
    row = the_row(run(fast(project, fault, declared), "--precisions=fp32", *arguments, fault="run-wrong"))
    assert row["status"] == "mismatch", row["reason"]
    return row


def test_the_reason_says_that_exact_arithmetic_agrees(compiled: Project) -> None:
    row = judged(compiled, WRONG_IF_FAST)
    reason, said = row["reason"].split(f"; with {EXACT} ")
    assert reason.startswith("out0: E ") and said.startswith("it agrees (E ")
    assert float(said[len("it agrees (E ") : -1]) < 1e-6 < row["numbers"]["E"]


def test_the_reason_says_that_exact_arithmetic_is_wrong_as_well(compiled: Project) -> None:
    assert f"; with {EXACT} it is wrong as well (E " in judged(compiled, WRONG_ALWAYS)["reason"]


def test_exact_arithmetic_that_fails_is_a_flag(compiled: Project) -> None:
    row = judged(compiled, FAILS_IF_EXACT)
    assert EXACT not in row["reason"]
    assert [flag for flag in row["flags"] if flag.startswith(f"with {EXACT} it fails: crash: ")]


def test_wrong_constants_are_no_fast_arithmetic() -> None:
    """Nothing is run again: there is no run here, nor models."""
    nothing: Any = None
    reason = "converter: weight of Conv up to 3 steps from w of the file; out0: E 1e-3 > 1e-5"
    assert with_exact(nothing, nothing, nothing, Comparison(MISMATCH, reason), nothing).reason == reason


def test_what_was_computed_exactly_is_not_computed_again(compiled: Project) -> None:
    assert EXACT not in judged(compiled, WRONG_ALWAYS, "--bench-option=fakec.arithmetic=exact")["reason"]


@pytest.mark.parametrize("kind", ["run-shape", "run-opposite"])
def test_a_result_that_no_rounding_explains_is_not_computed_again(compiled: Project, kind: str) -> None:
    declared = '"loose": ["fp32"], "exact": {"arithmetic": "exact"}, '
    row = the_row(run(fast(compiled, WRONG_ALWAYS, declared), "--precisions=fp32", fault=kind))
    assert row["status"] == "mismatch" and "bench-option" not in row["reason"]


@pytest.mark.parametrize("declared", ['"loose": ["fp32"], ', '"loose": ["bf16"], "exact": {"arithmetic": "exact"}, '])
def test_without_a_declaration_for_the_precision_the_reason_is_left_alone(compiled: Project, declared: str) -> None:
    assert "bench-option" not in judged(compiled, WRONG_ALWAYS, declared=declared)["reason"]


@pytest.mark.parametrize(("operator", "tried"), [("Conv", False), ("Gemm", True)])
def test_options_that_change_no_operator_of_the_file_are_not_tried(
    compiled: Project, operator: str, tried: bool
) -> None:
    declared = f'"loose": ["fp32"], "exact": {{"arithmetic": "exact"}}, "exact_for": ["{operator}"], '
    assert (EXACT in judged(compiled, WRONG_IF_FAST, declared=declared)["reason"]) is tried


@pytest.mark.parametrize(
    ("declared", "message"),
    [
        (
            '"exact": {"aritmetic": "exact"}, ',
            "exact: 'aritmetic' is not one of its options; valid are: arithmetic, fault",
        ),
        ('"exact": {"arithmetic": "exakt"}, ', "exact.arithmetic: 'exakt' is not one of the option's values"),
    ],
)
def test_a_declaration_of_what_the_tool_does_not_have_is_an_error(
    compiled: Project, declared: str, message: str
) -> None:
    finished = run(fast(compiled, WRONG_ALWAYS, declared), "--precisions=fp32")
    assert finished.code == 4 and message in finished.text


def test_a_rounding_that_fast_arithmetic_hides_is_a_mismatch_that_names_the_option(
    project: Project, tools_python: Path
) -> None:
    fault = '"rounds-some-apart" if call.options["arithmetic"] == "fast" else "rounds-some"'
    fast(project, fault, '"loose": ["fp32", "w16"], "exact": {"arithmetic": "exact"}, ')
    project.write("test_models.py", EQUIVALENCE)
    path = write_file(project, tools_python, MAKE, "some.onnx", 5)
    options = (f"--bench-onnx={path}", "--compilers=fakec", "--precisions=w16", "-k", "w16 and own")
    row = the_row(project.run(*options))
    assert row["status"] == "mismatch", "the way is known by the exact run, and fast arithmetic leads away from it"
    assert row["reason"].startswith("no way of rounding that is known gives this result")
    assert f"; with {EXACT} it agrees (E " in row["reason"], row["reason"]


# A convolution for which MNN uses Winograd's algorithm, with a test that permits twice the noise of float32 alone.
STRICT = EQUIVALENCE.replace("@pytest", "@pytest.mark.tolerance(k=2, floor=1e-9)\n@pytest", 1)
CONVOLUTION = """
import sys
import numpy as np, onnx
text = '<ir_version: 8, opset_import: ["": 17]> g (float[1,64,16,16] x) => (float[1,64,14,14] y) { y = Conv(x, k) }'
model = onnx.parser.parse_model(text)
kernels = np.random.default_rng(0).standard_normal((64, 64, 3, 3)).astype("float32")
model.graph.initializer.append(onnx.numpy_helper.from_array(kernels, "k"))
onnx.save(model, sys.argv[1])
"""


def test_winograds_algorithm_is_named_where_it_makes_the_mismatch(project: Project) -> None:
    compiles(project, tests=STRICT)
    python = Toolchains().ensure("onnxruntime")
    finished = project.run(
        f"--bench-onnx={write_file(project, python, CONVOLUTION, 'm.onnx')}", "--compilers=mnn", "--precisions=fp32"
    )
    row = the_row(finished)
    assert row["status"] == "mismatch", row["reason"]
    assert "; with --bench-option mnn.winograd=off it agrees (E " in row["reason"]
