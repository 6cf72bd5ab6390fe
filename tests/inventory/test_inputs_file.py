"""The file of a user's own inputs: what is read, and what is said of one that cannot be."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bench_plugin.domain.errors import UsageError
from bench_plugin.inventory.inputs_file import read_inputs

X = np.arange(6, dtype=np.float32).reshape(2, 3)


def single_array(path: Path) -> None:
    with path.open("wb") as file:
        np.save(file, X)


def test_arrays_come_by_their_names_and_other_content_is_another_file(tmp_path: Path) -> None:
    first, second = tmp_path / "a.npz", tmp_path / "b.npz"
    np.savez(first, x=X)
    np.savez(second, x=X + 1)
    found = read_inputs(first)
    assert list(found.arrays) == ["x"] and (found.arrays["x"] == X).all()
    assert found.digest == read_inputs(first).digest != read_inputs(second).digest


@pytest.mark.parametrize(
    ("write", "message"),
    [
        (lambda path: None, "cannot be read: No such file or directory"),
        (lambda path: path.write_text("x"), "is not an .npz file of numbers"),
        (lambda path: path.touch(), "is not an .npz file of numbers"),
        (lambda path: path.write_bytes(b"PK\x03\x04" + bytes(9)), "is not an .npz file of numbers"),
        (
            lambda path: np.save(path.with_suffix(".npy"), X) or path.with_suffix(".npy").rename(path),
            "holds a single array; numpy.savez writes arrays with names",
        ),
        (lambda path: np.savez(path, x=np.array([{}])), "it holds Python objects, which are not read"),
    ],
)
def test_a_file_that_is_none_is_a_usage_error(tmp_path: Path, write: Any, message: str) -> None:
    path = tmp_path / "a.npz"
    write(path)
    with pytest.raises(UsageError, match="^--bench-inputs: ") as raised:
        read_inputs(path)
    assert str(path) in str(raised.value) and message in str(raised.value)
