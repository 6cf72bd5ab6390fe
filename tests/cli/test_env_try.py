"""``bench env try``: the same cells with the locked version of a distribution and with another one, compared."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from bench_plugin.cli.shared.start.example_model import example_model
from tests.project import Project, kept_environment
from tests.reach.environments.conftest import write_wheel

FAKE = Path(__file__).parents[1] / "fake/compiler.py"
# What makes the fake compiler one whose answers depend on the version of a distribution.
CHANGES = {
    '"toolchain": "fake"': '"toolchain": "gadgets"',
    '"distribution": "onnx"': '"distribution": "gadget"',
    'return call.options["fault"]': 'import gadget\n\n    return "none" if gadget.ANSWER == 42 else "run-wrong"',
}
TOML = 'title = "Gadgets"\ninterpreter = ">=3.11"  # kept\nrequirements = ["gadget==1.0"]\n'
CHECKS = """
import pytest

@pytest.mark.bench(check="equivalence", models=["ours"], compilers=["fakec"], precisions=["fp32"])
def test_compiled(bench_cell):
    bench_cell.verify()

def test_that_is_not_ours():
    raise AssertionError("bench env try runs tests of bench_plugin only")
"""


@pytest.fixture
def project(tmp_path: Path, tools_python: Path) -> Project:
    """A project with a toolchain of its own that locks gadget 1.0, of which there are also 1.1 and a wrong 2.0.

    numpy and onnx come out of another environment; uv knows of nothing but a folder of wheels.
    """
    made = Project(tmp_path, kept_environment())
    made.environment = {
        **{key: value for key, value in made.environment.items() if not key.startswith(("PIP_", "UV_"))},
        "BENCH_CACHE": str(tmp_path / "cache"), "PIP_CONFIG_FILE": os.devnull, "PIP_NO_INDEX": "1",
        "UV_CACHE_DIR": str(tmp_path / "uv"), "UV_FIND_LINKS": str(tmp_path / "wheels"), "HOME": str(tmp_path),
    }  # fmt: skip
    (tmp_path / "wheels").mkdir()
    site = next((tools_python.parents[1] / "lib").glob("python3*/site-packages"))
    for version, answer in (("1.0", 42), ("1.1", 42), ("2.0", 43)):
        write_wheel(tmp_path / "wheels", version, answer, {"beside.pth": f"{site}\n"})
    text = FAKE.read_text()
    for old, new in CHANGES.items():
        assert text.count(old) == 1
        text = text.replace(old, new)
    made.write("compiler.py", text)
    made.write("bench.toml", 'adapters = ["compiler.py"]\ntoolchains = ["toolchains"]\nonnx = ["ours.onnx"]\n')
    made.write("test_models.py", CHECKS)
    (tmp_path / "ours.onnx").write_bytes(example_model())
    made.write("toolchains/onnxruntime.toml", f'title = "Tools"\npython = "{tools_python}"\nmemory_gb = 2\n')
    made.write("toolchains/gadgets.toml", TOML)
    locked = made.bench("env", "lock", "gadgets")
    assert locked.returncode == 0, locked.stderr
    return made


def test_a_version_that_is_wrong_is_a_regression(project: Project) -> None:
    lock = (project.folder / "toolchains/gadgets.lock").read_bytes()
    done = project.bench("env", "try", "gadget==2.0")
    assert done.returncode == 1, done.stdout + done.stderr
    assert "gadget is locked by: gadgets (1.0)" in done.stderr
    assert "1 deselected" in done.stderr and "runs tests of bench_plugin only" not in done.stderr
    assert "  gadget 1.0 -> 2.0\n" in done.stderr
    words = " ".join(done.stdout.split())
    assert "gadgets gadget 1.0 2.0" in words and "1 regression" in words
    assert "supported" in words and "mismatch" in words
    trial = project.folder / "cache/trials/gadget-2.0"
    assert f"the trial is in {trial}; use it elsewhere: pytest --bench-toolchains={trial}" in done.stderr
    assert "write gadget==2.0 into toolchains/gadgets.toml, then: bench env lock gadgets" in done.stderr
    assert (project.folder / "toolchains/gadgets.lock").read_bytes() == lock
    assert (project.folder / "toolchains/gadgets.toml").read_text() == TOML
    assert (trial / "gadgets.toml").read_text() == TOML.replace("1.0", "2.0")
    for name, version in (("locked", "1.0"), ("tried", "2.0")):
        rows = project.rows(f"reports/try/gadget-2.0/{name}/results.jsonl")
        assert [row["versions"]["gadget"] for row in rows if row["kind"] == "cell"] == [version]
    assert not (project.folder / "reports/results.jsonl").exists()
    tried = next(row for row in project.rows("reports/try/gadget-2.0/tried/results.jsonl") if row["kind"] == "cell")
    assert f"--bench-toolchains={trial}" in tried["repro"]


def test_a_version_that_computes_the_same_changes_nothing(project: Project) -> None:
    chosen = ("--models=ours", "--compilers=fakec", "--select=compiled")
    done = project.bench("env", "try", "gadget==1.1", *chosen, "--json")
    assert done.returncode == 0, done.stdout + done.stderr
    found = json.loads(done.stdout)
    assert "1.1" in json.dumps(found["versions"])


def test_a_selection_without_a_cell_cannot_be_compared(project: Project) -> None:
    done = project.bench("env", "try", "gadget==1.1", "--pytest", "-k", "nothing_of_this_name")
    assert done.returncode == 3
    assert "the run locked selects no test with a cell" in done.stderr


def test_a_dry_run_makes_the_lock_alone(project: Project) -> None:
    done = project.bench("env", "try", "gadget==2.0", "--dry-run", "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["changes"] == {"gadgets": {"gadget": ["1.0", "2.0"]}}
    assert "gadget==2.0 " in (Path(found["folder"]) / "gadgets.lock").read_text()
    assert not (project.folder / "reports").exists() and not (project.folder / "cache/toolchains").exists()


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["gadgit==2.0"], 2, "no toolchain locks a distribution 'gadgit'; did you mean gadget"),
        (["gadget=2.0"], 2, "'gadget=2.0' is not NAME==VERSION"),
        (["gadget>=2.0"], 2, "'gadget>=2.0' is not NAME==VERSION"),
        (["gadget==2.0", "Gadget==1.1"], 2, "Gadget is asked for twice"),
        (["gadget==1.0"], 2, "toolchain gadgets locks gadget==1.0 already"),
        (["gadget==2.0", "--in=tvm"], 2, "gadget is locked by gadgets, not by tvm"),
        (["gadget==9.0"], 4, "toolchain gadgets has no lock with gadget==9.0"),
    ],
)
def test_what_cannot_be_tried_is_refused(project: Project, arguments: list[str], code: int, said: str) -> None:
    done = project.bench("env", "try", *arguments)
    assert done.returncode == code and said in done.stderr, done.stderr
    assert "Traceback" not in done.stderr


def test_a_distribution_that_only_others_require_is_added_to_the_requirements(project: Project) -> None:
    project.write("toolchains/gadgets.toml", TOML.replace('"gadget==1.0"', ""))
    done = project.bench("env", "try", "gadget==2.0", "--dry-run", "--json")
    assert done.returncode == 0, done.stderr
    assert 'requirements = ["gadget==2.0", ]' in (Path(json.loads(done.stdout)["folder"]) / "gadgets.toml").read_text()
