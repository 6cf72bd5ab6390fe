"""Agents get a named list of environment variables: no secrets, and no more than a program can be given."""

from __future__ import annotations

import hashlib
import os
import sys
from pathlib import Path

import pytest

from bench_plugin.reach.processes.leased_agent import Source
from bench_plugin.reach.processes.supervisor import AgentPool
from bench_plugin.reach.processes.variables import for_agents
from tests.project import Project
from tests.reach.processes.conftest import LIMITS, ROOT

RUNNING = ROOT / "tests" / "fake" / "running.py"


def environment_of_an_agent(
    folder: Path, *named: str, key: str = "environment", at_once: int = 1, alone: bool = False
) -> tuple[dict[str, str], str]:
    """What an agent of this process finds in its environment (the values, or their ``hashes``), and its log."""
    pool = AgentPool(
        lambda name: Path(sys.executable), folder / "logs", lambda name: [Source(name, RUNNING.read_bytes())],
        folder / "scratch", variables=named, at_once=at_once,
    )  # fmt: skip
    try:
        with pool.lease("fake", alone=alone) as agent:
            answer = agent.call("fake", "go", {}, limits=LIMITS)
    finally:
        pool.close()
    return dict(answer.meta[key]), Path(answer.log).read_text()


def test_agents_get_what_is_usual_and_no_secret(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    usual = {"OMP_NUM_THREADS": "3", "LC_TIME": "C", "CUDA_VISIBLE_DEVICES": "0", "TOKENIZERS_PARALLELISM": "false"}
    hidden = (
        "GITHUB_TOKEN",
        "HF_TOKEN",
        "AWS_SECRET_ACCESS_KEY",
        "TF_API_KEY",
        "PGPASSWORD",
        "BUILD_URL",
        "PYTHONPATH",
    )
    for name, value in (*usual.items(), *((name, "hidden") for name in hidden)):
        monkeypatch.setenv(name, value)
    found, _ = environment_of_an_agent(tmp_path)
    assert {name: found[name] for name in usual} == usual
    assert found["PATH"] == os.environ["PATH"] and found["HOME"] == os.environ["HOME"]
    assert found["TMPDIR"].startswith(str(tmp_path))
    assert not set(hidden) & set(found)
    assert "hidden" not in found.values()


@pytest.mark.parametrize(("at_once", "threads"), [(1, "6"), (2, "3"), (4, "1"), (9, "1")])
def test_agents_share_the_cores(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, at_once: int, threads: str) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: set(range(6)))
    found, _ = environment_of_an_agent(tmp_path, at_once=at_once)
    assert (found["OPENBLAS_NUM_THREADS"], found["OMP_WAIT_POLICY"]) == (threads, "PASSIVE")


def test_what_the_user_says_of_threads_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "5")
    assert environment_of_an_agent(tmp_path, at_once=2)[0]["OPENBLAS_NUM_THREADS"] == "5"


def test_an_agent_that_works_alone_has_all_cores_and_may_spin(tmp_path: Path) -> None:
    found, _ = environment_of_an_agent(tmp_path, at_once=2, alone=True)
    assert not {"OPENBLAS_NUM_THREADS", "OMP_WAIT_POLICY"} & set(found)


def test_what_is_named_reaches_agents_and_a_secret_only_in_full(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = {"MYCC_HOME": "/opt/mycc", "MYCC_TOKEN": "1234", "MYCC_LICENCE_KEY": "5678"}
    for name, value in given.items():
        monkeypatch.setenv(name, value)
    found, _ = environment_of_an_agent(tmp_path, "MYCC_*", "MYCC_LICENCE_KEY")
    assert {name: found.get(name) for name in given} == {**given, "MYCC_TOKEN": None}


def test_the_address_of_a_proxy_is_no_secret_but_its_password_is() -> None:
    given = {"https_proxy": "http://proxy:3128", "http_proxy": "http://me:word@proxy:3128"}
    kept = for_agents(given)
    assert kept.variables == {"https_proxy": "http://proxy:3128"}
    assert len(kept.remarks) == 1 and "http_proxy" in kept.remarks[0] and "word@" not in kept.remarks[0]
    assert for_agents(given, ["http_proxy"]).variables == given


def test_variables_of_terraform_are_none_of_tensorflow() -> None:
    given = {"TF_VAR_db_pass": "word", "TF_CLI_CONFIG_FILE": "/home/me/.terraformrc", "TF_ENABLE_ONEDNN_OPTS": "0"}
    assert for_agents(given).variables == {"TF_ENABLE_ONEDNN_OPTS": "0"}
    assert for_agents(given, ["TF_VAR_*"]).variables == {"TF_VAR_db_pass": "word", "TF_ENABLE_ONEDNN_OPTS": "0"}


def test_a_variable_that_goes_meanwhile_is_left_out() -> None:
    """As pytest takes its PYTEST_CURRENT_TEST away between two tests, in another thread."""

    class Changing(dict[str, str]):
        def get(self, name: str, default: str | None = None) -> str | None:  # type: ignore[override]
            self.pop("LANG", None)
            return super().get(name, default)

    given = Changing(HOME="/home/me", LANG="C", LC_ALL="C")
    assert for_agents(given).variables == {"HOME": "/home/me", "LC_ALL": "C"}


def test_a_large_environment_is_handed_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """More than a packet to the guardian holds: 300 kB in values that a program can be given, not all of it UTF-8."""
    given = {f"LARGE_{number}": "x" * 100_000 for number in range(3)} | {"LARGE_3": "caf\udce9"}
    for name, value in given.items():
        monkeypatch.setenv(name, value)
    found, _ = environment_of_an_agent(tmp_path, "LARGE_*", key="hashes")
    hashes = {name: hashlib.sha256(os.fsencode(value)).hexdigest() for name, value in given.items()}
    assert {name: found.get(name) for name in given} == hashes


def test_a_variable_that_no_program_can_be_given_is_left_out_with_a_note(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TF_LARGE", "x" * 200_000)
    monkeypatch.setenv("UNKNOWN_LARGE", "x" * 200_000)
    found, log = environment_of_an_agent(tmp_path)
    assert "PATH" in found and "TF_LARGE" not in found
    assert "variable TF_LARGE is left out: 200010 bytes, a program can be given 131072" in log
    assert "UNKNOWN_LARGE" not in log


def test_a_run_with_variables_that_no_program_can_be_given(project: Project) -> None:
    project.model("a")
    project.write("conftest.py", "import os\nos.environ['TF_LARGE'] = os.environ['OTHER_LARGE'] = 'x' * 200_000\n")
    finished = project.run("-k", "test_export")
    assert finished.verdict("a")[0] == "supported", finished.text
