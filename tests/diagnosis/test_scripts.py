"""Scripts for an upstream report: whole, short, with what ``uv run`` needs; their exit code says what happened."""

from __future__ import annotations

import re
import subprocess
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bench_plugin.diagnosis.scripts import TEMPLATES, Needs, packages, script
from bench_plugin.domain.outcome import Symptom

TOOLS = sorted(path.stem for path in TEMPLATES.glob("*.py"))
HOW = {"precision": "fp32", "graph": "original", "backend": "", "options": {}, "target": {"name": "local"}}
NEEDS = Needs(">=3.11,<3.12", {"onnxruntime": "1.2.3+cpu", "numpy": "2.4"})
MAKE = """
import onnx
from onnx import helper as h, TensorProto as T
ports = [h.make_tensor_value_info(name, T.FLOAT, [2, 3]) for name in "xy"]
graph = h.make_graph([h.make_node("Neg", ["x"], ["y"])], "g", ports[:1], ports[1:])
onnx.save(h.make_model(graph, opset_imports=[h.make_opsetid("", 17)], ir_version=8), "model.onnx")
"""
X = np.arange(6, dtype="float32").reshape(2, 3)


def written(tool: str, symptom: Symptom = Symptom.MISMATCH, *, needs: Needs = NEEDS, says: str = "") -> str:
    """A script as a reduction writes it, of one output that may be off by a thousandth."""
    outputs = {"y": {"dtype": "float32", "shape": [2, 3], "largest": 1e-3, "rms": 5e-4}}
    facts = {"TOOL": tool, "SAYS": says, "HOW": HOW, "INPUTS": ["x"], "OUTPUTS": outputs, "SECONDS": 60}
    return script(
        tool, symptom, title='a "title"', said='\\ and """', graph="<>", needs=needs, facts=facts
    )  # fmt: skip


GRAPH = "<ir_version: 8>\ng (float[2,3] x) => (float[2,3] y)\n{\n   y = Neg (x)\n}"


def short(tool: str, symptom: Symptom = Symptom.MISMATCH, *, needs: Needs = NEEDS) -> str:
    """A script for a graph of a single node."""
    outputs = {"y": {"dtype": "float32", "shape": [2, 3], "largest": 1e-3, "rms": 5e-4}}
    facts = {"TOOL": tool, "SAYS": "", "HOW": HOW, "INPUTS": ["x"], "OUTPUTS": outputs, "SECONDS": 60}
    said = "compare: mismatch: y: off\nReduced from a cell: one node of 7."
    return script(
        tool, symptom, title=f"{tool}: wrong", said=said, graph=GRAPH, needs=needs, facts=facts, short=True
    )  # fmt: skip


def metadata_of(text: str) -> Mapping[str, Any]:
    """The script's metadata, found as PEP 723 says."""
    found = re.search(r"(?m)^# /// script$\s(?P<content>(^#(| .*)$\s)+)^# ///$", text)
    assert found is not None
    lines = found["content"].splitlines()
    return tomllib.loads("\n".join(line[2:] if line.startswith("# ") else line[1:] for line in lines))


@pytest.mark.parametrize("symptom", [Symptom.MISMATCH, Symptom.EXCEPTION, Symptom.CRASH, Symptom.TIMEOUT])
@pytest.mark.parametrize("tool", TOOLS)
def test_every_script_is_a_whole_one(tool: str, symptom: Symptom) -> None:
    text = written(tool, symptom)
    assert {"run", "main", "say_versions", "load"} <= set(compile(text, "repro.py", "exec").co_names)
    assert "'target':" not in text, "of the cell's settings a script holds those that it reads"
    assert len(text.splitlines()) < 150


@pytest.mark.parametrize("tool", TOOLS)
def test_what_it_was_seen_with_is_the_tool_onnx_and_numpy(tool: str) -> None:
    assert packages(tool)[-1] == "numpy" and len(packages(tool)) <= 5


def test_the_metadata_pins_versions_and_names_no_index() -> None:
    overrides = ["numpy==2.4", "requests ; sys_platform == 'never'"]
    needs = Needs(">=3.11,<3.12", {"torch": "2.13.0+cpu", "numpy": "2.4"}, overrides)
    text = written("onnx2torch", needs=needs)
    assert metadata_of(text) == {
        "requires-python": ">=3.11,<3.12",
        "dependencies": ["torch==2.13.0", "numpy==2.4"],
        "tool": {"uv": {"override-dependencies": overrides}},
    }
    assert "tool" not in metadata_of(written("onnxruntime"))
    assert "://" not in text


@pytest.mark.parametrize(("tool", "shared"), [("onnx2torch", "onnx2pytorch"), ("onnx2tf", "tflite")])
def test_what_two_tools_share_stands_in_one_file(tool: str, shared: str) -> None:
    texts = [set((TEMPLATES / f"{name}.py").read_text().splitlines()) for name in (tool, shared)]
    code = [line for line in texts[0] & texts[1] if len(line.strip()) > 40]
    assert len(code) <= 3, code


@pytest.fixture
def folder(tmp_path: Path, tools_python: Path) -> Path:
    """What a script lies beside: a model that negates, its input, and the outputs that are expected of it."""
    subprocess.run([str(tools_python), "-c", MAKE], cwd=tmp_path, check=True)
    np.savez(tmp_path / "inputs.npz", in0=X)
    np.savez(tmp_path / "expected.npz", out0=-X.astype("float64"))
    return tmp_path


def run(folder: Path, python: Path, text: str) -> tuple[int, str]:
    """Exit code and output of the script."""
    (folder / "repro.py").write_text(text)
    done = subprocess.run([str(python), "-I", "repro.py"], cwd=folder, capture_output=True, text=True, timeout=120)
    return done.returncode, done.stdout


def real(python: Path) -> Needs:
    """The versions that the interpreter has."""
    asked = "from importlib.metadata import version as v; print(v('onnxruntime'), v('numpy'))"
    found = subprocess.run([str(python), "-c", asked], capture_output=True, text=True, check=True).stdout.split()
    return Needs(">=3.11", dict(zip(("onnxruntime", "numpy"), found, strict=True)))


def test_right_outputs_are_no_defect(folder: Path, tools_python: Path) -> None:
    code, said = run(folder, tools_python, written("onnxruntime", needs=real(tools_python)))
    assert (code, said.splitlines()[2:]) == (0, ["happened: no defect", "the outputs are right"])
    assert "seen with" not in said


def test_a_mismatch_names_the_bound_that_is_exceeded(folder: Path, tools_python: Path) -> None:
    expected = -X.astype("float64")
    expected[1, 2] += 0.01
    np.savez(folder / "expected.npz", out0=expected)
    code, said = run(folder, tools_python, written("onnxruntime"))
    assert code == 1 and "happened: mismatch" in said.splitlines()
    assert "onnxruntime 1.31" in said and "(seen with 1.2.3+cpu)" in said
    assert "y: largest error 0.01 where 0.001 is allowed (10 times as much), rms error 0.00408 where 0.0005" in said
    assert "the largest at [1, 2]: -5.0 instead of -4.99" in said


@pytest.mark.parametrize(
    ("expected", "message"),
    [
        (-X[:1].astype("float64"), "y: shape (2, 3) instead of (1, 3)"),
        (-X.astype("int64") - np.eye(2, 3, dtype="int64"), "y: 2 of 6 elements differ, none may"),
        (np.where(X == 2, np.nan, -X.astype("float64")), "y: largest error inf where 0.001 is allowed"),
    ],
)
def test_other_mismatches(folder: Path, tools_python: Path, expected: Any, message: str) -> None:
    np.savez(folder / "expected.npz", out0=expected)
    code, said = run(folder, tools_python, written("onnxruntime"))
    assert code == 1 and message in said


def test_an_exception_where_a_mismatch_was_due_is_something_else(folder: Path, tools_python: Path) -> None:
    np.savez(folder / "inputs.npz", in0=X.astype("float64"))
    assert run(folder, tools_python, written("onnxruntime"))[0] == 3


def test_a_missing_package_is_named_and_ends_with_four(folder: Path, tools_python: Path) -> None:
    needs = Needs(">=3.11", {"no-such-tool": "7.1"})
    code, said = run(folder, tools_python, written("onnxruntime", needs=needs))
    assert (code, said) == (4, "no-such-tool is not installed: pip install no-such-tool==7.1\n")


@pytest.mark.parametrize(("says", "code"), [("Unexpected input data type", 1), ("no kernel", 3)])
def test_an_exception_is_known_by_its_words(folder: Path, tools_python: Path, says: str, code: int) -> None:
    np.savez(folder / "inputs.npz", in0=X.astype("float64"))
    found, said = run(folder, tools_python, written("onnxruntime", Symptom.EXCEPTION, says=says))
    assert found == code
    assert ("happened: exception" if code == 1 else "happened: another exception") in said.splitlines()


@pytest.mark.parametrize(
    ("symptom", "fault", "message"),
    [
        (Symptom.CRASH, "os.kill(os.getpid(), 11)", "ended by signal 11 (SIGSEGV)"),
        (Symptom.TIMEOUT, "import time; time.sleep(60)", "no end after 2 s"),
    ],
)
def test_crashes_and_hangs_happen_in_a_process_of_their_own(
    folder: Path, tools_python: Path, symptom: Symptom, fault: str, message: str
) -> None:
    text = written("onnxruntime", symptom)
    fine, _ = run(folder, tools_python, text)
    broken = text.replace("    import onnxruntime\n", f"    {fault}\n    import onnxruntime\n")
    code, said = run(folder, tools_python, broken.replace("SECONDS = 60", "SECONDS = 2"))
    assert (fine, code) == (0, 1)
    assert said.splitlines()[-2:] == [f"happened: {symptom}", message]


@pytest.mark.parametrize("symptom", [Symptom.MISMATCH, Symptom.EXCEPTION])
@pytest.mark.parametrize("tool", ["onnxruntime", "openvino", "onnx2mx"])
def test_a_single_node_has_a_script_of_one_screen(tool: str, symptom: Symptom) -> None:
    lines = short(tool, symptom).splitlines()
    assert len(lines) <= 40 and "y = Neg (x)" in lines


@pytest.mark.parametrize("tool", TOOLS)
def test_the_script_of_a_single_node_is_half_as_long(tool: str) -> None:
    compile(short(tool), "repro.py", "exec")
    assert len(short(tool).splitlines()) <= 72
    assert len(short(tool).splitlines()) < len(written(tool).splitlines()) - 35


def test_the_script_of_a_single_node_says_what_was_expected_and_what_came(folder: Path, tools_python: Path) -> None:
    code, said = run(folder, tools_python, short("onnxruntime"))
    assert code == 0 and "happened: no defect" in said.splitlines()
    expected = -X.astype("float64")
    expected[1, 2] += 0.01
    np.savez(folder / "expected.npz", out0=expected)
    code, said = run(folder, tools_python, short("onnxruntime"))
    assert code == 1 and "happened: mismatch" in said.splitlines()
    assert "y: expected [" in said and "y: got      [" in said
    np.savez(folder / "expected.npz", out0=expected[:1])
    assert run(folder, tools_python, short("onnxruntime"))[0] == 1
    np.savez(folder / "expected.npz", out0=-X.astype("int64") - np.eye(2, 3, dtype="int64"))
    assert run(folder, tools_python, short("onnxruntime"))[0] == 1


@pytest.mark.parametrize(
    ("symptom", "fault", "code"),
    [
        (Symptom.EXCEPTION, "", 0),
        (Symptom.EXCEPTION, "raise ValueError", 1),
        (Symptom.CRASH, "os.kill(os.getpid(), 11)", 1),
        (Symptom.TIMEOUT, "import time; time.sleep(60)", 1),
        (Symptom.CRASH, "raise ValueError", 3),
    ],
)
def test_failures_of_a_single_node(folder: Path, tools_python: Path, symptom: Symptom, fault: str, code: int) -> None:
    text = short("onnxruntime", symptom).replace("SECONDS = 60", "SECONDS = 2")
    found, said = run(
        folder, tools_python, text.replace("    import onnxruntime\n", f"    {fault}\n    import onnxruntime\n")
    )
    assert found == code
    happened = {0: "no defect", 1: str(symptom), 3: "another failure"}[code]
    assert f"happened: {happened}" in said.splitlines()
