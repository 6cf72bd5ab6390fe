"""The agent as one file: reproducible, complete, and whole whoever else builds it."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from bench_plugin.reach.processes.zipapp import PACKAGE, agent_digest, build_agent


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


def rewritten(archive: Path, copy: Path, name: str, change: Callable[[bytes], bytes]) -> Path:
    """A copy of a zip in which the content of one file is another."""
    with zipfile.ZipFile(archive) as given, zipfile.ZipFile(copy, "w") as made:
        for one in given.namelist():
            made.writestr(one, change(given.read(one)) if one == name else given.read(one))
    return copy


def imports(archive: Path) -> str:
    """What a fresh interpreter says that imports the agent's frames from a zip; empty where it could."""
    code = f"import sys; sys.path.insert(0, {str(archive)!r}); import bench_plugin.agent.wire"
    done = subprocess.run([sys.executable, "-I", "-c", code], capture_output=True, text=True, check=False)
    return done.stderr


def test_the_zipapp_of_this_machine_has_byte_code_that_is_used(tmp_path: Path) -> None:
    made = build_agent(tmp_path, compiled=True)
    broken = rewritten(made, tmp_path / "broken.pyz", "bench_plugin/agent/wire.py", lambda _: b"raise RuntimeError")
    assert imports(made) == imports(broken) == "", "the source is not compiled again"
    with zipfile.ZipFile(made) as archive:
        names = set(archive.namelist())
    assert all(f"{name}c" in names for name in names if name.endswith(".py") and "/agent/" in name)


def test_byte_code_of_another_python_is_left_alone(tmp_path: Path) -> None:
    made = build_agent(tmp_path, compiled=True)
    other = rewritten(
        made, tmp_path / "other.pyz", "bench_plugin/agent/wire.pyc", lambda data: b"\x00\x00\r\n" + data[4:]
    )
    assert imports(other) == "", "the source is taken"


def test_tracebacks_of_byte_code_name_the_zipapp(tmp_path: Path) -> None:
    made = build_agent(tmp_path, compiled=True)
    code = (
        f"import sys; sys.path.insert(0, {str(made)!r}); import bench_plugin.agent.wire as w; w.encode(1, 0, object())"
    )
    done = subprocess.run([sys.executable, "-I", "-c", code], capture_output=True, text=True, check=False)
    assert f'File "{made}/bench_plugin/agent/wire.py", line ' in done.stderr
    assert str(PACKAGE) not in done.stderr
