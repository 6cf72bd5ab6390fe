"""Operator cases in a compiler that breaks: what ends badly costs its own case, and nothing is made twice."""

from __future__ import annotations

import json
import re
import shutil
import tomllib
from collections import Counter
from pathlib import Path

import pytest

from tests.project import Finished, Project, make_project

FAKE = Path(__file__).parent.parent / "fake"
TESTS = """
import pytest

@pytest.mark.bench(check="operator")
def test_operator(bench_cell):
    bench_cell.verify()
"""
CASES = {
    "test_abs": "Abs", "test_exp": "Exp", "test_neg": "Neg", "test_new": "Abs", "test_relu": "Relu",
    "test_sqrt": "Sqrt", "test_string": "Identity", "test_tanh": "Tanh",
    "test_sin": "Sin", "test_new_but_right": "Atan", "test_old": "Cos", "test_old_but_right": "Abs",
    "test_changed": "Sinh", "test_added": "Cosh", "test_memory": "Ceil", "test_last_bit": "Log",
    "test_lower": "StringNormalizer", "test_lost": "StringConcat",
}  # fmt: skip
OPSETS = {"test_new": 99, "test_new_but_right": 99, "test_old": 6, "test_old_but_right": 6}
INDEX = "name,category,nodes,ir,opset,operators\n" + "".join(
    f"{name},node,1,8,{OPSETS.get(name, 13)},{operator}\n" for name, operator in CASES.items()
)
ERRATA = """
[[erratum]]
operator = "Sinh"
opset = 13
pull_request = 4711
link = "https://example.org/pull/4711"
changed = "its result is that of Sinh"
cases = ["test_changed", "test_abs", "test_neg", "test_exp"]

[[erratum]]
operator = "Cosh"
opset = 13
pull_request = 4712
link = "https://example.org/pull/4712"
changed = "window_size was added"
refusals = "window_size"
cases = ["test_added", "test_neg"]
"""


def operators_project(folder: Path, python: Path) -> Project:
    project = make_project(folder, python)
    adapters = json.dumps([str(FAKE / "corpus.py"), str(FAKE / "breaking.py")])
    project.write("bench.toml", f'adapters = {adapters}\ntoolchains = ["toolchains"]\nenvironment = ["FAKE_*"]\n')
    project.write("fixtures/operators/corpus.csv", INDEX)
    project.write("fixtures/operators/errata.toml", ERRATA)
    project.write("test_models.py", TESTS)
    project.environment["FAKE_CALLS"] = str(folder / "calls.txt")
    return project


def run(project: Project, *arguments: str) -> Finished:
    command = [part for part in project.command(*arguments) if not part.startswith("--frameworks")]
    import subprocess

    options = ["--compilers=breaking", "--bench-profile=full"]
    chosen = [] if any(part.startswith("--compilers") for part in arguments) else options
    done = subprocess.run(
        [*command, *chosen], cwd=project.folder, env=project.environment, text=True, capture_output=True, timeout=120
    )
    return Finished(done.returncode, done.stdout + done.stderr, project.rows())


def calls(project: Project) -> Counter[str]:
    path = project.folder / "calls.txt"
    return Counter(path.read_text().split()) if path.exists() else Counter()


def counted(project: Project) -> int:
    """The rows of operator cases that `bench expect check` counts."""
    said = re.search(r"^\d+ rows and (\d+) of operator cases, ", project.bench("expect", "check").stdout, re.MULTILINE)
    assert said
    return int(said[1])


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory, tools_python: Path) -> Project:
    return operators_project(tmp_path_factory.mktemp("operators"), tools_python)


@pytest.fixture(scope="module")
def finished(project: Project) -> Finished:
    return run(project)


VERDICTS = {
    "test_abs": ("supported", None, None),
    "test_exp": ("ERROR", "compile", "crash"),
    "test_neg": ("unsupported", "compile", "unsupported"),
    "test_new": ("version skew", "compile", "version-skew"),
    "test_relu": ("version skew", "compile", "version-skew"),
    "test_sqrt": ("supported", None, None),
    "test_string": ("unverified", None, None),
    "test_tanh": ("outside our bound", "compare", None),
    "test_sin": ("mismatch", "compare", "mismatch"),
    "test_new_but_right": ("supported", None, None),
    "test_old": ("version skew", "compare", "version-skew"),
    "test_old_but_right": ("supported", None, None),
    "test_changed": ("version skew", "compare", "version-skew"),
    "test_added": ("version skew", "compile", "version-skew"),
    "test_memory": ("mismatch", "compare", "nondeterministic"),
    "test_last_bit": ("supported", None, None),
    "test_lower": ("unsupported", "compile", "unsupported"),
    "test_lost": ("unverified", None, None),
}


@pytest.mark.parametrize("name", VERDICTS)
def test_verdicts(finished: Finished, name: str) -> None:
    assert finished.verdict(name, "operator") == VERDICTS[name], finished.text


def test_pytest_agrees(finished: Finished) -> None:
    assert "5 failed, 6 passed, 7 skipped" in finished.text, finished.text
    assert finished.code == 1


def test_a_crash_names_the_signal_and_is_tried_again(finished: Finished) -> None:
    row = finished.cells()["test_exp"]
    assert "SIGSEGV" in row["reason"]
    assert (row["retry"]["fresh"], row["retry"]["confirmed"]) == ("compile: crash", True)


def test_skew_is_tried_again_converted(finished: Finished) -> None:
    numbers = finished.cells()["test_new"]["numbers"]
    assert numbers["converted"]["status"] == "supported"
    assert numbers["converted"]["opset"] == 20
    said = finished.cells()["test_new"]["reason"]
    assert said.startswith("opset 99, IR ") and "breaking takes opset 7 to 20, IR 10; at opset 20, IR " in said
    assert " it is supported; as it is it failed so: " in said
    said = finished.cells()["test_relu"]["numbers"]["converted"]
    assert said == {"status": "", "reason": "the adapter does not declare what its tool takes"}


def test_what_cannot_be_handed_over_says_so(finished: Finished) -> None:
    reason = "harness: our adapter of breaking hands over no values of type str; breaking compiles the case"
    assert finished.cells()["test_string"]["reason"] == reason


def test_a_tool_that_refuses_the_case_has_given_its_verdict_whatever_can_be_handed_over(finished: Finished) -> None:
    row = finished.cells()["test_lower"]
    assert (row["reason"], row["result"]) == ("there is no StringNormalizer here", "failed")


def test_an_adapter_that_fails_where_it_cannot_hand_over_is_not_the_tools_failure(finished: Finished) -> None:
    reason = finished.cells()["test_lost"]["reason"]
    assert reason == (
        "harness: our adapter of breaking hands over no values of type str; its adapter fails: KeyError: 'StringConcat'"
    )


def test_strict_and_stock_stand_beside_each_other(finished: Finished) -> None:
    numbers = finished.cells()["test_tanh"]["numbers"]
    assert (numbers["strict"], numbers["stock"], numbers["rule"]) == ("fail", "pass", "5 ULP")
    assert numbers["needed"] > 1
    numbers = finished.cells()["test_sin"]["numbers"]
    assert (numbers["strict"], numbers["stock"]) == ("fail", "fail")


def test_what_onnx_itself_takes_is_no_defect(finished: Finished) -> None:
    row = finished.cells()["test_tanh"]
    assert (row["result"], row["numbers"]["needed"] > 1) == ("passed", True)
    assert "out of 5 ULP" in row["reason"]


def test_a_case_outside_the_range_of_opsets_is_tried_all_the_same(finished: Finished) -> None:
    reason = finished.cells()["test_old"]["reason"]
    assert "opset 6; breaking takes opset 7 to 20, IR 10; it failed so: output 0: out of 4 ULP" in reason
    assert finished.cells()["test_old"]["numbers"]["converted"] is None, "nothing converts it to a newer opset"


def test_a_rule_that_was_changed_in_place_is_named(finished: Finished) -> None:
    changed, added = (finished.cells()[name]["reason"] for name in ("test_changed", "test_added"))
    assert "pull request 4711 (https://example.org/pull/4711): its result is that of Sinh; it failed so: " in changed
    assert "pull request 4712" in added and "Unrecognized attribute" in added


def test_what_differs_between_two_processes_says_so(finished: Finished) -> None:
    rows = finished.cells()
    assert {name: row["numbers"]["deterministic"] for name, row in rows.items() if row["verified"]} == {
        "test_abs": True, "test_sqrt": True, "test_last_bit": False, "test_new_but_right": True,
        "test_old_but_right": True,
    }  # fmt: skip
    assert rows["test_sin"]["numbers"]["deterministic"] is True
    assert rows["test_memory"]["numbers"]["deterministic"] is False
    said = re.search(r"two fresh processes gave two results: .* (\S+) for (\S+)$", rows["test_memory"]["reason"])
    assert said and float(said[1]) != float(said[2])


def test_the_page(finished: Finished, project: Project) -> None:
    data = json.loads((project.folder / "reports/onnx-operators.json").read_text())
    score = data["scores"]["breaking"]
    assert (score["statuses"]["supported"], score["statuses"]["outside our bound"]) == (5, 1)
    assert score["score"] == pytest.approx(5 / 10)
    assert score["score_with_skew"] == pytest.approx(6 / 12)  # of the skews those that have a converted form
    assert data["operators"]["Exp"]["breaking"]["worst"] == "ERROR"
    page = (project.folder / "reports/onnx-operators.md").read_text()
    assert "values of a type that our harness does not support there" in page and "1 unverified" in page


def test_a_mismatch_is_repeated_in_fresh_processes(finished: Finished) -> None:
    retry = finished.cells()["test_sin"]["retry"]
    assert (retry["mismatch"], retry["fresh"], retry["symptom"]) == (True, "mismatch", "")
    assert finished.cells()["test_abs"]["retry"] == {}


def test_a_mismatch_of_a_used_process_alone_does_not_count(tmp_path: Path, tools_python: Path) -> None:
    project = operators_project(tmp_path, tools_python)
    project.environment["FAKE_LEAK"] = "1"
    for again in (False, True):
        row = run(project, "--bench-cases=test_abs,test_sqrt").cells()["test_sqrt"]
        assert row["status"] == "supported"
        assert row["flags"] == ([] if again else ["harness: state carried over"])
        assert bool(row["retry"]) is not again, "the fresh result was stored"


def test_a_second_run_runs_only_what_is_never_stored(project: Project, finished: Finished) -> None:
    before = calls(project)
    again = run(project)
    after = calls(project)
    assert after["collect"] == before["collect"] == 1
    assert after["run"] == before["run"]
    assert {name: row["status"] for name, row in again.cells().items()} == {
        name: row["status"] for name, row in finished.cells().items()
    }
    assert again.cells()["test_abs"]["stages_cached"] == ["run"]
    assert again.cells()["test_exp"]["stages_cached"] == ["run"]
    assert again.cells()["test_exp"]["retry"] == {"confirmed": True}


def test_refresh_runs_the_compilers_again_and_keeps_the_corpus(project: Project, finished: Finished) -> None:
    before = calls(project)
    again = run(project, "--bench-refresh")
    after = calls(project)
    assert after["collect"] == before["collect"] == 1
    assert after["run"] > before["run"]
    assert again.cells()["test_abs"]["stages_cached"] == []


def test_without_its_cache_the_corpus_is_made_again(project: Project, finished: Finished) -> None:
    before = calls(project)
    pruned = project.bench("cache", "prune", "--keep-gb", "0", "--cache", str(project.folder / "cache"))
    assert pruned.returncode == 0, pruned.stderr
    run(project)
    assert calls(project)["collect"] == before["collect"] + 1


def test_resume_reuses_rows(project: Project, finished: Finished) -> None:
    lasting = {row["cell"]["model"]: row["reusable"] for row in project.rows() if row["kind"] == "cell"}
    assert [case for case, reusable in lasting.items() if not reusable] in (["test_exp"], []), "the one that crashes"
    resumed = run(project, "--bench-resume")
    assert f"{sum(lasting.values())} rows reused" in resumed.text


def test_one_case(project: Project, finished: Finished) -> None:
    one = run(project, "--bench-cases=test_abs")
    assert "1 passed" in one.text
    wrong = run(project, "--bench-cases=test_nothing")
    assert wrong.code == 4
    assert "unknown case 'test_nothing'" in wrong.text


def test_known_failures_are_written_and_hold(tmp_path: Path, tools_python: Path) -> None:
    project = operators_project(tmp_path, tools_python)
    before = counted(project)  # the checkout's own
    run(project)
    made = project.bench("expect", "update")
    path = tmp_path / "suites/expectations/operators/breaking.toml"
    assert "5 cases, 5 added" in made.stdout and "5 not analysed" in made.stdout, made.stdout + made.stderr
    rows = {row["model"][0]: row for row in tomllib.loads(path.read_text())["expectation"]}
    assert rows["test_neg"]["signature"] == "there is no Neg here"
    assert rows["test_exp"]["signature"] == "SIGSEGV in breaking.py compile"
    assert rows["test_sin"]["needed"] > 1 and "signature" not in rows["test_sin"]
    assert rows["test_memory"]["symptom"] == "nondeterministic"
    assert {row["reason"] for row in rows.values()} == {"not analysed"}
    assert counted(project) == before + 5
    known = run(project)
    assert "6 passed, 7 skipped, 5 xfailed" in known.text, known.text
    path.write_text(path.read_text().replace("no Neg here", "no Foo here"))
    assert (
        "a new failure, found compile: unsupported: 'there is no Neg here'"
        in run(project, "--bench-cases=test_neg").text
    )
    changed = project.bench("expect", "update")
    assert "5 cases, 0 added, 0 fail otherwise than before, 1 signed anew" in changed.stdout, "nobody had analysed it"
    path.write_text(path.read_text().replace('"test_neg"', '"test_abs"'))
    progress = run(project)
    assert "progress" in progress.text and "2 failed" in progress.text, progress.text


def test_known_failures_of_another_build_hold_for_its_version(tmp_path: Path, tools_python: Path) -> None:
    project = operators_project(tmp_path, tools_python)
    text = (FAKE / "breaking.py").read_text()
    # The lock of its toolchain has typing-extensions and no typing, as that of another build has onnxruntime-gpu alone.
    declared = '"distribution": "numpy",'
    assert text.count(declared) == 1
    text = text.replace(declared, '"distribution": "typing", "distributions": ["typing-extensions"],')
    adapters = json.dumps([str(FAKE / "corpus.py"), str(project.write("breaking.py", text))])
    project.write("bench.toml", f'adapters = {adapters}\ntoolchains = ["toolchains"]\nenvironment = ["FAKE_*"]\n')
    run(project, "--bench-cases=test_neg")
    made = project.bench("expect", "update")
    assert "1 cases, 1 added" in made.stdout, made.stdout + made.stderr
    [row] = tomllib.loads((tmp_path / "suites/expectations/operators/breaking.toml").read_text())["expectation"]
    assert row["when"].startswith("typing-extensions==")
    assert "1 xfailed" in run(project, "--bench-cases=test_neg").text


def test_a_failure_that_a_row_written_by_hand_covers_is_left_to_that_row(tmp_path: Path, tools_python: Path) -> None:
    project = operators_project(tmp_path, tools_python)
    project.write(
        "suites/expectations/own.toml",
        """
[[expectation]]
check = "operator"
compiler = "breaking"
stage = "compile"
symptom = "unsupported"
signature = "there is no Neg here"
reason = "a row for many cases"
""",
    )
    run(project, "--bench-cases=test_neg,test_exp")
    made = project.bench("expect", "update")
    assert "1 cases, 1 added" in made.stdout, made.stdout + made.stderr
    path = tmp_path / "suites/expectations/operators/breaking.toml"
    assert [row["model"] for row in tomllib.loads(path.read_text())["expectation"]] == [["test_exp"]]


def test_a_corpus_with_other_numbers_is_run_again(tmp_path: Path, tools_python: Path) -> None:
    project = operators_project(tmp_path, tools_python)
    numbers = project.write("numbers.txt", "0.5 1 2 3")
    text = (FAKE / "corpus.py").read_text()
    own = text.replace("[0.5, 1.0, 2.0, 3.0]", f"[float(one) for one in open({str(numbers)!r}).read().split()]")
    assert own != text
    adapters = json.dumps([str(project.write("own_corpus.py", own)), str(FAKE / "breaking.py")])
    listed = f'adapters = {adapters}\ntoolchains = ["toolchains"]\nenvironment = ["FAKE_*"]\n'
    project.write("bench.toml", listed)
    assert run(project, "--bench-cases=test_abs").verdict("test_abs", "operator")[0] == "supported"
    numbers.write_text("0.25 1 4 9")
    for record in (tmp_path / "cache/entries").glob("*/*/*/record.json"):
        if (
            json.loads(record.read_text().partition("\n")[2])["stage"] != "run"
        ):  # what remains are the outputs of the compiler
            shutil.rmtree(record.parent)
    again = run(project, "--bench-cases=test_abs")
    assert again.verdict("test_abs", "operator")[0] == "supported", again.text
    assert again.cells()["test_abs"]["stages_cached"] == []


def test_several_compilers_work_ahead(tmp_path: Path, tools_python: Path) -> None:
    project = operators_project(tmp_path, tools_python)
    both = run(project, "--compilers=breaking,onnxruntime", "--bench-profile=full")
    statuses = Counter(
        row["status"] for row in both.rows if row["kind"] == "cell" and row["cell"]["compiler"] == "breaking"
    )
    assert statuses == {
        "supported": 5, "outside our bound": 1, "ERROR": 1, "unsupported": 2, "version skew": 5, "unverified": 2,
        "mismatch": 2,
    }  # fmt: skip
    assert sum(row["kind"] == "cell" for row in both.rows) == 36


def test_where_the_artefact_is_the_model_one_process_compiles_and_runs(tmp_path: Path, tools_python: Path) -> None:
    project = operators_project(tmp_path, tools_python)
    logs = project.folder / "reports/logs"
    started = []
    for compiler in ("breaking", "onnxruntime"):
        finished = run(project, f"--compilers={compiler}", "--bench-profile=full", "--bench-cases=test_abs")
        assert finished.verdict("test_abs", "operator")[0] == "supported", finished.text
        started.append(len(list(logs.iterdir())) - sum(started))
    assert started == [3, 1]  # the first run also collects the corpus


def test_the_index_is_written_from_the_corpus(tmp_path: Path, tools_python: Path) -> None:
    project = operators_project(tmp_path, tools_python)
    index = tmp_path / "fixtures/operators/corpus.csv"
    index.write_text(INDEX.replace("test_exp,node,1", "test_exp,node,2").replace("test_abs,", "test_gone,"))
    check = project.bench("corpus", "check")
    assert check.returncode == 1
    assert check.stdout.splitlines()[:3] == ["test_abs: differs", "test_exp: differs", "test_gone: differs"]
    assert project.bench("corpus", "update").returncode == 0
    assert "test_abs,node,1,8,13,Abs\n" in index.read_text() and "test_exp,node,1,8,13,Exp\n" in index.read_text()
    assert "test_gone" not in index.read_text()
    assert project.bench("corpus", "check").returncode == 0
