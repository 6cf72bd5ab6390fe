"""Shards: every cell in exactly one, cells of one export together, the same in every process, balanced."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench_plugin.domain.cell import Cell, Check
from bench_plugin.domain.errors import UsageError
from bench_plugin.domain.settings import Shard
from bench_plugin.matrix.shard import balanced, divided, group_seconds, usual_seconds
from bench_plugin.results.planned import packed, unpacked

NAMES = st.sampled_from(["a", "b", "c", "lstm"])
CELLS = st.builds(
    Cell, check=st.sampled_from(list(Check)), model=NAMES, framework=st.sampled_from(["pytorch", "mxnet"]),
    exporter=st.sampled_from(["", "dynamo"]), opset=st.sampled_from([0, 13, 20]),
    compiler=st.sampled_from(["", "tvm", "emx"]), precision=st.sampled_from(["fp32", "w8a8"]),
)  # fmt: skip
STAGES = st.dictionaries(st.sampled_from(["build", "export", "compile", "run"]), st.floats(0, 1e4))
ASK = """
import json, sys
from bench_plugin.domain.cell import Cell
from bench_plugin.matrix.shard import divided
cells, count = json.load(sys.stdin)
shards, files = divided([Cell.from_axes(one) for one in cells], ["b.py", "a.py", "a.py"], count, {})
print(sorted((str(sorted(cell.axes().items())), shard) for cell, shard in shards.items()), sorted(files.items()))
"""


@given(cells=st.sets(CELLS), files=st.lists(NAMES), count=st.integers(1, 7), known=st.dictionaries(CELLS, STAGES))
def test_every_cell_is_in_one_shard_and_cells_of_an_export_are_in_the_same(
    cells: set[Cell], files: list[str], count: int, known: dict[Cell, dict[str, float]]
) -> None:
    shards, of_files = divided(cells, files, count, known)
    assert shards.keys() == cells and of_files.keys() == set(files)
    assert {*shards.values(), *of_files.values()} <= set(range(1, count + 1))
    together: dict[tuple[object, ...], set[int]] = {}
    for cell, shard in shards.items():
        case = cell.check in (Check.OPERATOR, Check.PROPERTY)
        export = (cell.framework, cell.exporter, cell.opset)
        together.setdefault((cell.model, cell.check) if case else (cell.model, *export), set()).add(shard)
    assert all(len(found) == 1 for found in together.values())
    again = list(cells)
    random.Random(1).shuffle(again)
    assert divided(again, files[::-1], count, dict(reversed(known.items()))) == (shards, of_files)


@given(cells=st.lists(CELLS, unique=True), count=st.integers(1, 5))
def test_a_packed_plan_is_unpacked_as_it_was(cells: list[Cell], count: int) -> None:
    plan = [(cell.axes(), number % count + 1) for number, cell in enumerate(cells)]
    assert list(unpacked(json.loads(json.dumps(packed(plan))))) == plan


@given(seconds=st.dictionaries(st.text(), st.floats(0, 1e5)), count=st.integers(1, 9))
def test_the_longest_shard_is_at_most_the_longest_group_above_the_mean(seconds: dict[str, float], count: int) -> None:
    load = [0.0] * count
    for name, shard in balanced(seconds, count).items():
        load[shard - 1] += seconds[name]
    assert max(load) <= sum(seconds.values()) / count + max(seconds.values(), default=0) + 1e-6


def test_every_process_divides_alike_whatever_its_hashes_are() -> None:
    cells = [Cell(Check.EXPORT, f"m{number}", "pytorch", "dynamo", 20).axes() for number in range(20)]
    given = json.dumps([cells, 3])
    answers = {
        subprocess.run(
            [sys.executable, "-c", ASK], input=given, env={**os.environ, "PYTHONHASHSEED": seed}, text=True, check=True,
            stdout=subprocess.PIPE,
        ).stdout
        for seed in ("0", "1")
    }  # fmt: skip
    assert len(answers) == 1 and "m19" in answers.pop()


def test_an_export_counts_once_for_all_cells_that_share_it() -> None:
    source = ("lstm", "pytorch", "dynamo", 20)
    first, second = (Cell(Check.EQUIVALENCE, *source, compiler=name) for name in ("tvm", "emx"))
    known = {first: {"export": 100.0, "compile": 5.0}, second: {"export": 100.0, "compile": 7.0}}
    usual = usual_seconds(known)
    assert group_seconds([first, second], known, usual) == pytest.approx(112, abs=1)
    assert usual[Check.EQUIVALENCE] == pytest.approx(106)  # of a third cell, of which nothing is known
    third = Cell(Check.EQUIVALENCE, *source, compiler="mnn")
    assert group_seconds([first, third], known, usual) == pytest.approx(211, abs=1)


def test_known_durations_balance_the_shards() -> None:
    cells = [Cell(Check.EXPORT, name, "pytorch", "dynamo", 20) for name in "abcd"]
    known = {cells[0]: {"export": 300.0}, **{cell: {"export": 100.0} for cell in cells[1:]}}
    shards, _ = divided(cells, (), 2, known)
    assert [shards[cell] for cell in cells] == [1, 2, 2, 2]
    equal, _ = divided(cells, (), 2, {})
    assert sorted(equal.values()) == [1, 1, 2, 2]


@pytest.mark.parametrize("text", ["0/3", "4/3", "x", "1", "1/0", "-1/3", "1/2/3", "", "٢/٣"])
def test_what_is_no_shard_is_a_usage_error(text: str) -> None:
    with pytest.raises(UsageError, match="is not a shard I/N with I from 1 to N"):
        Shard.parse(text)


def test_a_shard_is_written_as_it_is_read() -> None:
    assert str(Shard.parse(" 2/3 ")) == "2/3"
