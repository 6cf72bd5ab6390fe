"""The record of an entry and its files on disk: what they are called, what they say, and what is wrong with them."""

from __future__ import annotations

import hashlib
import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bench_plugin.domain.outcome import Cause, Stage, Symptom
from bench_plugin.pipeline.cache import Entry
from bench_plugin.pipeline.cache.entry import CHUNK, Damaged, check_contents, entry_of, read, write
from tests.pipeline.stored import key_of, unsupported

KEY = key_of("a")


def sha(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def stored(folder: Path, files: dict[str, bytes] | None = None, **changed: Any) -> dict[str, Any]:
    """Write an entry of the recipe KEY into the folder; its record."""
    stated: dict[str, Any] = {
        "meta": {"name": "a"}, "arrays": {"x": np.arange(3, dtype=np.int8)}, "files": {}, "failure": None,
        "seconds": {"export": 0.5}, "peak_bytes": 7, **changed,
    }  # fmt: skip
    sources = {name: io.BytesIO(data) for name, data in (files or {}).items()}
    return write(folder, KEY, "export", Entry(**stated), sources)


def test_the_record_has_the_digest_of_itself_and_of_every_file(tmp_path: Path) -> None:
    returned = stored(tmp_path, {"model.onnx": b"onnx", "notes": b""}, failure=unsupported())
    first, body = (tmp_path / "record.json").read_bytes().split(b"\n", 1)
    assert first == b'{"form": 2, "sha256": "' + sha(body).encode() + b'"}'
    array = (tmp_path / "0.npy").read_bytes()
    assert body.endswith(b"}\n") and json.loads(body) == {
        "key": KEY, "stage": "export", "meta": {"name": "a"}, "arrays": {"x": "0.npy"},
        "files": {"model.onnx": "files-0.onnx", "notes": "files-1"},
        "failure": {
            "stage": "export", "symptom": "unsupported", "message": "no such operator", "detail": "", "log": "",
            "signal": None, "types": ["A", "B"], "cause": "", "confirmed": False,
        },
        "seconds": {"export": 0.5}, "peak": 7,
        "contents": {
            "0.npy": [len(array), sha(array)], "files-0.onnx": [4, sha(b"onnx")], "files-1": [0, sha(b"")],
        },
    }  # fmt: skip
    assert json.loads(json.dumps(returned)) == json.loads(body), "what is returned is what was written"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["0.npy", "files-0.onnx", "files-1", "record.json"]
    assert (tmp_path / "files-0.onnx").read_bytes() == b"onnx"


def test_an_entry_is_read_back_from_its_record_alone(tmp_path: Path) -> None:
    arrays = {"x": np.arange(3, dtype=np.int8), "y": np.zeros((2, 0))}
    stored(tmp_path, {"model.onnx": b"onnx"}, arrays=arrays, failure=unsupported())
    entry = entry_of(tmp_path, read(tmp_path, KEY))
    assert (entry.meta, entry.seconds, entry.peak_bytes) == ({"name": "a"}, {"export": 0.5}, 7)
    assert entry.files == {"model.onnx": tmp_path / "files-0.onnx"}
    assert entry.failure == unsupported()
    assert entry.failure is not None
    assert (entry.failure.stage, entry.failure.symptom) == (Stage.EXPORT, Symptom.UNSUPPORTED)
    assert [type(one) for one in (entry.failure.stage, entry.failure.symptom, entry.failure.cause)] == [
        Stage, Symptom, Cause,
    ]  # fmt: skip
    assert (list(entry.arrays), len(entry.arrays), entry.arrays["y"].shape) == (["x", "y"], 2, (2, 0))
    assert entry.digests == {
        "array:x": sha((tmp_path / "0.npy").read_bytes()), "array:y": sha((tmp_path / "1.npy").read_bytes()),
        "model.onnx": sha(b"onnx"),
    }  # fmt: skip
    with pytest.raises(KeyError):
        entry.arrays["z"]


def test_nothing_is_unpickled(tmp_path: Path) -> None:
    """A pickle in a cache that others can write would run their code."""
    stored(tmp_path)
    with (tmp_path / "0.npy").open("wb") as file:
        np.save(file, np.array([{}], dtype=object), allow_pickle=True)
    arrays = entry_of(tmp_path, json.loads((tmp_path / "record.json").read_bytes().split(b"\n", 1)[1])).arrays
    with pytest.raises(ValueError, match="allow_pickle=False"):
        arrays["x"]


def test_objects_are_not_pickled_either(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="allow_pickle=False"):
        stored(tmp_path, arrays={"x": np.array([{}], dtype=object)})


def test_a_file_that_is_there_is_never_overwritten(tmp_path: Path) -> None:
    (tmp_path / "files-0.onnx").write_bytes(b"mine")
    with pytest.raises(FileExistsError):
        stored(tmp_path, {"model.onnx": b"onnx"})
    assert (tmp_path / "files-0.onnx").read_bytes() == b"mine"


@pytest.mark.parametrize(
    ("name", "file"),
    [
        ("model.onnx", "files-0.onnx"),
        ("model.v2.TFLite_1", "files-0.TFLite_1"),
        ("model.0123456789abcdef", "files-0.0123456789abcdef"),
        ("model.0123456789abcdef0", "files-0"),
        ("model", "files-0"),
        ("model.", "files-0"),
        ("model.a-b", "files-0"),
        ("model.ä", "files-0"),
        ("model.a\n", "files-0"),
        (".onnx/model", "files-0"),
    ],
)
def test_a_file_keeps_the_suffix_by_which_tools_tell_formats(tmp_path: Path, name: str, file: str) -> None:
    assert stored(tmp_path, {name: b"onnx"})["files"] == {name: file}
    assert (tmp_path / file).read_bytes() == b"onnx"


@pytest.mark.parametrize("size", [CHUNK - 1, CHUNK, CHUNK + 1, 2 * CHUNK + 5])
def test_a_file_of_any_size_is_stored_whole_and_verified_whole(tmp_path: Path, size: int) -> None:
    data = bytes(range(251)) * (size // 251 + 1)
    record = stored(tmp_path, {"model": data[:size]})
    assert record["contents"]["files-0"] == (size, sha(data[:size]))
    assert (tmp_path / "files-0").read_bytes() == data[:size]
    check_contents(tmp_path, record)
    (tmp_path / "files-0").write_bytes(data[: size - 1] + bytes([data[size - 1] ^ 1]))
    with pytest.raises(Damaged, match=r"^files-0 is not what was stored$"):
        check_contents(tmp_path, record)


def test_every_file_is_verified(tmp_path: Path) -> None:
    record = stored(tmp_path, {"a": b"1", "b": b"2", "c": b"3"})
    for name in record["contents"]:
        path = tmp_path / name
        whole = path.read_bytes()
        path.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
        with pytest.raises(Damaged) as caught:
            check_contents(tmp_path, record)
        assert str(caught.value) == f"{name} is not what was stored"
        path.write_bytes(whole)
    check_contents(tmp_path, record)


def resealed(folder: Path, form: int) -> None:
    """Write the record as another form of records would seal it."""
    body = (folder / "record.json").read_bytes().split(b"\n", 1)[1]
    (folder / "record.json").write_bytes(b'{"form": %d, "sha256": "%s"}\n' % (form, sha(body).encode()) + body)


@pytest.mark.parametrize(
    ("damage", "text"),
    [
        (lambda folder: (folder / "record.json").unlink(), "record.json cannot be read: No such file or directory"),
        (lambda folder: (folder / "record.json").write_bytes(b""), "record.json is not what was stored"),
        (lambda folder: (folder / "record.json").write_bytes(b"\n"), "record.json is not what was stored"),
        (lambda folder: resealed(folder, 1), "record.json is not what was stored"),
        (lambda folder: resealed(folder, 3), "record.json is not what was stored"),
        (lambda folder: (folder / "files-0.onnx").unlink(), "files-0.onnx is missing"),
        (lambda folder: (folder / "files-0.onnx").write_bytes(b"onn"), "files-0.onnx has 3 bytes, not 4"),
        (lambda folder: (folder / "files-0.onnx").write_bytes(b"onnx+"), "files-0.onnx has 5 bytes, not 4"),
        (lambda folder: [(folder / name).touch() for name in ("z", "b", "y")], "b was not stored"),
    ],
)
def test_what_is_wrong_with_an_entry_is_said(tmp_path: Path, damage: Any, text: str) -> None:
    stored(tmp_path, {"model.onnx": b"onnx"})
    assert read(tmp_path, KEY)["stage"] == "export"
    damage(tmp_path)
    with pytest.raises(Damaged) as caught:
        read(tmp_path, KEY)
    assert str(caught.value) == text


def test_an_entry_of_another_recipe_is_not_believed(tmp_path: Path) -> None:
    stored(tmp_path)
    with pytest.raises(Damaged) as caught:
        read(tmp_path, key_of("b"))
    assert str(caught.value) == f"record.json belongs to another recipe, {KEY[:12]}"


def test_the_record_of_the_same_form_is_read(tmp_path: Path) -> None:
    stored(tmp_path)
    resealed(tmp_path, 2)
    assert read(tmp_path, KEY)["peak"] == 7


def test_a_version_that_is_retired_can_still_be_read(tmp_path: Path) -> None:
    stored(tmp_path, {"model.onnx": b"onnx"})
    (tmp_path / "retired").touch()
    assert read(tmp_path, KEY)["files"] == {"model.onnx": "files-0.onnx"}


def test_a_file_that_went_meanwhile_is_named_with_the_reason(tmp_path: Path) -> None:
    record = stored(tmp_path, {"model.onnx": b"onnx"})
    (tmp_path / "files-0.onnx").unlink()
    with pytest.raises(Damaged) as caught:
        check_contents(tmp_path, record)
    assert str(caught.value) == "files-0.onnx cannot be read: No such file or directory"
