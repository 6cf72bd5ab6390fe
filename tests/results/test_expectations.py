"""Known failures: typed, strict, with a reason; stale ones are found."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.project import Project

ROW = """
[[expectation]]
check = "export"
model = "broken"
framework = "fake"
stage = "{stage}"
symptom = "{symptom}"
reason = "the converter loses the model"
{more}
"""
FILE = "suites/expectations/known.toml"


def row(stage: str = "export", symptom: str = "exception", more: str = "") -> str:
    return ROW.format(stage=stage, symptom=symptom, more=more)


def test_a_known_failure_is_expected_and_the_run_is_green(project: Project) -> None:
    project.model("broken", "export:exception")
    project.write(FILE, row(more='link = "https://example.org/1"\nwhen = "onnx>=1"'))
    finished = project.run("-rxs")
    assert finished.code == 0
    assert "1 xfailed" in finished.text
    assert "the converter loses the model" in finished.text
    assert finished.cells("export")["broken"]["expected"] == {
        "reason": "the converter loses the model",
        "link": "https://example.org/1",
    }


def test_another_symptom_fails(project: Project) -> None:
    project.model("broken", "export:unsupported")
    project.write(FILE, row())
    finished = project.run()
    assert finished.code == 1
    assert "known.toml row 1 expected export: exception" in finished.text
    assert "found export: unsupported" in finished.text


def test_another_stage_fails(project: Project) -> None:
    project.model("broken", "reference:exception")
    project.write(FILE, row())
    assert "found reference: exception" in project.run().text


def test_another_message_fails_and_the_cause_of_the_row_is_printed_nowhere(project: Project) -> None:
    project.model("broken", "export:other")
    project.write(FILE, row(more='signature = "ValueError: this is the first line"'))
    finished = project.run("-rxs", "-k", "export")
    assert finished.code == 1
    assert "a new failure, found export: exception: 'RuntimeError: node_# is of another kind'" in finished.text
    assert "known.toml row 1 expected export: exception: 'ValueError: this is the first line'" in finished.text
    assert finished.cells("export")["broken"]["expected"] is None
    pages = {path.suffix: path.read_text() for path in (project.folder / "reports").glob("onnx-support.*")}
    assert {".md", ".html", ".csv", ".json", ".rst"} == set(pages)
    assert not [name for name, text in [*pages.items(), ("", finished.text)] if "the converter loses the model" in text]
    project.model("broken", "export:exception")
    matched = project.run("-rxs", "-k", "export")
    assert matched.code == 0 and "the converter loses the model" in matched.text
    assert "the converter loses the model" in (project.folder / "reports/onnx-support.md").read_text()


def test_a_cell_that_was_not_reached_has_no_cause(project: Project) -> None:
    project.model("broken", "export:exception")
    text = row().replace('"export"', '"import"').replace('"exception"', '"mismatch"')
    project.write(FILE, text)
    finished = project.run("-k", "import")
    assert finished.cells("import")["broken"]["status"] == "unverified"
    assert finished.cells("import")["broken"]["expected"] is None
    assert "the converter loses the model" not in finished.text


def test_a_mismatch_may_be_three_times_as_far_off_as_its_row_says(project: Project) -> None:
    project.model("broken", "export:wrong-weights")
    known = row(stage="compare", symptom="mismatch", more="needed = {}")
    project.write(FILE, known.format(1e9))
    finished = project.run("-k", "export")
    assert finished.code == 0, finished.text
    needed = finished.cells("export")["broken"]["numbers"]["needed"]
    project.write(FILE, known.format(needed / 2.9))
    assert project.run("-k", "export").code == 0
    project.write(FILE, known.format(needed / 3.1))
    worse = project.run("-k", "export")
    assert worse.code == 1
    assert "a new failure, found compare: mismatch: needed = " in worse.text
    assert "known.toml row 1 expected compare: mismatch: needed = " in worse.text and "so up to" in worse.text


def test_a_crash_is_known_by_its_frame(project: Project) -> None:
    project.model("broken", "export:segfault")
    project.write(FILE, row(symptom="crash", more='signature = "SIGSEGV in ctypes/__init__.py string_at"'))
    assert project.run("-k", "export").code == 0
    project.write(FILE, row(symptom="crash", more='signature = "SIGSEGV in other.py call"'))
    finished = project.run("-k", "export")
    assert finished.code == 1
    assert "a new failure, found export: crash: 'SIGSEGV in ctypes/__init__.py string_at'" in finished.text


def test_a_pass_is_progress_and_fails(project: Project) -> None:
    project.model("broken")
    project.write(FILE, row())
    finished = project.run()
    assert finished.code == 1
    assert "progress: it passed, known.toml row 1 expected a failure; remove the row" in finished.text


def test_other_versions_are_not_covered(project: Project) -> None:
    project.model("broken", "export:exception")
    project.write(FILE, row(more='when = "onnx<1"'))
    assert project.run().code == 1


def test_wrong_rows_are_usage_errors(project: Project) -> None:
    project.model("broken")
    wrong = {
        row(
            stage="exporting"
        ): "known.toml:6: expectation[1].stage: 'exporting' is not valid; valid are: build, reference, export",
        row(symptom="oops"): "known.toml:7: expectation[1].symptom: 'oops' is not valid; valid are: exception",
        row().replace(
            "the converter loses the model", ""
        ): "known.toml:8: expectation[1].reason: expected a text that is not blank, found ''",
        row(
            more="modle = 'x'"
        ): "known.toml:9: expectation[1].modle: unknown key; did you mean model? valid keys are batch, check,",
        row().replace('model = "broken"\nframework = "fake"\n', ""): "would cover every cell",
        row(more="when = 'not a version!'"): "when must be like",
    }
    for text, message in wrong.items():
        project.write(FILE, text)
        finished = project.run()
        assert message in finished.text, finished.text
        assert finished.code == 4


def test_check_finds_stale_rows(project: Project) -> None:
    project.model("broken")
    project.write(FILE, row().replace('"broken"', '"gone"') + row(more='when = "onnx<1"') + row())
    done = project.bench("expect", "check")
    assert done.returncode == 1
    assert "known.toml row 1: its selector matches no cell of the matrix" in done.stdout
    assert "known.toml row 2: when = 'onnx<1' holds for no committed lock" in done.stdout
    assert "2 stale" in done.stdout


def test_check_finds_rows_of_operator_cases_that_can_only_be_version_skew(project: Project) -> None:
    row = """[[expectation]]
check = "operator"
compiler = "tvm"
stage = "compile"
symptom = "exception"
reason = "opset 6, and TVM begins at 7"
model = ["test_PReLU_2d_multiparam", "test_prelu_example"]
"""
    project.write("suites/expectations/operators/tvm.toml", row)
    done = project.bench("expect", "check")
    assert done.returncode == 1
    said = [line for line in done.stdout.splitlines() if line.startswith("tvm.toml")]
    assert said == [
        "tvm.toml: test_PReLU_2d_multiparam is outside the opsets that tvm takes, so that a failure reads version skew "
        "and no row can match"
    ]


@pytest.mark.timeout(400)  # it starts the command four times, which reads every row
def test_check_counts_rows_without_a_signature_and_those_that_nobody_analysed(project: Project) -> None:
    project.model("broken")
    unknown = row(more='signature = "x"').replace("the converter loses the model", "not analysed")
    project.write(FILE, row() + unknown + row(symptom="timeout"))
    said = json.loads(project.bench("expect", "check", "--json").stdout)
    project.write(FILE, "")
    before = json.loads(project.bench("expect", "check", "--json").stdout)
    assert {key: said[key] - before[key] for key in ("rows", "without_signature", "not_analysed")} == {
        "rows": 3, "without_signature": 1, "not_analysed": 1
    }  # fmt: skip
    assert "without a signature: " in project.bench("expect", "check").stdout


def test_check_lists_rows_that_cover_more_than_one_failure_of_a_run(project: Project) -> None:
    project.model("broken", "export:exception")
    project.model("other", "export:other")
    project.write(FILE, row().replace('"broken"', '["broken", "other"]'))
    assert project.run("-k", "export").code == 0
    assert project.bench("expect", "check").returncode == 0
    done = project.bench("expect", "check", "--results", "reports/results.jsonl")
    assert done.returncode == 1
    assert "known.toml row 1: too broad, it covers 2 different failures: " in done.stdout
    assert "0 stale, 1 too broad" in done.stdout
    project.write(FILE, row() + row(more='signature = "RuntimeError: ..."').replace('"broken"', '"other"'))
    assert project.bench("expect", "check", "--results", "reports/results.jsonl").returncode == 0


def test_update_writes_signatures_and_keeps_what_people_wrote(project: Project) -> None:
    project.model("broken", "export:exception")
    project.model("wrong", "export:wrong-weights")
    text = "# why this file exists\n" + row(more='link = "https://example.org/1"  # reported')
    other = row(stage="compare", symptom="mismatch").replace('"broken"', '"wrong"')
    project.write(FILE, text + other)
    assert project.run("-k", "export").code == 0
    done = project.bench("expect", "update")
    assert done.returncode == 0, done.stderr
    assert "known.toml row 1: its signature was written" in done.stdout
    written = (project.folder / FILE).read_text()
    line = 'symptom = "exception"\n'
    signed = text.replace(line, f'{line}signature = "ValueError: this is the first line"\n')
    assert written.startswith(signed)
    needed = _cells(project)["wrong"]["numbers"]["needed"]
    rows = tomllib.loads(written)["expectation"]
    assert rows[1] == tomllib.loads(other)["expectation"][0] | {"needed": float(f"{needed:.3g}")}
    assert project.run("-k", "export").code == 0


def test_update_lets_a_row_whose_failure_changed_say_that_nobody_analysed_it(project: Project) -> None:
    project.model("broken", "export:other")
    more = 'signature = "ValueError: this is the first line"\nlink = "https://example.org/1"'
    project.write(FILE, "# about\n" + row(more=more))
    assert project.run("-k", "export").code == 1
    done = project.bench("expect", "update")
    assert "known.toml row 1: its cells fail otherwise now: written anew, not analysed" in done.stdout
    (found,) = tomllib.loads((project.folder / FILE).read_text())["expectation"]
    assert found["reason"] == "not analysed" and "link" not in found
    assert found["signature"] == "RuntimeError: node_# is of another kind"
    assert (project.folder / FILE).read_text().startswith("# about\n")
    assert project.run("-k", "export").code == 0


def test_update_changes_rows_in_folders_that_the_project_names_and_in_no_other(
    project: Project, tmp_path_factory: pytest.TempPathFactory
) -> None:
    project.model("broken", "export:exception")
    shared = tmp_path_factory.mktemp("shared")
    (shared / "known.toml").write_text(row())
    text = (project.folder / "bench.toml").read_text()
    project.write("bench.toml", f'expectations = ["{shared}"]\n{text}')
    assert project.run("-k", "export").code == 0
    results = project.folder / "reports/results.jsonl"
    ours = {"check": "import", "framework": "pytorch", "importer": "onnx2mx"}  # across.toml of this checkout, row 2
    cell = _cells(project)["broken"]
    foreign = cell | {"cell": cell["cell"] | ours, "check": "import", "stage": "import"}
    with results.open("a") as file:
        file.write(json.dumps(foreign) + "\n")
    path = Path(__file__).parents[2] / "suites/expectations/across.toml"
    before = path.read_text()
    try:
        done = project.bench("expect", "update")
        assert path.read_text() == before
    finally:
        path.write_text(before)
    assert re.search(r"across.toml row \d+: belongs to no folder of this project and is left alone", done.stdout)
    assert "signature" in (shared / "known.toml").read_text()


def test_update_adds_new_rows_and_drops_those_that_passed(project: Project) -> None:
    project.model("broken")
    project.model("worse", "export:exception")
    project.write(FILE, "# why this file exists\n" + row())
    assert project.run().code == 1
    proposed = project.bench("expect", "update")
    assert proposed.returncode == 1
    assert "1 failures of 1 kinds have no row" in proposed.stderr
    done = project.bench("expect", "update", "--reason", "fake is fake")
    assert done.returncode == 0, done.stderr
    assert "[[expectation]]" not in (project.folder / FILE).read_text()
    assert 'reason = "fake is fake"' in (project.folder / "suites/expectations/new.toml").read_text()
    assert project.run().code == 0


@pytest.fixture
def failing(project: Project) -> Project:
    """A project after a run: two cells failed in one way, a third in another; no row covers any of them."""
    project.model("a", "export:exception")
    project.model("b", "export:exception")
    project.model("c", "export:wrong-weights")
    assert project.run("-k", "export").code == 1
    return project


def _cells(project: Project) -> dict[str, Mapping[str, Any]]:
    return {row["cell"]["model"]: row for row in project.rows() if row["kind"] == "cell"}


def _rows_written(project: Project) -> dict[str, str]:
    """Model -> reason of the rows in new.toml."""
    path = project.folder / "suites/expectations/new.toml"
    rows = tomllib.loads(path.read_text())["expectation"] if path.exists() else []
    return {one["model"]: one["reason"] for one in rows}


def test_one_reason_for_several_kinds_is_refused_and_nothing_is_written(failing: Project) -> None:
    keys = {name: cell["key"] for name, cell in _cells(failing).items()}
    done = failing.bench("expect", "update", "--reason", "it is what it is")
    assert done.returncode == 2
    assert "one reason for 2 kinds of failures; give each its own, as --reason KEY=TEXT:" in done.stderr
    assert f"  {keys['a']}  2 x export: exception: ValueError: this is the first line" in done.stderr
    assert f"  {keys['c']}  1 x compare: mismatch: " in done.stderr
    assert _rows_written(failing) == {}


def test_every_kind_gets_its_own_reason(failing: Project) -> None:
    keys = {name: cell["key"] for name, cell in _cells(failing).items()}
    arguments = ["--reason", f"{keys['a'][:8]}=no such layer", "--reason", f"{keys['c']}=weights are lost"]
    done = failing.bench("expect", "update", *arguments)
    assert done.returncode == 0, done.stderr
    assert _rows_written(failing) == {"a": "no such layer", "b": "no such layer", "c": "weights are lost"}
    assert failing.run("-k", "export").code == 0


def test_a_cell_may_have_a_reason_that_others_of_its_kind_have_not(failing: Project) -> None:
    keys = {name: cell["key"] for name, cell in _cells(failing).items()}
    arguments = ["--reason", f"{keys['a']}=first", "--reason", f"{keys['b']}=second", "--reason", "what is left"]
    assert failing.bench("expect", "update", *arguments).returncode == 0
    assert _rows_written(failing) == {"a": "first", "b": "second", "c": "what is left"}


def test_what_has_no_reason_is_printed_and_left_out(failing: Project) -> None:
    keys = {name: cell["key"] for name, cell in _cells(failing).items()}
    done = failing.bench("expect", "update", "--json", "--reason", f"{keys['a']}=no such layer")
    said = json.loads(done.stdout)
    assert done.returncode == 1
    assert said["added"] == [keys["a"], keys["b"]]
    assert [row["key"] for row in said["without_reason"]] == [keys["c"]]
    assert set(_rows_written(failing)) == {"a", "b"}


@pytest.mark.parametrize(
    ("reasons", "message"),
    [
        (["0000=why"], "--reason 0000=...: no new failure has this key; the keys are "),
        (["one", "two"], "2 texts without a key; write --reason KEY=TEXT"),
        ([" "], "the reason is empty"),
    ],
)
def test_reasons_that_name_nothing_are_usage_errors(failing: Project, reasons: list[str], message: str) -> None:
    done = failing.bench("expect", "update", *[f"--reason={text}" for text in reasons])
    assert done.returncode == 2 and message in done.stderr
    assert _rows_written(failing) == {}


@pytest.mark.parametrize("name", ["elsewhere/new.toml", "suites/expectations/new.txt", "suites/expectations/a/b.toml"])
def test_a_file_that_no_run_reads_is_refused(failing: Project, name: str) -> None:
    done = failing.bench("expect", "update", "--file", name, "--reason", "why")
    assert done.returncode == 2
    assert f"--file {name}: a run would not read it" in done.stderr
    assert "the *.toml files of suites/expectations" in done.stderr
    assert not (failing.folder / name).exists()


def test_a_configured_folder_is_read_and_may_be_written_to(failing: Project) -> None:
    text = (failing.folder / "bench.toml").read_text()
    failing.write("bench.toml", f'expectations = ["known"]\n{text}')
    failing.write("known/.keep", "")
    keys = {name: cell["key"] for name, cell in _cells(failing).items()}
    reasons = [f"--reason={keys[name]}=why" for name in "ac"]
    assert failing.bench("expect", "update", "--file=known/export.toml", *reasons).returncode == 0
    assert failing.run("-k", "export").code == 0
