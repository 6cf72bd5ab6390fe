"""A toolchain without a valid lock stops the runs that select it, with a usage error, and no other run."""

from __future__ import annotations

import json

import pytest

from tests.project import Project

ASKED = 'title = "Other"\ninterpreter = ">=3.11"\nrequirements = ["numpy>=2"]\n'
LOCKS = {
    "missing": (None, "other.lock: cannot be read (No such file or directory); make it: bench env lock other"),
    "binary": (b"\x00\xff\xfe\x80" * 100, "other.lock: not a text; make it again: bench env lock other"),
    "empty": (b"", "other.toml asks for numpy>=2, the lock has no numpy; make it again: bench env lock other"),
    "garbage": (b"{]==;; \x00\n\n==1\n", "the lock has no numpy; make it again"),
    "without versions": (b"numpy\n", "the lock has no numpy; make it again"),
    "no version": (b"numpy==!?\n", "the lock has numpy==!?; make it again"),
    "another version": (b"numpy==1.26.4\n", "the lock has numpy==1.26.4; make it again"),
}  # fmt: skip
ADAPTER = 'ADAPTER = {"name": "otherc", "kind": "compiler", "toolchain": "%s", "operations": ["compile", "run"], ' \
    '"precisions": {"fp32": ["original"]}}\n'  # fmt: skip
TESTS = """
import pytest

@pytest.mark.bench(check="export")
def test_export(bench_cell):
    bench_cell.verify()

@pytest.mark.bench(check="equivalence")
def test_equivalence(bench_cell):
    bench_cell.verify()
"""


@pytest.fixture
def two(project: Project) -> Project:
    """A project with a framework whose toolchain is fine, and a compiler in the toolchain ``other``."""
    project.model("a")
    project.write("otherc.py", ADAPTER % "other")
    text = (project.folder / "bench.toml").read_text()
    project.write("bench.toml", text.replace('adapters = ["', 'adapters = ["otherc.py", "'))
    project.write("test_models.py", TESTS)
    return project


def lock(project: Project, content: bytes | None) -> None:
    """The toolchain ``other`` with this lock, or without one."""
    project.write("toolchains/other.toml", ASKED)
    if content is not None:
        (project.folder / "toolchains/other.lock").write_bytes(content)


@pytest.mark.parametrize("kind", LOCKS)
def test_a_run_that_selects_it_stops(two: Project, kind: str) -> None:
    content, message = LOCKS[kind]
    lock(two, content)
    finished = two.run("-k", "equivalence", "--compilers=otherc")
    assert finished.code == 4 and message in finished.text, finished.text
    assert "INTERNALERROR" not in finished.text and not finished.rows


@pytest.mark.parametrize("kind", ["missing", "binary", "no version"])
def test_another_run_is_computed_beside_it(two: Project, kind: str) -> None:
    lock(two, LOCKS[kind][0])
    finished = two.run("-k", "export")
    assert finished.code == 0 and finished.verdict("a") == ("supported", None, None), finished.text
    assert finished.rows[0]["versions"].get("other", {}).keys() <= {"numpy"}


def test_the_commands_list_it(two: Project) -> None:
    lock(two, LOCKS["binary"][0])
    for command in (("list", "compilers"), ("list", "toolchains")):
        done = two.bench(*command, "--json")
        assert done.returncode == 0 and "other" in done.stdout, done.stderr
    done = two.bench("env", "list", "--json")
    row = next(row for row in json.loads(done.stdout) if row["name"] == "other")
    assert done.returncode == 1 and "not a text" in row["disagreement"], done.stderr


def test_a_toolchain_that_is_not_there(two: Project) -> None:
    two.write("otherc.py", ADAPTER % "nowhere")
    finished = two.run("-k", "export")
    assert finished.code == 0 and finished.verdict("a") == ("supported", None, None), finished.text
    assert two.bench("list", "compilers").returncode == 0
    finished = two.run("-k", "equivalence", "--compilers=otherc")
    assert finished.code == 4 and "there is no toolchain 'nowhere'; valid are" in finished.text, finished.text
