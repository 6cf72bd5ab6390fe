"""A compiler that a TOML file describes: it ends in time, keeps to its folder, says why it failed."""

from __future__ import annotations

import os
import sys
import time
import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bench_plugin.adapters.compilers.command import (
    KEPT,
    Adapter,
    CommandFailed,
    CommandKilled,
    CommandTimeout,
    _checked,
    _executed,
)
from bench_plugin.agent.adapter import InvalidModel, NotProvided, Unsupported
from bench_plugin.agent.arrays import from_numpy, to_numpy
from bench_plugin.agent.contract import CompileCall, Description, Malformed, Place, RunCall
from tests.reach.processes.conftest import alive, until

FIXTURES = Path(__file__).parents[2] / "fixtures" / "compilers"
# "Compiles" by copying the model; its runner adds what stands in the file to each input.
COMPILER = """
import pathlib, sys
model, target, precision, threads = sys.argv[1:]
pathlib.Path("lib").mkdir()
pathlib.Path("lib/weights.txt").write_text(pathlib.Path(model).read_text())
pathlib.Path("net.bin").write_text(" ".join([target, precision, threads]))
"""
RUNNER = """
import json, pathlib, sys
import numpy as np
artefact, signature, source, result = sys.argv[1:]
row = json.loads(pathlib.Path(signature).read_text())
row, given = row["outputs"][0], row["inputs"][0]
bias = float((pathlib.Path(artefact).parent / "lib/weights.txt").read_text())
raw = source.endswith(".bin")
x = np.fromfile(source, given["dtype"]).reshape(given["shape"]) if raw else np.load(source)
y = (x + bias).astype(row["dtype"])
y.tofile(result) if raw else np.save(result, y)
"""
HANG = """
import os, pathlib, time
child = os.fork()
if child:
    pathlib.Path("pids").write_text(f"{os.getpid()} {child}")
time.sleep(60)
"""
LEAVES = """
import os, pathlib, time
child = os.fork()
if not child:
    time.sleep(60)
pathlib.Path("pid").write_text(str(child))
open("net.bin", "w")
"""
ROW = {"dtype": "float32", "shape": [1, 3], "layout": ""}


def script(folder: Path, name: str, text: str) -> Path:
    """An executable Python script."""
    path = folder / name
    path.write_text(f"#!{sys.executable}\n{text}")
    path.chmod(0o755)
    return path


def described(command: list[Any], **more: Any) -> dict[str, Any]:
    return {"command": command, "artefact": ["net.bin", "lib/*"], "precisions": {"fp32": ["original"]}, **more}


def compiling(tmp_path: Path, description: dict[str, Any]) -> CompileCall:
    """A call as the agent makes it, in a folder of its own below the test's."""
    meta, place = asked(tmp_path, "compile", description)
    return CompileCall.read(meta, "compile").at(place)


def running(tmp_path: Path, description: dict[str, Any], x: Any, files: dict[str, str]) -> RunCall:
    """The same for what was compiled."""
    meta, place = asked(tmp_path, "run", description)
    return RunCall.read(meta, "run").at(Place(place.folder, files, {"in:x": from_numpy(x)}, place.announce))


def asked(tmp_path: Path, operation: str, description: dict[str, Any]) -> tuple[dict[str, Any], Place]:
    """The metadata and the place of a call."""
    folder = tmp_path / f"agent-{operation}"
    folder.mkdir(exist_ok=True)
    model = tmp_path / "model.onnx"
    model.write_text("2.5")
    meta = {
        "description": {**description, "path": str(tmp_path / "fake.toml")}, "precision": "fp32", "graph": "original",
        "target": {"name": "local"}, "threads": 3, "batched": True, "binding": {},
        "inputs": [{"name": "x", **ROW}], "outputs": [{"name": "y", **ROW}],
    }  # fmt: skip
    return meta, Place(str(folder), {"model.onnx": str(model)}, {}, lambda stage: None)


@pytest.mark.parametrize("form", ["npy", "raw"])
@pytest.mark.parametrize("runs", ["each", "all"])
def test_what_it_makes_runs_in_another_process_under_its_own_names(tmp_path: Path, form: str, runs: str) -> None:
    compiler, runner = script(tmp_path, "fakecc", COMPILER), script(tmp_path, "fakerun", RUNNER)
    description = described(
        [str(compiler), "{model}", "{target}", "{precision}", "{threads}"],
        names={"fp32": "float"},
        version={"command": [sys.executable, "-c", "print('fake 4.5.6')"], "pattern": r"fake (\S+)"},
        runner={
            "command": ["{here}/" + runner.name, "{artefact}", "{signature}", "{inputs}", "{outputs}"],
            "format": form,
            "samples": runs,
        },
    )
    reply = Adapter().compile(compiling(tmp_path, description))
    assert list(reply.files) == ["net.bin", "lib%2Fweights.txt"]
    assert Path(reply.files["net.bin"]).read_text() == "local float 3"
    assert reply.meta["tool_version"] == "4.5.6"
    elsewhere = {}
    for number, (name, path) in enumerate(reply.files.items()):  # as the cache gives them back: the suffix is kept
        elsewhere[name] = str(Path(path).rename(tmp_path / f"{number}{Path(path).suffix}"))
    x = np.arange(12, dtype=np.float32).reshape(4, 3)
    answer = Adapter().run(running(tmp_path, description, x, elsewhere))
    np.testing.assert_array_equal(to_numpy(answer.arrays["out0"]).reshape(4, 3), x + 2.5)
    assert answer.arrays["out0"].shape == (4, 3)


def test_an_absent_executable_is_not_provided_and_nothing_ran(tmp_path: Path) -> None:
    first = script(tmp_path, "first", "open('ran', 'w')")
    description = described([[str(first)], ["vendorcc-of-nowhere", "{model}"]])
    with pytest.raises(NotProvided, match="^vendorcc-of-nowhere not found$"):
        Adapter().compile(compiling(tmp_path, description))
    assert not list(tmp_path.rglob("ran"))


def test_error_patterns_give_symptoms_and_the_line(tmp_path: Path) -> None:
    compiler = script(tmp_path, "fakecc", "import sys; print('loading'); print('E042 no kernel: Det'); sys.exit(3)")
    errors = [{"pattern": "corrupt", "symptom": "invalid-model"}, {"pattern": "no kernel", "symptom": "unsupported"}]
    with pytest.raises(Unsupported, match="^E042 no kernel: Det$"):
        Adapter().compile(compiling(tmp_path, described([str(compiler)], errors=errors)))
    compiler.write_text(f"#!{sys.executable}\nprint('corrupt model')")  # status 0, and nothing made
    with pytest.raises(InvalidModel, match="^corrupt model$"):
        Adapter().compile(compiling(tmp_path, described([str(compiler)], errors=errors)))


def test_other_failures_say_status_signal_and_the_first_useful_line(tmp_path: Path) -> None:
    compiler = script(tmp_path, "fakecc", "import sys; print('hello'); print('error: no licence'); sys.exit(7)")
    with pytest.raises(CommandFailed, match="^fakecc ended with status 7: error: no licence$"):
        Adapter().compile(compiling(tmp_path, described([str(compiler)])))
    compiler.write_text(f"#!{sys.executable}\nimport os; os.abort()")
    with pytest.raises(CommandKilled, match="SIGABRT"):
        Adapter().compile(compiling(tmp_path, described([str(compiler)])))


def test_a_hang_ends_at_the_timeout_with_its_children(tmp_path: Path) -> None:
    compiler = script(tmp_path, "fakecc", HANG)
    since = time.monotonic()
    with pytest.raises(CommandTimeout, match="^fakecc did not end in 1.5 s$"):
        Adapter().compile(compiling(tmp_path, described([str(compiler)], timeout=1.5)))
    assert time.monotonic() - since < 15
    pids = (tmp_path / "agent-compile" / "output" / "pids").read_text().split()
    assert until(lambda: not any(alive(int(pid)) for pid in pids))


def test_what_it_leaves_behind_is_ended_and_does_not_hold_it_up(tmp_path: Path) -> None:
    compiler = script(tmp_path, "fakecc", LEAVES)
    since = time.monotonic()
    Adapter().compile(compiling(tmp_path, described([str(compiler)])))
    assert time.monotonic() - since < 15
    pid = int((tmp_path / "agent-compile" / "output" / "pid").read_text())
    assert until(lambda: not alive(pid))


def test_a_megabyte_of_output_is_bounded_and_its_end_still_counts(tmp_path: Path) -> None:
    compiler = script(tmp_path, "fakecc", "import sys; print('x' * 1048576); print('E1 no kernel'); sys.exit(1)")
    status, text = _executed([str(compiler)], str(tmp_path), os.environ, 60)
    assert status == 1
    assert len(text) < 2 * KEPT + 100
    assert "bytes left out" in text
    errors = [{"pattern": "no kernel", "symptom": "unsupported"}]
    with pytest.raises(Unsupported, match="^E1 no kernel$"):
        Adapter().compile(compiling(tmp_path, described([str(compiler)], errors=errors)))


def test_its_files_stay_in_the_calls_folder(tmp_path: Path) -> None:
    text = "import tempfile; open('junk', 'w'); tempfile.mkstemp(prefix='scratch'); open('net.bin', 'w')"
    call = compiling(tmp_path, described([str(script(tmp_path, "fakecc", text))]))
    Adapter().compile(call)
    folder = Path(call.folder)
    assert (folder / "output" / "junk").is_file()
    assert [path.parent.parent for path in folder.rglob("scratch*")] == [folder]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["agent-compile", "fakecc", "model.onnx"]


def test_an_artefact_outside_of_its_folder_is_refused(tmp_path: Path) -> None:
    compiler = script(tmp_path, "fakecc", "import os; os.symlink('/etc/hostname', 'net.bin')")
    with pytest.raises(CommandFailed, match="^the artefact net.bin is outside of its folder$"):
        Adapter().compile(compiling(tmp_path, described([str(compiler)])))


def test_no_shell_reads_an_argument(tmp_path: Path) -> None:
    compiler = script(tmp_path, "fakecc", "import sys; open('net.bin', 'w').write(sys.argv[1])")
    reply = Adapter().compile(compiling(tmp_path, described([str(compiler), "$(id); {{{target}}} > x"])))
    assert Path(reply.files["net.bin"]).read_text() == "$(id); {local} > x"


def test_a_wrong_description_names_the_key(tmp_path: Path) -> None:
    for wrong, said in [
        ({**described(["x"]), "artefact": 3}, "field 'artefact' is 3; expected str or list of str"),
        (described(["x"], runner={}), "field 'runner': field 'command' is missing"),
        (described(["x"], errors=[{"pattern": "a"}]), "field 'symptom' is missing; expected str"),
    ]:
        with pytest.raises(Malformed, match=said):
            compiling(tmp_path, wrong)
    for description, said in [
        (described([]), "fake.toml: command is empty"),
        (described(["x"], errors=[{"pattern": "a", "symptom": "sad"}]), "errors need a symptom that is one of"),
        (described(["x"], runner={"command": []}), "runner.command is empty"),
        (described([sys.executable, "{modle}"]), "the placeholder {modle} is unknown here; there are model"),
    ]:
        with pytest.raises(ValueError, match=said.replace("{", r"\{")):
            Adapter().compile(compiling(tmp_path, description))


@pytest.mark.parametrize("path", sorted(FIXTURES.glob("*.toml")), ids=lambda path: path.stem)
def test_the_descriptions_that_come_along_are_right(path: Path) -> None:
    said = _checked(Description.read({**tomllib.loads(path.read_text()), "path": str(path)}, "description"))
    assert said.title
    assert said.precisions
