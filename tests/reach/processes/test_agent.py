"""What an agent does for its host: adapters by content, files, stages and versions."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from bench_plugin.agent import wire
from bench_plugin.agent.store import Refused, Store
from bench_plugin.reach.processes.leased_agent import AgentFailure, Limits, Source
from bench_plugin.reach.processes.supervisor import AgentPool
from tests.reach.processes.conftest import FAKE, LIMITS

MIB = 1 << 20


class Board:
    """A far end without files or processes to ask."""

    shares_files = False
    gone = False

    def resident(self) -> int:
        """Nothing can be asked."""
        return 0

    def spent(self) -> float | None:
        """Nothing can be asked."""
        return None

    def kill(self) -> int | None:
        """Nothing can be killed."""
        return None

    def ended(self) -> int | None:
        """Nothing is known."""
        return None


def test_an_adapter_that_changed_is_sent_again(pool: AgentPool, tmp_path: Path) -> None:
    copy = tmp_path / "adapter.py"
    copy.write_bytes(FAKE.read_bytes())
    pool._adapters = lambda name: [Source(name, copy.read_bytes())]
    with pool.lease("fake") as agent:
        first = agent.call("fake", "go", {}, limits=LIMITS)
        second = agent.call("fake", "go", {}, limits=LIMITS)
        copy.write_text(FAKE.read_text().replace('"remembered": self.remembered', '"remembered": -1'))
        third = agent.call("fake", "go", {}, limits=LIMITS)
        copy.write_text("import module_that_is_not_there\nADAPTER = {}\n")
        with pytest.raises(AgentFailure, match="No module named 'module_that_is_not_there'"):
            agent.call("fake", "go", {}, limits=LIMITS)
    assert [answer.meta["remembered"] for answer in (first, second, third)] == [1, 2, -1]
    assert first.meta["pid"] == third.meta["pid"]


def test_a_lease_resets_unless_it_is_sticky(pool: AgentPool) -> None:
    seen = []
    for sticky in ("", "", "model", "model", "other", ""):
        with pool.lease("fake", affinity=sticky) as agent:
            seen.append(agent.call("fake", "go", {}, limits=LIMITS).meta["remembered"])
    assert seen == [1, 1, 1, 2, 1, 1]


def test_versions_and_operations(pool: AgentPool) -> None:
    with pool.lease("fake") as agent:
        assert agent.versions("fake", LIMITS) == {"fake": "1.0"}
        with pytest.raises(AgentFailure, match="adapter fake has no operation 'versions'") as caught:
            agent.call("fake", "versions", {}, limits=LIMITS)
        assert caught.value.symptom == "harness"


def test_files_go_by_reference_and_results_outlive_the_agent(pool: AgentPool, tmp_path: Path) -> None:
    given = tmp_path / "model.onnx"
    given.write_bytes(os.urandom(3 * MIB))
    with pool.lease("fake") as agent:
        answer = agent.call("fake", "go", {}, files={"copy.onnx": given}, limits=LIMITS)
        assert not list(Path(answer.meta["folder"]).iterdir()), "results are moved, not copied"
    with pool.lease("fake", fresh=True):
        pass
    assert answer.files["copy.onnx"].read_bytes() == given.read_bytes()
    assert answer.files["copy.onnx"].name.endswith("-copy.onnx")


def test_a_result_outside_of_the_folder_is_refused(pool: AgentPool, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.write_text("mine")
    with pool.lease("fake") as agent, pytest.raises(AgentFailure, match="outside of the agent's folder") as caught:
        agent.call("fake", "go", {"fault": "escape", "outside": str(outside)}, limits=LIMITS)
    assert caught.value.symptom == "harness"
    assert outside.read_text() == "mine"


@pytest.mark.parametrize("elements", [1_000, 16_000, 300_000])
def test_answers_keep_their_arrays_when_the_next_ones_come(pool: AgentPool, elements: int) -> None:
    with pool.lease("fake") as agent:
        answers = [
            agent.call("fake", "go", {}, arrays={"x": np.full(elements, value)}, limits=LIMITS)
            for value in (1.0, 2.0, 3.0)
        ]
    assert [np.unique(answer.arrays["x"]).tolist() for answer in answers] == [[1.0], [2.0], [3.0]]


def test_stages_have_seconds_and_the_call_has_a_peak(pool: AgentPool) -> None:
    with pool.lease("fake") as agent:
        meta = {"stages": {"build": 0.1, "export": 0.2}, "fault": "peak", "bytes": 100 * MIB}
        large = agent.call("fake", "go", meta, limits=LIMITS)
        small = agent.call("fake", "go", {}, limits=LIMITS)
    assert list(large.seconds) == ["build", "export", "work", "call"]
    assert 0.1 <= large.seconds["build"] < large.seconds["export"] < large.seconds["call"]
    assert sum(large.seconds[name] for name in ("build", "export", "work")) <= large.seconds["call"]
    assert large.peak_bytes > 100 * MIB > small.peak_bytes > 0


def test_what_one_call_has_freed_counts_in_none_that_follows(pool: AgentPool) -> None:
    with pool.lease("fake") as agent:
        agent.call("fake", "go", {"fault": "fragments", "bytes": 400 * MIB}, limits=LIMITS)
        after = agent.call("fake", "go", {"stages": {"build": 0.5}}, limits=Limits(20.0, 200 * MIB))
    assert 0 < after.peak_bytes < 100 * MIB


def test_a_link_in_the_folder_does_not_lead_out_of_it(store: Store) -> None:
    link = Path(store.scratch()) / "link"
    link.symlink_to("/etc/hostname")
    with pytest.raises(Refused, match="outside"):
        store.below(str(link))
    assert not list(Path(store.scratch()).iterdir())


def test_a_call_that_cannot_be_sent_leaves_the_agent_usable(pool: AgentPool) -> None:
    with pool.lease("fake") as agent:
        with pytest.raises(AgentFailure, match="the request cannot be sent: metadata of"):
            agent.call("fake", "go", {"long": "x" * wire.MAX_META}, limits=Limits(5, 0))
        agent.call("fake", "go", {}, limits=LIMITS)
