"""Digests of arrays: what tells two arrays apart, and how often they are made."""

from __future__ import annotations

import threading
import time

import numpy as np
import pytest

from bench_plugin.pipeline.array_sets import ArraySet, digests_in, digests_of, identified, joined, renamed

BASE = np.arange(6, dtype=np.float32).reshape(2, 3)
OTHERS = {
    "one bit": np.where(BASE == 4, np.nextafter(BASE, np.float32(9)), BASE),
    "shape": BASE.reshape(3, 2),
    "dtype": BASE.view(np.int32),
    "order": BASE[::-1],
    "sign of zero": np.where(BASE == 0, np.float32(-0.0), BASE),
}


@pytest.mark.parametrize("name", OTHERS)
def test_other_arrays_have_other_digests(name: str) -> None:
    assert digests_of({"x": OTHERS[name]}) != digests_of({"x": BASE})


KINDS = ("bool", "float16", "complex64", "int8", "uint64", ">f4")


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_array_has_one(kind: str) -> None:
    for shape in ((), (0, 3), (4,), (2, 2)):
        found = digests_of({"x": np.ones(shape, kind)})
        assert found == digests_of({"x": np.ones(shape, kind)}) and len(found["x"]) == 64


def test_strides_do_not_matter() -> None:
    assert digests_of({"x": np.asfortranarray(BASE)}) == digests_of({"x": BASE})


def test_sets_under_other_names_and_together() -> None:
    one = ArraySet(lambda: {"a": BASE})
    found = joined(renamed(one, lambda given: {f"in:{name}": value for name, value in given.items()}), dict)
    assert list(found()) == ["in:a"] and found.digests() == {"in:a": one.digests()["a"]}
    assert digests_in(found) == found.digests() and digests_in(dict) == {}


def test_an_identified_set_is_hashed_once_by_all_threads() -> None:
    made = []

    def make() -> dict[str, np.ndarray]:
        made.append(1)
        time.sleep(0.05)
        return {"a": BASE}

    sets = [identified("test_an_identified_set", make) for _ in range(4)]
    threads = [threading.Thread(target=one.digests) for one in sets]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(made) == 1 and sets[0].digests() == digests_of({"a": BASE})
    assert identified("another identity", make).digests() == sets[0].digests() and len(made) == 2
