"""Rows of known failures: which cells, versions and signatures they cover, when they are stale, and what they say."""

from __future__ import annotations

import tomllib
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bench_plugin.domain.errors import UsageError
from bench_plugin.domain.outcome import Outcome, Stage, Status, Symptom, Unverified
from bench_plugin.results.known_failures.expectations import Expectation, Expectations, Result, judge
from bench_plugin.results.known_failures.row_toml import row_text
from bench_plugin.results.signature import Signature

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


def of_versions(**versions: str) -> Outcome:
    return Outcome(Status.SUPPORTED, versions=versions)


def matched(folder: Path, text: str, axes: dict[str, Any], **versions: str) -> Expectation | None:
    return loaded(folder, known=rows(text)).match(axes, of_versions(**versions))


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
    found = loaded(tmp_path, b=rows(row), a=rows(row.replace('"a"', '"z"'), row, row)).match(
        EXPORT, Outcome(Status.SUPPORTED)
    )
    assert found is not None and found.where == "a.toml row 2"
    assert (found.stage, found.symptom, found.reason) == (Stage.EXPORT, Symptom.EXCEPTION, "it is known")


FAILED = Outcome(Status.ERROR, Stage.EXPORT, Symptom.EXCEPTION, "why")
WRONG = Outcome(Status.MISMATCH, Stage.COMPARE, Symptom.MISMATCH, "out0: E 2 > 1", numbers={"needed": 12.5})
BLOCKED = Outcome(Status.UNVERIFIED, unverified=Unverified.BLOCKED)
MISMATCH = 'stage = "compare"\nsymptom = "mismatch"\nreason = "it rounds"\n'
UNSIGNED = "a new failure, found run: exception\nknown.toml row 1 expected export: exception"


@pytest.mark.parametrize(
    ("row", "outcome", "result", "says"),
    [
        # without a signature: stage and symptom
        (ROW, FAILED, Result.XFAILED, "it is known"),
        (ROW, replace(FAILED, reason="another"), Result.XFAILED, "it is known"),
        (ROW, replace(FAILED, stage=Stage.RUN), Result.FAILED, UNSIGNED),
        (ROW, replace(FAILED, symptom=Symptom.CRASH), Result.FAILED,
         "a new failure, found export: crash\nknown.toml row 1 expected export: exception"),
        (ROW, Outcome(Status.UNSUPPORTED, Stage.EXPORT, Symptom.UNSUPPORTED), Result.FAILED,
         "a new failure, found export: unsupported\nknown.toml row 1 expected export: exception"),
        (ROW, replace(BLOCKED, stage=Stage.EXPORT), Result.FAILED,
         "a new failure, found export: unverified\nknown.toml row 1 expected export: exception"),
        (ROW, BLOCKED, Result.SKIPPED, ""),
        (ROW, Outcome(Status.SUPPORTED), Result.FAILED,
         "progress: it passed, known.toml row 1 expected a failure; remove the row"),
        (ROW, Outcome(Status.OUTSIDE_BOUND), Result.FAILED,
         "progress: it passed, known.toml row 1 expected a failure; remove the row"),
        # with the text of a signature
        (f'{ROW}signature = "why"\n', FAILED, Result.XFAILED, "it is known"),
        (f'{ROW}signature = "why of node_3"\n', replace(FAILED, reason="why of node_5"), Result.XFAILED, "it is known"),
        (f'{ROW}signature = "why ..."\n', replace(FAILED, reason="why not"), Result.XFAILED, "it is known"),
        (f'{ROW}signature = "why"\n', replace(FAILED, reason="why not"), Result.FAILED,
         "a new failure, found export: exception: 'why not'\nknown.toml row 1 expected export: exception: 'why'"),
        (f'{ROW}signature = "why"\n', replace(FAILED, stage=Stage.RUN), Result.FAILED,
         "a new failure, found run: exception: 'why'\nknown.toml row 1 expected export: exception: 'why'"),
        (f'{ROW}signature = "why"\n', replace(FAILED, symptom=Symptom.TIMEOUT), Result.FAILED,
         "a new failure, found export: timeout\nknown.toml row 1 expected export: exception: 'why'"),
        (f'{ROW}signature = "why"\n', Outcome(Status.SUPPORTED), Result.FAILED,
         "progress: it passed, known.toml row 1 expected a failure; remove the row"),
        # with a band
        (f"{MISMATCH}needed = 12.5\n", WRONG, Result.XFAILED, "it rounds"),
        (f"{MISMATCH}needed = 5\n", WRONG, Result.XFAILED, "it rounds"),
        (f"{MISMATCH}needed = 4.16\n", WRONG, Result.FAILED,
         "a new failure, found compare: mismatch: needed = 12.5\n"
         "known.toml row 1 expected compare: mismatch: needed = 4.16, so up to 12.5"),
        (f"{MISMATCH}needed = 500.0\n", WRONG, Result.XFAILED, "it rounds"),
        (f"{MISMATCH}needed = 500.0\n", replace(WRONG, reason="out0: shape [2], expected [3]", numbers={}),
         Result.FAILED,
         "a new failure, found compare: mismatch: 'shape [#], expected [#]'\n"
         "known.toml row 1 expected compare: mismatch: needed = 500, so up to 1500"),
        (f'{MISMATCH}signature = "elements differ"\n', WRONG, Result.FAILED,
         "a new failure, found compare: mismatch: needed = 12.5\n"
         "known.toml row 1 expected compare: mismatch: 'elements differ'"),
        (MISMATCH, WRONG, Result.XFAILED, "it rounds"),
        # what differs from run to run
        (MISMATCH.replace('"mismatch"', '"nondeterministic"'), replace(WRONG, symptom=Symptom.NONDETERMINISTIC),
         Result.XFAILED, "it rounds"),
        (MISMATCH.replace('"mismatch"', '"nondeterministic"'), WRONG, Result.XFAILED, "it rounds"),
        (MISMATCH.replace('"mismatch"', '"nondeterministic"'), replace(WRONG, reason="NaN in other places", numbers={}),
         Result.XFAILED, "it rounds"),
        (MISMATCH.replace('"mismatch"', '"nondeterministic"'), Outcome(Status.SUPPORTED), Result.PASSED, ""),
        (MISMATCH.replace('"mismatch"', '"nondeterministic"'), replace(WRONG, symptom=Symptom.EXCEPTION), Result.FAILED,
         "a new failure, found compare: exception\nknown.toml row 1 expected compare: nondeterministic"),
        (MISMATCH.replace('"mismatch"', '"nondeterministic"'), replace(FAILED, symptom=Symptom.MISMATCH), Result.FAILED,
         "a new failure, found export: mismatch\nknown.toml row 1 expected compare: nondeterministic"),
        (f"{MISMATCH}needed = 12.5\n", replace(WRONG, symptom=Symptom.NONDETERMINISTIC), Result.FAILED,
         "a new failure, found compare: nondeterministic\n"
         "known.toml row 1 expected compare: mismatch: needed = 12.5, so up to 37.5"),
        (ROW.replace("exception", "timeout"), replace(FAILED, symptom=Symptom.TIMEOUT), Result.XFAILED, "it is known"),
    ],
)  # fmt: skip
def test_an_outcome_under_a_row(tmp_path: Path, row: str, outcome: Outcome, result: Result, says: str) -> None:
    found = judge(outcome, loaded(tmp_path, known=rows(f'check = "export"\nmodel = "a"\n{row}')).match(EXPORT, outcome))
    assert (found.result, found.reason) == (result, says)


def test_of_several_rows_that_select_a_cell_the_one_that_covers_its_failure_has_the_word(tmp_path: Path) -> None:
    row = f'check = "export"\nmodel = "a"\n{ROW}'
    known = loaded(tmp_path, known=rows(f'{row}signature = "other"\n', f'{row}signature = "why"\n'))
    for outcome, number in ((FAILED, 2), (replace(FAILED, reason="other"), 1), (replace(FAILED, reason="third"), 1)):
        found = known.match(EXPORT, outcome)
        assert found is not None and found.number == number


@pytest.mark.parametrize(
    ("row", "unsigned"),
    [(ROW, True), (f'{ROW}signature = "x"\n', False), (f"{MISMATCH}needed = 2\n", False), (MISMATCH, True),
     (ROW.replace("exception", "timeout"), False), (ROW.replace("exception", "out-of-memory"), False)],
)  # fmt: skip
def test_rows_that_could_have_a_signature_and_have_none(tmp_path: Path, row: str, unsigned: bool) -> None:
    (found,) = loaded(tmp_path, known=rows(f'check = "export"\nmodel = "a"\n{row}')).rows
    assert found.unsigned is unsigned


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
    'operators = {operators}\nsignature = "bad #"\nexample = "examples/a.json"\n'
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
    outcome = replace(FAILED, stage=Stage.RUN, numbers={"signature": signature} if signature else {})
    found = known.match(GRAPH, outcome)
    assert (found is not None) is covered
    if found is not None:
        assert found.example == tmp_path / "examples/a.json"
        assert judge(outcome, found).result is Result.XFAILED


def test_rows_of_generated_graphs_by_earlier_versions_have_their_signature_as_message(tmp_path: Path) -> None:
    text = GRAPHS.format(operators='["Abs"]').replace("signature =", "message =")
    found = loaded(tmp_path, known=rows(text)).match(GRAPH, replace(FAILED, numbers={"signature": SIGNED}))
    assert found is not None and found.signature == Signature("bad #")


OPERATORS = (
    'check = "operator"\ncompiler = "tvm"\nstage = "run"\nsymptom = "crash"\nreason = "{reason}"\nmodel = {model}\n'
)


def operator_row(*cases: str, reason: str = "known", more: str = "") -> str:
    return OPERATORS.format(reason=reason, model=list(cases)) + more


@pytest.mark.parametrize(("how", "what"), [("in turn", "time"), ("counted", "instructions")])
@pytest.mark.parametrize("known", [False, True])
def test_a_cell_that_got_slower_than_its_base_fails_whatever_is_known_of_it(
    tmp_path: Path, how: str, what: str, known: bool
) -> None:
    numbers = {"against": {"verdict": "slower", "how": how, "text": "12 % more"}}
    outcome = Outcome(Status.SUPPORTED, numbers=numbers)
    found = matched(tmp_path, f'check = "export"\nmodel = "a"\n{ROW}', EXPORT) if known else None
    judged = judge(outcome, found)
    assert (judged.result, judged.reason) == (Result.FAILED, f"a regression in {what}: 12 % more")


def test_a_row_by_hand_covers_a_case_that_the_generated_files_need_not_name(tmp_path: Path) -> None:
    by_hand = 'check = "operator"\ncompiler = "tvm"\nmodel = "test_abs"\nstage = "run"\nsymptom = "exception"\n'
    known = loaded(tmp_path, known=rows(f'{by_hand}signature = "E: it died"\nreason = "known"\n'))
    failed = Outcome(Status.ERROR, Stage.RUN, Symptom.EXCEPTION, reason="E: it died")
    assert known.written_by_hand(CASE, failed)
    assert not known.written_by_hand(CASE, replace(failed, stage=Stage.COMPILE)), "it is not what the row names"
    assert not known.written_by_hand({**CASE, "model": "test_exp"}, failed), "no row names that case"
    assert not known.written_by_hand({**CASE, "compiler": "iree"}, failed), "no row names that compiler"


def test_rows_of_operators_are_found_by_compiler_case_and_version(tmp_path: Path) -> None:
    text = rows(
        operator_row("test_abs", reason="old", more='when = "onnx<1"\n'),
        operator_row("test_neg", "test_abs", "test_tan", reason="new"),
    )
    known = loaded(tmp_path, operators__tvm=text)
    assert known.rows == ()
    found = known.match(CASE, of_versions(onnx="2.0"))
    assert found is not None and (found.reason, found.number) == ("new", 2)
    found = known.match(CASE, of_versions(onnx="0.9"))
    assert found is not None and found.reason == "old"
    assert known.match({**CASE, "model": "test_exp"}, of_versions()) is None
    assert known.match({**CASE, "compiler": "iree"}, of_versions()) is None
    assert len(known.operators.all()) == 2, "a row with several cases counts once"


def test_a_folder_that_is_nearer_to_the_user_has_the_word_on_a_compiler(tmp_path: Path) -> None:
    loaded(tmp_path / "own", operators__tvm=rows(operator_row("test_abs", reason="own")))
    loaded(tmp_path / "ours", operators__tvm=rows(operator_row("test_abs", reason="ours")))
    found = Expectations.load([tmp_path / "own", tmp_path / "ours"]).match(CASE, of_versions())
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
        loaded(tmp_path, operators__tvm=rows(row)).match(CASE, of_versions())


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


def test_a_row_for_a_case_outside_the_opsets_of_its_compiler_is_stale(tmp_path: Path) -> None:
    known = loaded(tmp_path, operators__tvm=rows(operator_row("test_abs", "test_neg")))
    cells = [CASE, {**CASE, "model": "test_neg"}]
    assert known.stale(cells, {}, {("test_neg", "iree")}) == []
    assert known.stale(cells, {}, {("test_neg", "tvm"), ("test_gone", "tvm")}) == [
        "tvm.toml: test_neg is outside the opsets that tvm takes, so that a failure reads version skew "
        "and no row can match"
    ]


def test_every_stale_row_of_every_compiler_is_named(tmp_path: Path) -> None:
    known = loaded(
        tmp_path, known=rows(f'check = ["export", "import"]\nmodel = "gone"\nwhen = ["onnx<1", "torch<2"]\n{ROW}',
                             f'check = "export"\nmodel = "a"\nwhen = ["onnx<1", "torch<2"]\n{ROW}'),
        operators__tvm=rows(operator_row("test_gone", "test_abs")),
        operators__iree=rows(operator_row("test_lost").replace("tvm", "iree")),
    )  # fmt: skip
    assert known.stale([EXPORT, CASE], {}) == [
        "known.toml row 1: its selector matches no cell of the matrix: check = export or import, model = gone",
        "known.toml row 2: when = 'onnx<1, torch<2' holds for no committed lock",
        "iree.toml: there is no case test_lost",
        "tvm.toml: there is no case test_gone",
    ]


def test_a_version_before_a_release_satisfies_a_requirement_that_allows_it(tmp_path: Path) -> None:
    row = f'check = "export"\nmodel = "a"\nwhen = "onnx<2"\n{ROW}'
    assert matched(tmp_path, row, EXPORT, onnx="1.9.dev1") is not None
    assert matched(tmp_path, row, EXPORT, onnx="2.0.dev1") is None


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
    assert read["signature"] == 'it said "no\\yes"'
    found = loaded(tmp_path, known=text).match(EXPORT, outcome)
    assert found is not None and judge(outcome, found).result is Result.XFAILED


def test_the_row_of_a_mismatch_has_its_band(tmp_path: Path) -> None:
    text = row_text(EXPORT, WRONG, "why")
    read = tomllib.loads(text)["expectation"][0]
    assert read["needed"] == 12.5 and "signature" not in read
    found = loaded(tmp_path, known=text).match(EXPORT, WRONG)
    assert found is not None and found.signature == Signature(needed=12.5)


def test_the_row_of_a_generated_graph_has_its_signature() -> None:
    outcome = replace(FAILED, numbers={"signature": SIGNED})
    read = tomllib.loads(row_text(GRAPH, outcome, "why"))["expectation"][0]
    assert (read["operators"], read["signature"]) == (["Abs", "Exp"], "bad #")


def test_the_row_of_a_generated_graph_that_took_too_long_covers_it(tmp_path: Path) -> None:
    signature = {**SIGNED, "symptom": "timeout", "message": "stage run took longer than # s"}
    outcome = replace(
        FAILED, status=Status.ERROR, stage=Stage.RUN, symptom=Symptom.TIMEOUT, numbers={"signature": signature}
    )
    text = row_text(GRAPH, outcome, "why") + 'example = "examples/a.json"\n'
    found = loaded(tmp_path, known=text).match(GRAPH, outcome)
    assert found is not None and found.covers(outcome)


EQUAL = f'check = "equivalence"\nmodel = "a"\n{MISMATCH}'


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (GRAPHS.format(operators="[]"), "name operators, signature, example; there is only signature, example"),
        (
            GRAPHS.format(operators='["Abs"]')
            .replace('signature = "bad #"', "needed = 2.0")
            .replace("exception", "mismatch"),
            "needed: generated graphs have no band",
        ),
        (f'{EQUAL}signature = "x"\nneeded = 2.0\n', "signature and needed: a row has one of them"),
        (f'{EQUAL}signature = "x"\nmessage = "y"\n', "signature and message: a row has one of them"),
        (f"{EQUAL}needed = 0\n", "needed"),
        (f'check = "export"\nmodel = "a"\n{ROW}needed = 2.0\n', "needed: only a mismatch has it"),
        (
            f'{EQUAL.replace("mismatch", "timeout")}signature = "x"\n',
            "signature: failures with symptom timeout have none",
        ),
        (
            f"{EQUAL.replace('mismatch', 'nondeterministic')}needed = 2.0\n",
            "failures with symptom nondeterministic have",
        ),
        (f'{EQUAL}signature = "..."\n', "signature: '...' would cover every failure"),
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
    assert loaded(tmp_path, known=rows(text)).match(GRAPH, of_versions()) is not None


def test_a_row_of_a_sweep_selects_its_point_alone_and_is_not_stale(tmp_path: Path) -> None:
    """The complete matrix has no sweeps, because they are asked for by options alone."""
    text = f'check = "timing"\nmodel = "a"\nbatch = [8, 32]\nmode = "eco"\n{ROW}'
    known, plain = loaded(tmp_path, known=rows(text)), {"check": "timing", "model": "a"}
    assert known.stale([plain], {}) == [] and known.stale([{**plain, "model": "b"}], {}) != []
    assert known.match({**plain, "batch": 32, "mode": "eco"}, of_versions()) is not None
    assert known.match({**plain, "batch": 32}, of_versions()) is known.match(plain, of_versions()) is None
