"""An agent may be started before it is leased, while another one works."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench_plugin.domain.errors import EnvironmentMissing
from bench_plugin.reach.processes.client import Source
from bench_plugin.reach.processes.supervisor import AgentPool
from tests.reach.processes.conftest import FAKE, LIMITS, until


def test_a_prepared_agent_is_the_one_that_is_leased(pool: AgentPool, tmp_path: Path) -> None:
    with pool.lease("fake", role="compile"):
        pool.prepare("fake", role="run", adapter="fake")
        assert until(lambda: not pool.busy("fake", "run"))
        assert started(tmp_path) == 2
    with pool.lease("fake", role="run") as agent:
        assert agent.call("fake", "go", {}, limits=LIMITS).meta["pid"]
        pool.prepare("fake", role="run", adapter="fake")
    assert started(tmp_path) == 2


def test_a_lease_waits_for_the_agent_that_is_being_started(pool: AgentPool, tmp_path: Path) -> None:
    pool.prepare("fake", role="run", adapter="fake")
    with pool.lease("fake", role="run") as agent:
        assert agent.call("fake", "go", {}, limits=LIMITS).meta["pid"]
    assert started(tmp_path) == 1


def test_what_cannot_be_prepared_is_told_by_the_lease(tmp_path: Path) -> None:
    def missing(name: str) -> Path:
        raise EnvironmentMissing(f"no {name}")

    pool = AgentPool(missing, tmp_path / "logs", lambda name: [], tmp_path / "scratch")
    pool.prepare("fake", role="run", adapter="fake")
    with pytest.raises(EnvironmentMissing, match="no fake"), pool.lease("fake", role="run"):
        pass
    pool.close()


def test_a_prepared_agent_imports_what_the_adapter_names(pool: AgentPool) -> None:
    text = FAKE.read_text().replace('"operations": ["go"],', '"operations": ["go"], "imports": ["colorsys", "absent"],')
    text = text.replace('"remembered": self.remembered', '"remembered": "colorsys" in sys.modules')
    pool._adapters = lambda name: [Source(name, text.encode())]
    pool.prepare("fake", role="run", adapter="fake")
    with pool.lease("fake", role="run") as agent:
        assert agent.call("fake", "go", {}, limits=LIMITS).meta["remembered"] is True


def test_closing_ends_what_is_being_prepared(pool: AgentPool) -> None:
    pool.prepare("fake", role="run", adapter="fake")
    pool.close()
    assert until(lambda: not pool.busy("fake", "run"))


def started(folder: Path) -> int:
    """How many agents there were: each has a log of its own."""
    return len(list((folder / "logs").glob("*.log")))
