"""What --bench-cases names: cases, wildcards and operators, and what is said of a name that is none of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench_plugin.domain.errors import UsageError
from bench_plugin.generation.catalogue import GRAPHS
from bench_plugin.inventory.cases import Case, read_cases
from bench_plugin.matrix.case_names import generated_names, operator_cases
from tests.project import Project

CORPUS = read_cases(Path(__file__).parents[2] / "fixtures/operators/corpus.csv")


def named(*texts: str) -> list[Case]:
    return operator_cases(CORPUS, texts)


def test_a_name_is_one_case_and_a_wildcard_every_case_that_matches() -> None:
    assert [case.name for case in named("test_relu")] == ["test_relu"]
    found = {case.name for case in named("test_relu*", "test_relu")}
    assert found == {name for name in CORPUS if name.startswith("test_relu")} and len(found) > 1


def test_an_operator_is_the_cases_that_hold_it_alone() -> None:
    found = named("Relu")
    assert found and all(case.operators == ("Relu",) and case.nodes == 1 for case in found)
    scattered = next(
        operator for case in CORPUS.values() for operator in case.operators
        if not any(other.nodes == 1 and operator in other.operators for other in CORPUS.values())
    )  # fmt: skip
    found = named(scattered)
    assert found and all(scattered in case.operators for case in found)


def test_names_of_the_property_suite_are_no_errors_in_the_other() -> None:
    assert generated_names(lambda: CORPUS, ["Relu", "Conv*", "Relu"])[0] == "Relu"
    assert generated_names(lambda: CORPUS, ["test_relu*"]) == []
    assert named(GRAPHS) == []


def test_an_unknown_case_is_answered_with_the_nearest_five() -> None:
    with pytest.raises(UsageError) as caught:
        named("test_rleu")
    text = str(caught.value)
    assert text.startswith("unknown case 'test_rleu'; did you mean ") and "test_relu" in text and len(text) < 300
    assert "bench list cases prints all" in text
    with pytest.raises(UsageError, match="did you mean Relu"):
        generated_names(lambda: CORPUS, ["relU"])
    with pytest.raises(UsageError, match="unknown case 'test_zzz"):
        named("test_zzz*")


def test_on_the_command_line(project: Project) -> None:
    text = "import pytest\n@pytest.mark.bench('operator')\ndef test_o(bench_cell):\n    bench_cell.verify()\n"
    project.write("test_models.py", text)
    collected = project.run("--bench-cases=Relu,test_abs*", "--collect-only", "-q").text
    assert "test_o[test_relu-onnx-onnxruntime]" in collected and "test_o[test_abs-onnx-onnxruntime]" in collected
    wrong = project.run("--bench-cases=Rleu")
    assert wrong.code == 4 and "unknown case 'Rleu'; did you mean" in wrong.text and len(wrong.text) < 3000
