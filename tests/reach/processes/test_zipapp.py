"""The agent as one file: reproducible, complete, and whole whoever else builds it."""

from __future__ import annotations

import zipfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from bench_plugin.reach.processes.zipapp import agent_digest, build_agent


def test_the_zipapp_is_the_same_for_the_same_source(tmp_path: Path) -> None:
    one = build_agent(tmp_path / "one")
    assert one.read_bytes() == build_agent(tmp_path / "two").read_bytes()
    assert agent_digest()[:16] in one.name
    with zipfile.ZipFile(one) as archive:
        others = [name for name in archive.namelist() if not name.startswith("bench_plugin/agent/")]
    assert sorted(others) == ["__main__.py", "bench_plugin/__init__.py"]


def test_threads_may_build_the_zipapp_at_once(tmp_path: Path) -> None:
    with ThreadPoolExecutor(8) as threads:
        for round in range(10):
            folders = [tmp_path / str(round)] * 8
            assert len({path.read_bytes() for path in threads.map(build_agent, folders)}) == 1
            assert len(list(folders[0].iterdir())) == 1
