"""Secrets and half characters through a whole run: rows, the terminal, pages and logs' tails hold neither."""

from __future__ import annotations

import os

import pytest

from tests.project import FRAMEWORK, Finished, Project

TESTS = """
import pytest

@pytest.mark.bench(check="equivalence")
def test_equivalence(bench_cell):
    bench_cell.verify()
"""
# A compiler whose failure is that of its option `fault`.
COMPILER = """
import os

from bench_plugin.agent.adapter import Unsupported

ADAPTER = {
    "name": "leaky",
    "kind": "compiler",
    "toolchain": "fake",
    "operations": ["compile", "run"],
    "precisions": {"fp32": ["original"]},
    "options": {"fault": ["message", "log", "half", "bytes"], "token": ["none", "tok-of-the-option"]},
}


class Adapter:
    def versions(self):
        return {}

    def reset(self):
        pass

    def compile(self, call):
        call.stage("compile")
        fault = call.options["fault"]
        if fault == "message":
            raise RuntimeError("https://me:pa55word@x.org/y?token=tok-of-the-url: 401, sent value-of-the-variable")
        if fault == "log":
            os.write(2, b"using --api-key key-of-the-log and value-of-the-variable\\n")
            os.abort()
        if fault == "half":
            raise Unsupported("no such file: caf\\udce9, token=tok-of-the-message")
        os.write(2, b"no such file: caf\\xe9\\n")
        os.abort()

    run = compile
"""
SECRETS = ("pa55word", "tok-of-the", "key-of-the-log", "value-of-the-variable")


@pytest.fixture
def leaky(project: Project) -> Project:
    """A project with the compiler above, and with a secret in the environment."""
    adapter = project.write("leaky.py", COMPILER)
    project.write("bench.toml", f'adapters = ["{FRAMEWORK}", "{adapter}"]\ntoolchains = ["toolchains"]\n')
    project.write("test_models.py", TESTS)
    project.write("conftest.py", "def pytest_addoption(parser):\n    parser.addoption('--registry-token')\n")
    project.model("net")
    project.environment["REGISTRY_PASSWORD"] = "value-of-the-variable"
    return project


def run(project: Project, fault: str, *options: str) -> Finished:
    return project.run("--compilers=leaky", f"--bench-option=leaky.fault={fault}", "-rA", *options)


def written(project: Project) -> str:
    """All that the run wrote for people, and its rows."""
    files = [path for path in (project.folder / "reports").iterdir() if path.is_file()]
    assert len(files) > 4
    return "".join(path.read_text("utf-8") for path in files)


@pytest.mark.parametrize("fault", ["message", "log", "half"])
def test_no_secret_is_shown_or_written(leaky: Project, fault: str) -> None:
    options = ("--bench-option=leaky.token=tok-of-the-option", "--registry-token", "tok-of-the-command")
    finished = run(leaky, fault, *options)
    assert finished.verdict("net", "equivalence")[1] == "compile", finished.text
    everything = finished.text + written(leaky)
    assert not [secret for secret in SECRETS if secret in everything]
    assert "***" in finished.text and "--registry-token" in finished.rows[0]["command"]
    row = finished.cells()["net"]
    assert row["settings"]["options"]["leaky"] == {"fault": fault, "token": "***"}
    assert "--bench-option=leaky.token=***" in row["repro"]
    assert "***" in row["reason"] + row["detail"]


@pytest.mark.parametrize("fault", ["half", "bytes"])
def test_half_a_character_is_a_row(leaky: Project, fault: str) -> None:
    leaky.environment["PYTHONIOENCODING"] = "utf-8:strict"
    finished = run(leaky, fault)
    row = finished.cells()["net"]
    assert "INTERNALERROR" not in finished.text
    assert "caf" in row["reason"] + row["detail"], row
    assert (row["reason"] + row["detail"]).encode()  # it is text
    assert written(leaky)
    done = leaky.bench("grid")
    assert (done.returncode, done.stderr) == (1, "")


def test_a_file_whose_name_is_no_text_is_a_row(project: Project) -> None:
    name = os.fsdecode(b"caf\xe9.onnx")
    project.write(name, "hello")
    project.environment["PYTHONIOENCODING"] = "utf-8:strict"
    finished = project.run(f"--bench-onnx={name}", "-rA")
    assert "INTERNALERROR" not in finished.text
    assert finished.verdict("caf\\udce9")[0] == "ERROR", finished.text
    assert written(project)


def test_pages_of_rows_of_an_older_version(leaky: Project) -> None:
    run(leaky, "message")
    path = leaky.folder / "reports/results.jsonl"
    path.write_text(path.read_text().replace("https:", "\\udce9 https:").replace("Model net", "Model n\\udce9t"))
    leaky.environment["PYTHONIOENCODING"] = "utf-8:strict"
    done = leaky.bench("grid")
    assert (done.returncode, done.stderr) == (1, "") and "n\\udce9t" in done.stdout
    assert "n\\udce9t" in written(leaky)
