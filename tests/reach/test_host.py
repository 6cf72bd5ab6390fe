"""What results depend on of the host: variables that change numerics, the processor, the C library, cores."""

from __future__ import annotations

import os

import pytest

from bench_plugin.reach.host import host_facts, numeric_variables


def test_variables_that_change_numerics_are_chosen_by_name_and_beginning() -> None:
    environment = {"OMP_NUM_THREADS": "2", "CUDA_VISIBLE_DEVICES": "", "EDITOR": "ed", "PATH": "/bin", "CC": "cc"}
    assert numeric_variables(environment) == {"CC": "cc", "CUDA_VISIBLE_DEVICES": "", "OMP_NUM_THREADS": "2"}
    assert numeric_variables({"XOMP_NUM_THREADS": "2", "CCACHE_DIR": "/tmp", "TOKEN": "secret"}) == {}


def test_the_facts_are_those_of_this_host_and_the_digest_names_them() -> None:
    facts = host_facts({"MKL_CBWR": "COMPATIBLE"})
    assert facts["architecture"] == os.uname().machine
    assert facts["isa"] == sorted(set(facts["isa"])) and facts["libc"].startswith("glibc ")
    assert facts["digest"] == host_facts({"MKL_CBWR": "COMPATIBLE", "EDITOR": "ed"})["digest"]
    assert len(facts["digest"]) == 12 and facts["digest"] != host_facts({})["digest"]


def test_the_cores_that_may_be_used_count(monkeypatch: pytest.MonkeyPatch) -> None:
    before = host_facts({})["digest"]
    monkeypatch.setattr(os, "sched_getaffinity", lambda number: set(range(999)))
    assert host_facts({})["digest"] != before
