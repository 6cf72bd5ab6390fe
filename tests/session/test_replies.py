"""Whatever an agent answers, each cell has its row: what breaks the contract is the harness's fault, and says where."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.project import Finished, Project, make_project

# model -> the fault of its agent, the stage of the row, what the row's reason says
REFUSED = {
    "no_file": ("export:no-file", "export", "adapter fake to export: file 'model.onnx' is missing"),
    "reply_list": ("export:no-reply-table", "export", "export: meta of its Reply is of type list; expected dict"),
    "meta_list": ("export:list-for-meta", "export", "field 'meta' is [1, 2]; expected object of anything"),
    "files_list": ("export:list-for-files", "export", "field 'files' is ['model.onnx']; expected object of str"),
    "file_twice": ("export:file-twice", "export", "field 'files' has "),
    "long_name": ("export:long-name", "export", "of 300 characters; expected 1 to 200"),
    "parent": ("export:parent-name", "export", "'../model.onnx'; expected a relative path without '..'"),
    "array_twice": ("export:array-twice", "export", "field 'arrays' has 'a' twice; expected each once"),
    "seconds": ("export:seconds", "export", "field 'seconds'['export'] is 'long'; expected float"),
    "seconds_nan": ("export:seconds-nan", "export", "field 'seconds'['export'] is nan; expected a duration"),
    "peak": ("export:peak", "export", "field 'peak' is 1.5; expected int"),
    "deep": ("export:deep", "export", "is nested more than 32 levels deep"),
    "outside": ("export:outside", "export", "is outside of the agent's folder"),
    "soft_link": ("export:symbolic-link", "export", "is a link or a device, not a file"),
    "symptom": ("export:wrong-symptom", "export", "field 'symptom' is 'boredom'; expected one of crash, exception"),
    "types": ("export:wrong-types", "export", "field 'message' is {'not': 'a text'}; expected str"),
    "no_truth": ("reference:no-truth", "reference", "adapter fake to reference: field 'truth' is missing"),
    "no_arrays": ("reference:no-arrays", "reference", "arrays 'truth:<output>' or 'default:<output>' are missing"),
}
OTHERS = {  # the same, with the symptom
    "large_file": ("export:large-file", "out-of-memory", "the answer's files have 8192 MiB, the limit is 1024 MiB"),
    "large_answer": ("export:large-answer", "out-of-memory", "the agent's answer has 3072 MiB, the limit is 1024 MiB"),
    "unreadable": ("export:unreadable", "exception", "_Unreadable, whose text cannot be read"),
    "cyclic": ("export:cyclic", "exception", "ValueError: first"),
    "long_stage": ("export:long-stage", "exception", "a stage has a name of 1 to 200 characters, not 'xxx"),
}
IMPORTS = {
    "import_shims": ("import:shims", "import", "adapter fake to import_model: field 'shims' is 5; expected list of"),
    "misnamed": ("run:misnamed", "run", "array 'output' is no output; outputs are named out0, out1 ..."),
}
NO_INPUT = "export:file-no-input"
SPOILED = """
from bench_plugin.session.engines.local import LocalEngine

compute = LocalEngine._compute

def spoiled(self, cell, others):
    outcome = compute(self, cell, others)
    if cell.model == "broken" and cell.check == "export":
        outcome.placement["share"] = float("nan")
    return outcome

LocalEngine._compute = spoiled
"""
FINE = {
    "nan_meta": "export:nan-meta",
    "hard_link": "export:hard-link",
    "reset": "import:reset-hangs",
    "no_input": NO_INPUT,
    "no_samples": "reference:no-samples",
    "fine": "",
}


@pytest.fixture(scope="module")
def outside(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file that is none of the agents' business."""
    path = tmp_path_factory.mktemp("outside") / "mine"
    path.write_bytes(b"mine")
    return path


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory, tools_python: Path, outside: Path) -> Finished:
    """One run with all of these agents, and with a model whose agent is as it should be."""
    project = make_project(tmp_path_factory.mktemp("replies"), tools_python)
    project.environment["FAKE_OUTSIDE"] = str(outside)
    faults = {name: fault for name, (fault, *_) in {**REFUSED, **OTHERS, **IMPORTS}.items()}
    for name, fault in {**faults, **FINE}.items():
        project.model(name, fault, seconds=30)
    return project.run()


@pytest.mark.parametrize("name", REFUSED)
def test_a_reply_that_breaks_the_contract_is_a_row(finished: Finished, name: str) -> None:
    _, stage, reason = REFUSED[name]
    assert finished.verdict(name) == ("ERROR", stage, "harness")
    assert reason in finished.cells("export")[name]["reason"]


@pytest.mark.parametrize("name", OTHERS)
def test_a_reply_that_is_too_large_or_an_odd_exception_is_a_row(finished: Finished, name: str) -> None:
    _, symptom, reason = OTHERS[name]
    assert finished.verdict(name) == ("ERROR", "export", symptom)
    assert reason in finished.cells("export")[name]["reason"]


@pytest.mark.parametrize("name", IMPORTS)
def test_an_import_that_breaks_the_contract_is_a_row(finished: Finished, name: str) -> None:
    _, stage, reason = IMPORTS[name]
    assert finished.verdict(name, "import") == ("ERROR", stage, "harness")
    assert reason in finished.cells("import")[name]["reason"]


def test_every_cell_has_a_row_and_the_others_are_unharmed(finished: Finished) -> None:
    count = len(REFUSED) + len(OTHERS) + len(IMPORTS) + len(FINE)
    assert len(finished.cells("export")) == len(finished.cells("import")) == count
    for check in ("export", "import"):
        assert finished.verdict("fine", check) == ("supported", None, None)
    assert finished.code == 1
    assert "INTERNALERROR" not in finished.text


def test_an_import_of_a_file_without_inputs_is_a_row(finished: Finished) -> None:
    said = "the file takes 0 inputs (), the model has 1"
    assert finished.verdict("no_input") == ("ERROR", "check", "invalid-model")
    row = finished.cells("import")["no_input"]
    assert (row["status"], row["reason"]) == ("unverified", f"export failed: {said}")


def test_numbers_that_json_lacks_are_replaced_with_a_remark(finished: Finished) -> None:
    assert finished.verdict("nan_meta") == ("supported", None, None)
    assert "export: loss: inf was replaced by nothing" in finished.cells("export")["nan_meta"]["flags"]


def test_a_file_elsewhere_is_neither_moved_nor_opened(finished: Finished, outside: Path) -> None:
    assert outside.read_bytes() == b"mine"
    # A hard link cannot be told from the file itself, so it is copied; what it holds is no model.
    assert finished.verdict("hard_link") == ("ERROR", "check", "invalid-model")


def test_a_reset_that_hangs_is_remarked_in_the_cell_that_left_it(finished: Finished) -> None:
    row = finished.cells("import")["reset"]
    assert (row["status"], row["timings"]["import"] < 5) == ("supported", True)
    said = "import: its agent was replaced, because reset() failed afterwards: the call took longer than 5 s"
    assert [name for name, row in finished.cells("import").items() if said in row["flags"]] == ["reset"]


def test_a_toolchain_whose_python_ends_at_once_gives_rows(project: Project) -> None:
    project.write("toolchains/fake.toml", 'title = "Fake"\npython = "/bin/false"\nmemory_gb = 0.5\n')
    for name in ("one", "two"):
        project.model(name)
    finished = project.run()
    assert finished.code == 1 and "INTERNALERROR" not in finished.text
    for name in ("one", "two"):
        assert finished.verdict(name) == ("ERROR", "export", "harness")
        said = "toolchain fake: /bin/false: the agent did not start: the agent ended with exit code 1"
        assert finished.cells("export")[name]["reason"] == said
        assert finished.verdict(name, "import")[0] == "unverified"


def test_what_the_judge_did_not_foresee_is_a_row(finished: Finished) -> None:
    assert finished.verdict("no_samples") == ("ERROR", "compare", "harness")
    row = finished.cells("export")["no_samples"]
    assert row["reason"].startswith("the benchmark itself failed: TypeError: ")
    assert row["detail"].startswith("Traceback") and "in measure_noise" in row["detail"]
    assert row["versions"] == finished.cells("export")["fine"]["versions"]


def test_a_fault_while_the_row_is_made_is_a_row_too(project: Project) -> None:
    """No reply is known that gets so far, so the fault is put in: an outcome whose placement JSON cannot hold."""
    for name in ("broken", "fine"):
        project.model(name)
    project.write("conftest.py", SPOILED)
    finished = project.run()
    assert finished.code == 1 and "INTERNALERROR" not in finished.text
    assert finished.verdict("broken") == ("ERROR", "compare", "harness")
    assert "Out of range float values" in finished.cells("export")["broken"]["reason"]
    assert finished.verdict("broken", "import") == finished.verdict("fine") == ("supported", None, None)


def test_a_guardian_that_is_gone_gives_rows(project: Project) -> None:
    project.model("killer", "export:kill-guardian")
    finished = project.run()
    assert finished.code == 1 and "INTERNALERROR" not in finished.text
    # The agent of the export may end with its guardian; if it does not, that of the check cannot be started.
    status, stage, symptom = finished.verdict("killer")
    assert status == "ERROR" and (stage, symptom) in (("check", "harness"), ("export", "harness"), ("export", "crash"))
    assert finished.verdict("killer", "import")[0] == "unverified"
    assert "guardian of the agents" in finished.cells("export")["killer"]["reason"] or stage == "export"
