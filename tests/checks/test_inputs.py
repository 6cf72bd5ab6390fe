"""What agents are given is what recipes say, through whole runs: files that an adapter or an editor changes, arrays."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.project import FRAMEWORK, Finished, Project

COMPILER = Path(__file__).parent.parent / "fake" / "compiler.py"
TESTS = """
import pytest

@pytest.mark.bench(check="equivalence")
def test_equivalence(bench_cell):
    bench_cell.verify()
"""
WORK = "        files = external.artefact("  # the line of the fake compiler that does its work
# Weights that are off by a hundredth, in the file that the call gave: the file stays valid, its results are wrong.
SPOIL = """
        import onnx
        given = call.files["model.onnx"]
        os.chmod(given, 0o644)
        model = onnx.load(given)
        for tensor in model.graph.initializer:
            tensor.CopyFrom(onnx.numpy_helper.from_array(onnx.numpy_helper.to_array(tensor) * 2, tensor.name))
        onnx.save(model, given)
"""
VARIED = """
        import onnx
        path = call.path("own.onnx")
        model = onnx.load(call.files["model.onnx"])
        model.doc_string = os.urandom(8).hex()
        onnx.save(model, path)
        call.files["model.onnx"] = path
"""
DATASET = """
from bench_plugin.agent.adapter import Reply
from bench_plugin.agent.toolkit import samples

ADAPTER = {"name": "noise", "kind": "dataset", "toolchain": "fake", "title": "Noise", "distribution": "numpy",
           "operations": ["fetch"], "classes": 2}

class Adapter:
    def versions(self):
        return {}

    def reset(self):
        pass

    def fetch(self, call):
        import numpy as np

        call.stage("build")
        rng = np.random.default_rng(int(open(SEED).read()))
        images, labels = rng.random((64, 8), dtype=np.float32), rng.integers(0, 2, 64)
        return Reply({"classes": 2}, samples.blobs(dict(x_train=images, y_train=labels, x_test=images, y_test=labels)))
"""
# Another version of NumPy may have another stream of random numbers.
OTHER_STREAM = """
import numpy as np

stock = np.random.default_rng
np.random.default_rng = lambda seed: stock([7, *seed])
"""


@pytest.fixture
def compiled(project: Project) -> Project:
    """A project with one model and the fake compiler."""
    project.write("test_models.py", TESTS)
    project.model("net")
    adapters(project)
    return project


def adapters(project: Project, **work: str) -> None:
    """The fake compiler, and copies of it under these names that do something else before their work."""
    paths = [FRAMEWORK, COMPILER]
    for name, lines in work.items():
        text = COMPILER.read_text().replace('"name": "fakec"', f'"name": "{name}"').replace(WORK, lines + WORK)
        paths.append(project.write(f"{name}.py", text))
    listed = ", ".join(f'"{path}"' for path in paths)
    project.write("bench.toml", f'adapters = [{listed}]\ntoolchains = ["toolchains"]\n')


def by_compiler(finished: Finished) -> dict[str, Mapping[str, Any]]:
    return {row["cell"]["compiler"]: row for row in finished.rows if row["kind"] == "cell"}


def compile_with(project: Project, compilers: str, *arguments: str) -> dict[str, Mapping[str, Any]]:
    return by_compiler(project.run(f"--compilers={compilers}", "--precisions=fp32", *arguments))


def entries(project: Project, stage: str) -> list[Path]:
    """The folders of what the cache holds of a stage; what was replaced is not counted."""
    found = [path.parent for path in (project.folder / "cache/entries").glob("*/*/*/record.json")]
    return [one for one in found if record_of(one)["stage"] == stage and not (one / "retired").exists()]


def record_of(entry: Path) -> dict[str, Any]:
    """The record of an entry, without the line that seals it."""
    record: dict[str, Any] = json.loads((entry / "record.json").read_text().partition("\n")[2])
    return record


def test_a_compiler_that_writes_into_its_input_harms_itself_alone(compiled: Project) -> None:
    adapters(compiled, afirst=SPOIL, other="")
    rows = compile_with(compiled, "afirst,fakec,other")
    assert {name: row["status"] for name, row in rows.items()} == {
        "afirst": "ERROR", "fakec": "supported", "other": "supported",
    }  # fmt: skip
    assert (rows["afirst"]["stage"], rows["afirst"]["symptom"]) == ("compile", "harness")
    assert "the adapter changed its input file model.onnx (afirst, operation compile)" in rows["afirst"]["reason"]
    assert len(entries(compiled, "compile")) == 3, "of fakec and other, one of which is compiled twice"
    again = compile_with(compiled, "afirst,fakec,other")
    assert {name: row["status"] for name, row in again.items()} == {name: row["status"] for name, row in rows.items()}
    assert "compile" in again["fakec"]["stages_cached"] and "compile" not in again["afirst"]["stages_cached"]


def test_other_random_numbers_are_other_references(compiled: Project) -> None:
    first = compile_with(compiled, "fakec")["fakec"]
    compiled.write("conftest.py", OTHER_STREAM)
    second = compile_with(compiled, "fakec[shiny]")["fakec[shiny]"]  # its run is new, its references were not
    assert (first["status"], second["status"]) == ("supported", "supported"), second["reason"]
    assert not {"reference", "evaluate", "mutants"} & set(second["stages_cached"])
    assert first["numbers"]["E"] != second["numbers"]["E"]


def test_the_run_of_an_artefact_is_not_that_of_another_one(compiled: Project) -> None:
    adapters(compiled, varied=VARIED)
    compile_with(compiled, "varied")
    [entry] = entries(compiled, "compile")
    before = record_of(entry)["contents"]
    shutil.rmtree(entry)  # as when the cache is pruned; the run of that artefact stays
    row = compile_with(compiled, "varied")["varied"]
    [made_again] = entries(compiled, "compile")
    assert record_of(made_again)["contents"] != before, "the compiler is not deterministic"
    assert row["status"] == "supported" and "export" in row["stages_cached"]
    assert not {"compile", "run"} & set(row["stages_cached"])


def test_a_dataset_with_other_images_calibrates_anew(compiled: Project) -> None:
    seed = compiled.write("seed.txt", "1")
    dataset = compiled.write("noise.py", DATASET.replace("SEED", repr(str(seed))))
    text = (compiled.folder / "bench.toml").read_text()
    compiled.write("bench.toml", text.replace("adapters = [", f'adapters = ["{dataset}", '))
    path = compiled.model("net")
    path.write_text(path.read_text().replace("[[inputs]]", 'dataset = "noise"\n[[inputs]]', 1))
    only = ("--compilers=fakec", "--precisions=w8a8")
    first = the_graph(compiled.run(*only))
    [entry] = [entry for entry in entries(compiled, "build") if "fetch" in (entry / "record.json").read_text()]
    shutil.rmtree(entry)
    again = the_graph(compiled.run(*only))
    assert "graph" in again["stages_cached"] and again["artefacts"]["graph"] == first["artefacts"]["graph"]
    [entry] = [entry for entry in entries(compiled, "build") if "fetch" in (entry / "record.json").read_text()]
    shutil.rmtree(entry)
    seed.write_text("2")
    other = the_graph(compiled.run(*only))
    assert other["status"] == "supported" and not {"graph", "compile", "run"} & set(other["stages_cached"])


def the_graph(finished: Finished) -> Mapping[str, Any]:
    [row] = [row for row in finished.rows if row["kind"] == "cell" and row["cell"].get("graph") == "qdq"]
    return row


def rewritten_after_collection(project: Project, path: Path, other: Path) -> None:
    """The next run reads ``path``, and it becomes ``other`` before the first cell."""
    copy = f"__import__('shutil').copyfile({str(other)!r}, {str(path)!r})"
    project.write("conftest.py", f"def pytest_collection_finish():\n    {copy}\n")


def two_files(project: Project) -> tuple[Path, Path]:
    """Two exported networks, ``given.onnx`` and ``other.onnx``, whose weights differ by a hundredth."""
    project.model("wrong", fault="export:wrong-weights")
    compile_with(project, "fakec")
    for entry in entries(project, "export"):
        data = next(entry.glob("*.onnx")).read_bytes()
        name = "other.onnx" if b"wrong-weights" in data else "given.onnx"
        (project.folder / name).write_bytes(data)
    return project.folder / "given.onnx", project.folder / "other.onnx"


def test_a_file_that_is_rewritten_before_its_first_stage_has_no_verdict(compiled: Project) -> None:
    path, other = two_files(compiled)
    before = len(entries(compiled, "check"))
    rewritten_after_collection(compiled, path, other)
    row = compile_with(compiled, "fakec", f"--bench-onnx={path}")["fakec"]
    assert (row["status"], row["stage"], row["symptom"]) == ("ERROR", "check", "harness"), row["reason"]
    assert f"{path}: the file changed while the run was at work" in row["reason"]
    assert len(entries(compiled, "check")) == before


def test_a_file_that_is_rewritten_between_two_runs_of_a_cell_is_not_mixed(compiled: Project) -> None:
    path, other = two_files(compiled)
    compile_with(compiled, "fakec", f"--bench-onnx={path}")
    references = entries(compiled, "reference")
    for entry in references:  # the artefact and its run stay
        shutil.rmtree(entry)
    rewritten_after_collection(compiled, path, other)
    row = compile_with(compiled, "fakec", f"--bench-onnx={path}")["fakec"]
    assert {"check", "compile", "run"} <= set(row["stages_cached"]) and references
    assert (row["status"], row["stage"], row["symptom"]) == ("ERROR", "reference", "harness"), row["reason"]


def test_a_file_that_is_rewritten_later_is_read_from_its_copies(compiled: Project) -> None:
    path, other = two_files(compiled)
    undisturbed = compile_with(compiled, "fakec", f"--bench-onnx={path}", "--bench-cache=first")["fakec"]
    rewrite = f"""
        import shutil
        shutil.copyfile({str(other)!r}, {str(path)!r})
"""
    adapters(compiled, editor=rewrite)
    row = compile_with(compiled, "editor", f"--bench-onnx={path}", "--bench-cache=second")["editor"]
    assert path.read_bytes() == other.read_bytes()
    assert (row["status"], row["numbers"]["E"]) == ("supported", undisturbed["numbers"]["E"]), row["reason"]
