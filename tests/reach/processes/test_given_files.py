"""The copies that agents get of their files: made once, read-only, hashed again after every call, dropped in time."""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from bench_plugin.reach.processes import given_files
from bench_plugin.reach.processes.given_files import GivenFile, GivenFiles, NotAsStated, with_digests
from bench_plugin.reach.processes.leased_agent import AgentFailure, Limits, Source
from bench_plugin.reach.processes.supervisor import AgentPool

LIMITS = Limits(20.0, 0)
# What it does with its file is in the metadata: Python that sees `path`, the file that it was given, and `call`.
ADAPTER = """
import os
from bench_plugin.agent.adapter import Reply, Unsupported
from bench_plugin.agent.contract import Call

class Go(Call):
    operation = "go"

    @classmethod
    def read(cls, meta, where):
        found = cls()
        object.__setattr__(found, "do", meta["do"])
        return found

ADAPTER = {"name": "fake", "kind": "tool", "toolchain": "fake", "title": "", "distribution": "", "operations": ["go"]}
CALLS = {"go": Go}

class Adapter:
    def reset(self):
        pass

    def go(self, call):
        files, path = {}, call.files["model.onnx"]
        exec(call.do)
        return Reply({"path": path, "mode": os.stat(path).st_mode & 0o777}, files=files)
"""
APPEND = """
os.chmod(path, 0o644)
with open(path, "ab") as file:
    file.write(b"x")
"""
BESIDE = """
beside = os.path.join(os.path.dirname(path), "data/weights")
os.chmod(beside, 0o644)
with open(beside, "wb") as file:
    file.write(b"12345")
"""
TOUCHED = """
os.chmod(path, 0o644)
before = os.stat(path)
with open(path, "r+b") as file:
    file.write(b"X")
os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
"""
REPLACED = """
os.unlink(path)
os.symlink(__file__, path)
"""
CHANGES = {
    "appended": APPEND, "rewritten with its old time": TOUCHED, "replaced": REPLACED, "removed": "os.unlink(path)",
    "and then refused": APPEND + "raise Unsupported('not here')", "and then failed": APPEND + "raise ValueError('no')",
}  # fmt: skip


@pytest.fixture
def pool(tmp_path: Path) -> Iterator[AgentPool]:
    """A pool whose only adapter does what the call says."""
    pool = AgentPool(
        lambda name: Path(sys.executable), tmp_path / "logs", lambda name: [Source(name, ADAPTER.encode())],
        tmp_path / "scratch",
    )  # fmt: skip
    yield pool
    pool.close()


@pytest.fixture
def file(tmp_path: Path) -> GivenFile:
    """A file with its digest."""
    path = tmp_path / "file"
    path.write_bytes(b"content")
    return GivenFile(path, hashlib.sha256(b"content").hexdigest())


@pytest.mark.parametrize("change", CHANGES)
def test_a_change_of_an_input_is_a_fault_of_the_adapter(pool: AgentPool, file: GivenFile, change: str) -> None:
    with pool.lease("fake") as agent:
        with pytest.raises(AgentFailure) as caught:
            agent.call("fake", "go", {"do": CHANGES[change]}, files={"model.onnx": file}, limits=LIMITS)
        assert caught.value.symptom == "harness" and agent.lost
        assert caught.value.message.startswith(
            "the adapter changed its input file model.onnx (fake, operation go); it may only write below call.folder"
        )
    assert file.path.read_bytes() == b"content"
    with pool.lease("fake") as agent:
        answer = agent.call("fake", "go", {"do": ""}, files={"model.onnx": file}, limits=LIMITS)
        assert Path(answer.meta["path"]).read_bytes() == b"content"


def test_the_copy_is_read_only_in_the_agents_folder_and_made_once(pool: AgentPool, file: GivenFile) -> None:
    with pool.lease("fake") as agent:
        first = agent.call("fake", "go", {"do": ""}, files={"model.onnx": file}, limits=LIMITS)
        inode = os.stat(first.meta["path"]).st_ino
        second = agent.call("fake", "go", {"do": ""}, files={"model.onnx": file}, limits=LIMITS)
        assert (second.meta["path"], os.stat(second.meta["path"]).st_ino) == (first.meta["path"], inode)
        assert first.meta["mode"] == 0o444 and inode != file.path.stat().st_ino
        assert "/given/" in first.meta["path"] and first.meta["path"].endswith("/model.onnx")


def test_the_same_content_under_another_path_is_not_copied_again(pool: AgentPool, tmp_path: Path) -> None:
    paths = [tmp_path / "a", tmp_path / "b"]
    with pool.lease("fake") as agent:
        found = []
        for path in paths:
            path.write_bytes(b"same")
            found.append(agent.call("fake", "go", {"do": ""}, files={"model.onnx": path}, limits=LIMITS).meta["path"])
    assert found[0] == found[1]


def test_weights_beside_a_file_are_copied_and_hashed_with_it(pool: AgentPool, tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    weights, model = tmp_path / "data/weights", tmp_path / "net.onnx"
    weights.write_bytes(b"1234")
    entry = b"\x0a\x08location\x12\x0cdata/weights"  # StringStringEntryProto
    tensor = b"\x6a" + bytes([len(entry)]) + entry  # TensorProto.external_data
    graph = b"\x2a" + bytes([len(tensor)]) + tensor  # GraphProto.initializer
    model.write_bytes(b"\x3a" + bytes([len(graph)]) + graph)  # ModelProto.graph
    stated = with_digests(model)
    assert stated.beside == {"data/weights": hashlib.sha256(b"1234").hexdigest()}
    for given in (stated, model):
        with pool.lease("fake", fresh=True) as agent:
            agent.call("fake", "go", {"do": ""}, files={"model.onnx": given}, limits=LIMITS)
            with pytest.raises(AgentFailure, match="changed its input file data/weights"):
                agent.call("fake", "go", {"do": BESIDE}, files={"model.onnx": given}, limits=LIMITS)
    weights.write_bytes(b"4321")
    with pool.lease("fake") as agent, pytest.raises(AgentFailure, match="data/weights: the file changed while the run"):
        agent.call("fake", "go", {"do": ""}, files={"model.onnx": stated}, limits=LIMITS)


def test_a_file_that_is_not_the_stated_one_never_reaches_the_agent(pool: AgentPool, file: GivenFile) -> None:
    file.path.write_bytes(b"another")
    with pool.lease("fake") as agent:
        with pytest.raises(AgentFailure, match=f"{file.path}: the file changed while the run was at work") as caught:
            agent.call("fake", "go", {"do": ""}, files={"model.onnx": file}, limits=LIMITS)
        assert caught.value.symptom == "harness" and agent.calls == 0 and not agent.lost
        file.path.unlink()
        with pytest.raises(AgentFailure, match="was removed while the run was at work"):
            agent.call("fake", "go", {"do": ""}, files={"model.onnx": file}, limits=LIMITS)


def test_an_input_is_no_result(pool: AgentPool, file: GivenFile) -> None:
    with pool.lease("fake") as agent, pytest.raises(AgentFailure, match="result out is an input file of the call"):
        agent.call("fake", "go", {"do": "files['out'] = path"}, files={"model.onnx": file}, limits=LIMITS)


@pytest.mark.parametrize("name", ["../out", "/tmp/out", ""])
def test_a_name_that_leads_out_is_refused(tmp_path: Path, file: GivenFile, name: str) -> None:
    with pytest.raises(NotAsStated, match="leads out of the folder"):
        GivenFiles(tmp_path / "given").place({name: file})
    assert not (tmp_path / "out").exists() and not list((tmp_path / "given").iterdir())


def test_old_copies_are_dropped(tmp_path: Path, file: GivenFile) -> None:
    given = GivenFiles(tmp_path / "given")
    first = given.place({"model.onnx": file}).paths["model.onnx"]
    for number in range(given_files.KEPT_SETS):
        other = tmp_path / "other"
        other.write_text(str(number))
        kept = given.place({"model.onnx": other}).paths["model.onnx"]
        assert kept.read_text() == str(number)
    assert len(list((tmp_path / "given").iterdir())) == given_files.KEPT_SETS and not first.exists()
    again = given.place({"model.onnx": file})
    assert again.paths["model.onnx"].read_bytes() == b"content" and not again.changed()


def test_large_copies_are_dropped(tmp_path: Path) -> None:
    given = GivenFiles(tmp_path / "given", kept_bytes=25)
    made = []
    for number in range(3):
        path = tmp_path / "large"
        path.write_text(str(number) * 10)
        made.append(given.place({"model": path}).paths["model"])
    assert [path.exists() for path in made] == [False, True, True]


def test_a_file_in_memory_is_placed_like_any_other(tmp_path: Path) -> None:
    given = GivenFiles(tmp_path / "given")
    stated = GivenFile(Path("absent.onnx"), hashlib.sha256(b"in memory").hexdigest(), data=b"in memory")
    copies = given.place({"model.onnx": stated})
    path = copies.paths["model.onnx"]
    assert path.read_bytes() == b"in memory" and path.stat().st_mode & 0o777 == 0o444 and not copies.changed()
    assert given.place({"model.onnx": stated}) is copies
    path.chmod(0o644)
    path.write_bytes(b"changed")
    assert copies.changed() == "model.onnx"


def test_a_file_in_memory_must_be_what_is_stated(tmp_path: Path) -> None:
    stated = GivenFile(Path("absent.onnx"), hashlib.sha256(b"other").hexdigest(), data=b"in memory")
    with pytest.raises(NotAsStated, match=r"absent\.onnx: the file changed"):
        GivenFiles(tmp_path / "given").place({"model.onnx": stated})


def test_dropped_copies_go_with_what_an_adapter_put_beside_them(tmp_path: Path, file: GivenFile) -> None:
    given = GivenFiles(tmp_path / "given", kept_bytes=1)
    folder = given.place({"model.onnx": file}).paths["model.onnx"].parent
    (folder / "beside").mkdir()
    other = GivenFile(Path("other.onnx"), hashlib.sha256(b"other").hexdigest(), data=b"other")
    given.place({"model.onnx": other})
    assert not folder.exists()
