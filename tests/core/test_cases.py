"""The index of ONNX's tests that is committed: complete, and its sample holds every operator."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench_plugin.core.cases import read_cases, sample
from bench_plugin.core.errors import UsageError

INDEX = Path(__file__).parents[2] / "fixtures/operators/corpus.csv"


def test_every_case_is_there() -> None:
    cases = read_cases(INDEX)
    counts: dict[str, int] = {}
    for case in cases.values():
        counts[case.category] = counts.get(case.category, 0) + 1
    assert len(cases) == 2033
    assert counts == {"node": 1884, "simple": 23, "light": 9, "pytorch-converted": 82, "pytorch-operator": 35}


def test_the_sample_holds_every_operator() -> None:
    cases = read_cases(INDEX)
    chosen = sample(cases.values())
    everything = {name for case in cases.values() for name in case.operators}
    assert {name for case in chosen for name in case.operators} == everything
    assert len(chosen) < len(cases) / 3
    assert chosen == sample(reversed(cases.values()))


def test_a_file_that_is_no_index(tmp_path: Path) -> None:
    path = tmp_path / "corpus.csv"
    path.write_text("name,nodes\ntest_a,many\n")
    with pytest.raises(UsageError, match="not an index"):
        read_cases(path)
