"""A compiler that is known to be wrong, through the whole plugin: found, made small, reported once, then expected."""

from __future__ import annotations

import json
import shutil
import sys
import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.fake.wrong_compiler import SPOILT
from tests.project import FRAMEWORK, Project, make_project

WRONG = Path(__file__).parents[1] / "fake" / "wrong_compiler.py"
TESTS = """
import pytest

@pytest.mark.bench(check="property")
def test_property(bench_cell):
    bench_cell.verify()
"""

# Python starts with this, and then finds everything but hypothesis.
WITHOUT_HYPOTHESIS = """
from functools import partial
from importlib.machinery import PathFinder

def find(found, name, *more):
    return None if name == "hypothesis" else found(name, *more)

PathFinder.find_spec = partial(find, PathFinder.find_spec)
"""


@pytest.fixture
def project(tmp_path: Path) -> Project:
    made = make_project(tmp_path, Path(sys.executable))
    adapters = f'adapters = ["{FRAMEWORK}", "{WRONG}"]'
    made.write("bench.toml", f'{adapters}\ntoolchains = ["toolchains"]\nexpectations = ["known"]\n')
    made.write("test_models.py", TESTS)
    (tmp_path / "known").mkdir()
    return made


def run(project: Project, *names: str) -> tuple[int, str, dict[str, Any]]:
    finished = project.run("--bench-compilers=wrong", f"--bench-cases={','.join(names)}")
    return finished.code, finished.text, dict(finished.cells("property"))


def test_wrong_operators_are_found_once_each_and_then_expected(project: Project) -> None:
    code, text, rows = run(project, "Relu", "Elu", "Shrink", "Softplus")
    assert code == 1, text
    assert rows["Relu"]["status"] == "supported"
    assert rows["Relu"]["numbers"]["agreed"] == rows["Relu"]["numbers"]["judged"] > 0
    assert 0 < rows["Elu"]["numbers"]["agreed"] < rows["Elu"]["numbers"]["judged"]
    found = {name: (rows[name]["stage"], rows[name]["symptom"]) for name in ("Elu", "Shrink", "Softplus")}
    assert found == {
        "Elu": ("compare", "mismatch"),
        "Shrink": ("compile", "exception"),
        "Softplus": ("compile", "crash"),
    }
    for name in found:
        (one,) = rows[name]["numbers"]["found"]
        assert one["operators"] == [name] and one["reproduced"]
    folder = Path(rows["Elu"]["numbers"]["found"][0]["folder"])
    graph = json.loads((folder / "graph.json").read_text())
    assert [int(np.prod(row["shape"])) for row in graph["sources"]] == [2]
    assert (folder / "model.onnx").stat().st_size and "--compilers=wrong" in (folder / "repro.txt").read_text()
    with np.load(folder / "inputs.npz") as stored:
        assert set(stored) == {"x0"}
    with np.load(folder / "expected.npz") as stored:
        assert set(stored) == {"expected0"}

    for name in found:
        learn(project, Path(rows[name]["numbers"]["found"][0]["folder"]))
    code, text, rows = run(project, "Elu", "Shrink", "Softplus")
    assert code == 0 and "3 xfailed" in text, text
    assert rows["Elu"]["numbers"]["known"] > 0 and rows["Elu"]["numbers"]["found"] is None


def test_update_writes_the_row_of_a_generated_graph_with_its_example(project: Project) -> None:
    assert run(project, "Elu")[0] == 1
    done = project.bench("expect", "update", "--reason", 'alpha is "left out"', "--file", "known/new.toml")
    assert done.returncode == 0, done.stdout + done.stderr
    (row,) = tomllib.loads((project.folder / "known/new.toml").read_text())["expectation"]
    assert row["reason"] == 'alpha is "left out"' and (project.folder / "known" / row["example"]).stat().st_size
    code, text, rows = run(project, "Elu")
    assert code == 0 and rows["Elu"]["result"] == "xfailed", text


def test_update_says_which_files_of_a_search_are_gone(project: Project) -> None:
    rows = run(project, "Elu")[2]
    folder = Path(rows["Elu"]["numbers"]["found"][0]["folder"])
    (folder / "graph.json").unlink()
    done = project.bench("expect", "update", "--reason", "alpha", "--file", "known/new.toml")
    assert done.returncode == 2 and f"cell {rows['Elu']['key']}: the files of Elu(" in done.stderr, done.stderr
    assert not (project.folder / "known/new.toml").exists()


def test_the_example_of_a_cell_is_reduced_with_its_own_inputs(project: Project) -> None:
    _, _, rows = run(project, "Elu")
    done = project.bench("reduce", rows["Elu"]["key"], "--output", "small")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "compare: mismatch" in done.stdout and "1 of 1 nodes: Elu" in done.stdout
    learn(project, Path(rows["Elu"]["numbers"]["found"][0]["folder"]))
    _, _, rows = run(project, "Elu")
    [seen] = rows["Elu"]["numbers"]["seen"]
    assert (Path(seen["folder"]) / "model.onnx").is_file() and seen["row"].startswith("wrong.toml row ")
    assert project.bench("reduce", rows["Elu"]["key"], "--output", "known").returncode == 0


def learn(project: Project, folder: Path) -> None:
    """Take the row that a finding comes with into the project's known failures."""
    row = (folder / "expectation.toml").read_text()
    name = row.partition('example = "')[2].partition('"')[0]
    target = project.folder / "known" / name
    target.parent.mkdir(exist_ok=True)
    shutil.copy(folder / "graph.json", target)
    with (project.folder / "known" / "wrong.toml").open("a") as file:
        file.write(row)


def test_a_nightly_search_tries_more_examples_and_other_ones_every_night(project: Project) -> None:
    selected = ("--bench-compilers=wrong", "--bench-cases=Relu")
    quick, nightly = (
        project.run(*selected, f"--bench-search={effort}").cells("property")["Relu"] for effort in ("quick", "nightly")
    )
    assert (quick["settings"]["search"], nightly["settings"]["search"]) == ("quick", "nightly")
    # Ten, and one for each of four types of integers; no graph is tried twice.
    assert 10 <= quick["numbers"]["tried"] <= 14 and quick["numbers"]["seed"] is None
    assert 100 < nightly["numbers"]["tried"] <= 400 and nightly["numbers"]["seed"] is not None


def test_graphs_of_several_name_the_guilty_operator(project: Project) -> None:
    # Which graphs are tried depends on the whole code base, whose constants hypothesis collects. Making a crash small
    # costs a process per graph and may take all the time, so nothing crashes here.
    project.write("calm.py", WRONG.read_text("utf-8").replace('"Softplus"', '"none"'))
    settings = (project.folder / "bench.toml").read_text("utf-8")
    project.write("bench.toml", settings.replace(str(WRONG), "calm.py"))
    code, text, rows = run(project, "dag")
    assert code == 1, text
    found = rows["dag"]["numbers"]["found"]
    guilty = {"mismatch": SPOILT, "exception": ("Shrink",)}
    assert "mismatch" in [one["symptom"] for one in found]
    assert all(set(guilty[one["symptom"]]) & set(one["operators"]) for one in found)


def test_a_known_failure_that_is_gone_is_progress(project: Project) -> None:
    _, _, rows = run(project, "Elu")
    learn(project, Path(rows["Elu"]["numbers"]["found"][0]["folder"]))
    example = next((project.folder / "known" / "examples").iterdir())
    graph = json.loads(example.read_text())
    graph["nodes"][0]["operator"] = "Relu"
    graph["nodes"][0]["attributes"] = {}
    example.write_text(json.dumps(graph))
    code, text, _ = run(project, "Elu")
    assert code == 1 and "progress" in text, text


def test_a_row_without_a_signature_is_refused(project: Project) -> None:
    project.write(
        "known/wrong.toml",
        '[[expectation]]\ncheck = "property"\nmodel = "Elu"\nstage = "compare"\nsymptom = "mismatch"\nreason = "x"\n',
    )
    code, text, _ = run(project, "Elu")
    assert code == 4 and "operators, signature, example" in text, text


def test_without_hypothesis_the_missing_extra_is_named_at_collection(project: Project) -> None:
    project.write("site/sitecustomize.py", WITHOUT_HYPOTHESIS)
    project.environment["PYTHONPATH"] = str(project.folder / "site")
    said = "hypothesis is not installed: pip install 'bench-plugin[properties]'"
    alone = project.run("--bench-compilers=wrong", "-p", "no:hypothesispytest")
    assert alone.code == 4 and said in alone.text
    project.write("test_models.py", f"{TESTS}\ndef test_other():\n    pass\n")
    beside = project.run("--bench-compilers=wrong", "-p", "no:hypothesispytest")
    assert beside.code == 0 and "1 passed" in beside.text
    assert "test_property: no cell in this selection: " in beside.text and said in beside.text
