"""Which differences between two places make their times say nothing of a change, and in which words."""

from __future__ import annotations

from typing import Any

import pytest

from bench_plugin.report.comparison.likeness import board_differences, differences
from bench_plugin.report.comparison.paired import Pair
from tests.report.comparison.runs import timed
from tests.report.made import Row

HEADERS: tuple[Row, Row] = ({}, {})
PI = {"name": "pi4", "kind": "ssh", "machine": "aarch64", "machine_id": "m1", "seen": "yesterday"}


def said(before: Row, after: Row, headers: tuple[Row, Row] = HEADERS) -> str:
    return differences(Pair(before, after), headers)


def on(board: Row | None = None, **more: Any) -> Row:
    """The row of a timed cell on a board, or with other conditions of its run."""
    return timed() | {"placement": {"board": board} if board else {}, **more}


def test_the_same_place_has_no_differences() -> None:
    assert said(timed(), timed(2.0)) == said(on(PI), on({**PI, "seen": "today"})) == ""


@pytest.mark.parametrize("emulated", [(True, False), (False, True), (True, True)])
def test_an_emulated_board_has_no_times(emulated: tuple[bool, bool]) -> None:
    rows = [timed() | {"placement": {"timing": "emulated"} if one else {}} for one in emulated]
    assert said(*rows) == "an emulated board has no times"


def test_boards_differ_by_name_kind_and_machine_and_hosts_do_not_count_then() -> None:
    other = {**PI, "name": "pi5", "kind": "adb", "machine_id": "m2"}
    text = "board kind: ssh and adb; board machine_id: m1 and m2; board name: pi4 and pi5"
    pair = Pair(on(PI, host="aaa"), on(other, host="bbb"))
    assert differences(pair, HEADERS) == board_differences(pair) == text
    assert said(on(), on(PI, host="bbb")).startswith("board kind: none and ssh; board machine: none and aarch64")
    assert board_differences(Pair(on(), on())) == ""


def test_of_two_hosts_the_facts_that_differ_are_said_where_the_headers_are_of_them() -> None:
    facts = [
        {"digest": "aaa", "architecture": "x86_64", "processor": "AMD 25", "libc": "glibc 2.36", "cores": 2,
         "isa": ["avx2"] * 20, "variables": {}, "uptime": 1},
        {"digest": "bbb", "architecture": "aarch64", "processor": "ARM", "libc": "musl 1.2", "cores": 4,
         "isa": ["neon"] * 20, "variables": {"OMP_NUM_THREADS": "1"}, "uptime": 2},
    ]  # fmt: skip
    headers = ({"host": facts[0]}, {"host": facts[1]})
    assert said(timed(host="aaa"), timed(host="bbb"), headers) == (
        "host architecture: x86_64 and aarch64; host cores: 2 and 4; host isa: not the same; host libc: glibc 2.36 and "
        "musl 1.2; host processor: AMD 25 and ARM; host variables: {} and {'OMP_NUM_THREADS': '1'}"
    )
    for others in (HEADERS, headers[::-1], (headers[0], headers[0])):
        assert said(timed(host="aaa"), timed(host="bbb"), others) == "host aaa and bbb"
    bare = ({"host": {"digest": "aaa"}}, {"host": {"digest": "bbb", "cores": 4}})
    assert said(timed(host="aaa"), timed(host="bbb"), bare) == "host cores: none and 4"
    alike = ({"host": {"digest": "aaa", "cores": 2}}, {"host": {"digest": "bbb", "cores": 2}})
    assert said(timed(host="aaa"), timed(host="bbb"), alike) == "host aaa and bbb"
    assert said(timed(host=""), timed(host="bbb")) == "host unknown and bbb"
    assert said(timed(host="aaa"), timed(host="")) == "host aaa and unknown"


def test_two_machines_of_one_kind_are_told_by_their_ids() -> None:
    def of(machine: str) -> Row:
        row = timed()
        row["numbers"]["timing"]["calibration"] = {"machine": machine}
        return row

    assert said(of("0123456789abcdef"), of("fedcba9876543210")) == "machine id 0123456789ab and fedcba987654"
    assert said(of("m"), of("m")) == said(of("m"), of("")) == said(of("m"), timed()) == ""


def test_conditions_and_the_state_of_the_machine_must_be_alike() -> None:
    def of(conditions: Row, machine: Row | None) -> Row:
        row = timed()
        row["numbers"]["timing"]["conditions"] = conditions
        return row | {"numbers": {**row["numbers"], "machine": machine}}

    old = {"threads": 2, "affinity": [0], "allocator": "libc", "load_before": 0.1}
    new = {"threads": 4, "affinity": [0, 1], "allocator": "jemalloc", "load_before": 0.9}
    state = {"governor": "performance", "turbo": True, "smt": False, "uptime": 4}
    assert said(of(old, state), of(new, {**state, "governor": "powersave", "turbo": False, "smt": True})) == (
        "affinity: [0] and [0, 1]; allocator: libc and jemalloc; threads: 2 and 4; machine governor: performance and "
        "powersave; machine smt: False and True; machine turbo: True and False"
    )
    assert said(of(old, state), of({**old, "load_before": 1}, {**state, "uptime": 5})) == ""
    assert said(of(old, state), of(old, None)) == (
        "machine governor: performance and none; machine smt: False and none; machine turbo: True and none"
    )


def test_what_is_longer_than_a_line_is_only_said_to_differ() -> None:
    whole, longer = "a" * 60, "a" * 61
    assert said(on({"name": whole}), on({"name": "b"})) == f"board name: {whole} and b"
    assert said(on({"name": longer}), on({"name": "b"})) == "board name: not the same"
