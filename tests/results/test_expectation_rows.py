"""Rows of known failures: which cells, versions and signatures they cover, when they are stale, and what they say."""

from __future__ import annotations

import tomllib
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bench_plugin.domain.errors import UsageError
from bench_plugin.domain.outcome import Outcome, Stage, Status, Symptom, Unverified
from bench_plugin.results.expectations import Expectation, Expectations, Result, judge, row_text

EXPORT = {"check": "export", "model": "a", "framework": "fake", "opset": 17, "exporter": "out"}
CASE = {"check": "operator", "model": "test_abs", "framework": "onnx", "compiler": "tvm"}
SIGNED = {"stage": "run", "symptom": "exception", "operators": ["Abs", "Exp"], "message": "bad #"}
ROW = 'stage = "export"\nsymptom = "exception"\nreason = " it is known "\n'


def loaded(folder: Path, **files: str) -> Expectations:
    folder.mkdir(exist_ok=True)
    for name, text in files.items():
        path = folder / f"{name.replace('__', '/')}.toml"
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    return Expectations.load([folder])


def rows(*texts: str) -> str:
    return "".join(f"[[expectation]]\n{text}" for text in texts)


def matched(folder: Path, text: str, axes: dict[str, Any], **versions: str) -> Expectation | None:
    return loaded(folder, known=rows(text)).match(axes, versions)


@pytest.mark.parametrize(
    ("when", "versions", "covered"),
    [
        ('"onnx<2"', {"onnx": "1.9"}, True),
        ('"onnx<2"', {"onnx": "2.0"}, False),
        ('"onnx<2"', {}, False),
        ('"onnx<2"', {"torch": "1.0"}, False),
        ('"onnx>=1"', {"onnx": "2.0rc1"}, True),
        ('["onnx<2", "torch>=2"]', {"onnx": "1.0", "torch": "2.1"}, True),
        ('["onnx<2", "torch>=2"]', {"onnx": "1.0", "torch": "1.9"}, False),
        ('["onnx<2", "torch>=2"]', {"onnx": "1.0"}, False),
        ("[]", {}, True),
    ],
)
def test_a_row_holds_for_its_versions_alone(tmp_path: Path, when: str, versions: dict[str, str], covered: bool) -> None:
    found = matched(tmp_path, f'check = "export"\nmodel = "a"\nwhen = {when}\n{ROW}', EXPORT, **versions)
    assert (found is not None) is covered


@pytest.mark.parametrize(
    ("selector", "covered"),
    [
        ('check = "export"\nmodel = "a"\n', True),
        ('check = ["import", "export"]\nmodel = "a"\n', True),
        ('check = "import"\nmodel = "a"\n', False),
        ('check = "export"\nmodel = ["b", "a"]\n', True),
        ('check = "export"\nmodel = ["b", "c"]\n', False),
        ('check = "export"\nmodel = "a"\nframework = "other"\n', False),
        ('check = "export"\nmodel = "a"\nopset = 17\n', True),
        ('check = "export"\nmodel = "a"\nopset = 13\n', False),
    ],
)
def test_a_row_covers_the_cells_of_all_its_axes(tmp_path: Path, selector: str, covered: bool) -> None:
    assert (matched(tmp_path, selector + ROW, EXPORT) is not None) is covered


def test_the_first_row_in_the_order_of_files_and_rows_has_the_word(tmp_path: Path) -> None:
    row = f'check = "export"\nmodel = "a"\n{ROW}'
    found = loaded(tmp_path, b=rows(row), a=rows(row.replace('"a"', '"z"'), row, row)).match(EXPORT, {})
    assert found is not None and found.where == "a.toml row 2"
    assert (found.stage, found.symptom, found.reason) == (Stage.EXPORT, Symptom.EXCEPTION, "it is known")


FAILED = Outcome(Status.ERROR, Stage.EXPORT, Symptom.EXCEPTION, "why")


@pytest.mark.parametrize(
    ("outcome", "result", "says"),
    [
        (FAILED, Result.XFAILED, "it is known"),
        (replace(FAILED, stage=Stage.RUN), Result.FAILED, "expected export: exception (it is known), found run: exc"),
        (replace(FAILED, symptom=Symptom.CRASH), Result.FAILED, "found export: crash"),
        (Outcome(Status.SUPPORTED), Result.FAILED, "progress: it passed, known.toml row 1 expected a failure; remove"),
        (Outcome(Status.UNVERIFIED, unverified=Unverified.BLOCKED), Result.SKIPPED, ""),
        (
            Outcome(Status.UNVERIFIED, Stage.EXPORT, unverified=Unverified.BLOCKED),
            Result.FAILED,
            "found export: unverified",
        ),
        (Outcome(Status.OUTSIDE_BOUND), Result.FAILED, "progress: it passed"),
        (Outcome(Status.UNSUPPORTED, Stage.EXPORT, Symptom.UNSUPPORTED), Result.FAILED, "found export: unsupported"),
    ],
)
def test_an_outcome_under_a_row(tmp_path: Path, outcome: Outcome, result: Result, says: str) -> None:
    found = judge(outcome, matched(tmp_path, f'check = "export"\nmodel = "a"\n{ROW}', EXPORT))
    assert found.result is result
    assert says in found.reason if says else found.reason == ""


@pytest.mark.parametrize(
    ("status", "result"),
    [
        (Status.SUPPORTED, Result.PASSED),
        (Status.MISMATCH, Result.FAILED),
        (Status.ERROR, Result.FAILED),
        (Status.UNSUPPORTED, Result.FAILED),
        (Status.VERSION_SKEW, Result.SKIPPED),
        (Status.NOT_PROVIDED, Result.SKIPPED),
        (Status.UNVERIFIED, Result.SKIPPED),
        (Status.BOARD_LOST, Result.SKIPPED),
        (Status.OUTSIDE_BOUND, Result.PASSED),
    ],
)
def test_an_outcome_without_a_row(status: Status, result: Result) -> None:
    kind = Unverified.NO_REFERENCE if status is Status.UNVERIFIED else None
    assert judge(Outcome(status, unverified=kind), None).result is result


GRAPHS = (
    'check = "property"\ncompiler = "tvm"\nmodel = "graphs"\nstage = "run"\nsymptom = "exception"\nreason = "known"\n'
    'operators = {operators}\nmessage = "bad #"\nexample = "examples/a.json"\n'
)
GRAPH = {"check": "property", "model": "graphs", "framework": "onnx", "compiler": "tvm"}


@pytest.mark.parametrize(
    ("operators", "signature", "covered"),
    [
        ('["Abs"]', SIGNED, True),
        ('["Exp", "Abs"]', SIGNED, True),
        ('["Abs", "Neg"]', SIGNED, False),
        ('["*"]', SIGNED, True),
        ('["*"]', {**SIGNED, "operators": []}, True),
        ('["*"]', {**SIGNED, "stage": "compile"}, False),
        ('["*"]', {**SIGNED, "symptom": "crash"}, False),
        ('["*"]', {**SIGNED, "message": "bad # #"}, False),
        ('["Abs"]', None, False),
    ],
)
def test_a_row_of_generated_graphs_covers_its_signature_alone(
    tmp_path: Path, operators: str, signature: dict[str, Any] | None, covered: bool
) -> None:
    known = loaded(tmp_path, known=rows(GRAPHS.format(operators=operators)))
    found = known.match(GRAPH, {}, signature)
    assert (found is not None) is covered
    if found is not None:
        assert found.example == tmp_path / "examples/a.json"


OPERATORS = (
    'check = "operator"\ncompiler = "tvm"\nstage = "run"\nsymptom = "crash"\nreason = "{reason}"\nmodel = {model}\n'
)


def operator_row(*cases: str, reason: str = "known", more: str = "") -> str:
    return OPERATORS.format(reason=reason, model=list(cases)) + more


def test_rows_of_operators_are_found_by_compiler_case_and_version(tmp_path: Path) -> None:
    text = rows(
        operator_row("test_abs", reason="old", more='when = "onnx<1"\n'),
        operator_row("test_neg", "test_abs", "test_tan", reason="new"),
    )
    known = loaded(tmp_path, operators__tvm=text)
    assert known.rows == ()
    found = known.match(CASE, {"onnx": "2.0"})
    assert found is not None and (found.reason, found.number) == ("new", 2)
    found = known.match(CASE, {"onnx": "0.9"})
    assert found is not None and found.reason == "old"
    assert known.match({**CASE, "model": "test_exp"}, {}) is None
    assert known.match({**CASE, "compiler": "iree"}, {}) is None
    assert known.operators.count() == 2, "a row with several cases counts once"


def test_a_folder_that_is_nearer_to_the_user_has_the_word_on_a_compiler(tmp_path: Path) -> None:
    loaded(tmp_path / "own", operators__tvm=rows(operator_row("test_abs", reason="own")))
    loaded(tmp_path / "ours", operators__tvm=rows(operator_row("test_abs", reason="ours")))
    found = Expectations.load([tmp_path / "own", tmp_path / "ours"]).match(CASE, {})
    assert found is not None and found.reason == "own"


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (operator_row("test_abs").replace('"tvm"', '"iree"'), "row 1: check is operator and compiler 'tvm' here"),
        (operator_row("test_abs").replace('"operator"', '"export"'), "row 1: check is operator and compiler 'tvm'"),
        (operator_row("test_abs").replace("model = ['test_abs']\n", ""), "must name its cases"),
    ],
)
def test_a_row_in_a_compilers_file_is_one_of_its_cases(tmp_path: Path, row: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        loaded(tmp_path, operators__tvm=rows(row)).match(CASE, {})


def test_stale_rows_match_no_cell_or_no_lock(tmp_path: Path) -> None:
    row = f'check = "export"\nmodel = "a"\n{ROW}'
    known = loaded(
        tmp_path,
        known=rows(
            row, row.replace('"a"', '"gone"'), f'when = "onnx<1"\n{row}', f'when = ["onnx<2", "torch>=2"]\n{row}',
            f'when = "onnx<2"\n{row}',
        ),
        operators__tvm=rows(operator_row("test_abs", "test_gone"), operator_row("test_neg", more='when = "onnx>9"\n')),
    )  # fmt: skip
    locked = {"one": {"onnx": "1.5"}, "two": {"torch": "2.0"}}
    assert known.stale([EXPORT, CASE, {**CASE, "model": "test_neg"}], locked) == [
        "known.toml row 2: its selector matches no cell of the matrix: check = export, model = gone",
        "known.toml row 3: when = 'onnx<1' holds for no committed lock",
        "tvm.toml: there is no case test_gone",
        "tvm.toml row 2: when holds for no committed lock",
    ]


def test_a_case_of_another_compiler_does_not_keep_a_row(tmp_path: Path) -> None:
    known = loaded(tmp_path, operators__tvm=rows(operator_row("test_abs")))
    assert known.stale([{**CASE, "compiler": "iree"}], {}) == ["tvm.toml: there is no case test_abs"]


def test_the_row_of_a_failure_covers_it(tmp_path: Path) -> None:
    outcome = replace(FAILED, reason='it said "no\\yes"\nand more')
    text = row_text(EXPORT, outcome, 'because of "that"\nand this')
    assert "# seen: it said" in text and "and more" not in text
    read = tomllib.loads(text)["expectation"][0]
    assert read["reason"] == 'because of "that" and this'
    assert {key: read[key] for key in EXPORT} == EXPORT
    found = loaded(tmp_path, known=text).match(EXPORT, {})
    assert found is not None and judge(outcome, found).result is Result.XFAILED


def test_the_row_of_a_generated_graph_has_its_signature() -> None:
    outcome = replace(FAILED, numbers={"signature": SIGNED})
    read = tomllib.loads(row_text(GRAPH, outcome, "why"))["expectation"][0]
    assert (read["operators"], read["message"]) == (["Abs", "Exp"], "bad #")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (GRAPHS.format(operators="[]"), "a signature has operators, message, example; there is only message, example"),
        (f'check = "property"\nmodel = "graphs"\n{ROW}', "of generated graphs, name the failure by operators"),
        (f'check = "export"\n{ROW}', "would cover every cell"),
        (f'check = "export"\nmodel = "a"\nwhen = "onnx <"\n{ROW}', "when must be like 'onnx2pytorch<0.7'"),
    ],
)
def test_a_row_that_says_too_little_is_refused(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        loaded(tmp_path, known=rows(text))


def test_an_operator_that_the_tool_lacks_needs_no_signature(tmp_path: Path) -> None:
    text = f'check = "property"\ncompiler = "tvm"\n{ROW}'.replace("exception", "unsupported")
    assert loaded(tmp_path, known=rows(text)).match(GRAPH, {}) is not None
