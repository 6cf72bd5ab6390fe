"""Known failures: typed, strict, with a reason; stale ones are found."""

from __future__ import annotations

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
        ): "known.toml:9: expectation[1].modle: unknown key; did you mean model? valid keys are check,",
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


def test_update_adds_new_rows_and_drops_those_that_passed(project: Project) -> None:
    project.model("broken")
    project.model("worse", "export:exception")
    project.write(FILE, "# why this file exists\n" + row())
    assert project.run().code == 1
    proposed = project.bench("expect", "update")
    assert proposed.returncode == 1
    assert "1 failures have no row" in proposed.stdout
    done = project.bench("expect", "update", "--reason", "fake is fake")
    assert done.returncode == 0, done.stderr
    assert "[[expectation]]" not in (project.folder / FILE).read_text()
    assert 'reason = "fake is fake"' in (project.folder / "suites/expectations/new.toml").read_text()
    assert project.run().code == 0
