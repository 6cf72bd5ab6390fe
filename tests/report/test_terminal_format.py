"""Tables on a terminal: they fit its width, group by group, and have colours only where they are wanted."""

from __future__ import annotations

import io

import pytest

from bench_plugin.report.blocks import Table, TableCell
from bench_plugin.report.formats.terminal import lines, painted, wants_colour


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def table(columns: int, keys: int = 1) -> Table:
    heads = [f"key{place}" for place in range(keys)] + [f"Column number {place}" for place in range(columns)]
    rows = [
        [*(TableCell(f"m{row // 2}" if place < keys - 1 else f"k{row}") for place in range(keys)),
         *(TableCell(f"cell {row}.{place} supported", "supported") for place in range(columns))]
        for row in range(4)
    ]  # fmt: skip
    return Table(tuple(heads), tuple(map(tuple, rows)), keys)


def drawn(one: Table, width: int = 80) -> list[str]:
    return [painted(line, coloured=False) for line in lines(one, width)]


@pytest.mark.parametrize("width", [40, 80, 120, 200])
@pytest.mark.parametrize("columns", [1, 3, 12])
@pytest.mark.parametrize("keys", [1, 3])
def test_no_line_is_wider_than_the_terminal_and_no_cell_is_lost(width: int, columns: int, keys: int) -> None:
    one = table(columns, keys)
    text = drawn(one, width)
    assert max(map(len, text)) <= width
    for row in one.rows:
        for cell in row[keys:]:
            assert sum(cell.text in line for line in text) == 1


def test_a_group_of_columns_repeats_what_its_rows_are_about() -> None:
    text = drawn(table(6))
    groups = "\n".join(text).split("\n\n")
    assert len(groups) == 2
    assert all(group.startswith("key0") and "\nk3 " in group for group in groups)


def test_a_key_that_is_the_same_as_above_is_not_repeated() -> None:
    body = drawn(table(1, keys=2))[1:]
    assert [line.split()[0] for line in body] == ["m0", "k1", "m1", "k3"]


def test_rows_without_anything_in_a_group_are_left_out_of_it() -> None:
    wide = "x" * 40
    one = Table(("a", "b", "c"), ((TableCell("r0"), TableCell(wide), TableCell("–")), (TableCell("r1"), TableCell("–"), TableCell(wide))))  # fmt: skip # noqa: E501
    assert [line.split()[0] for line in drawn(one) if line.startswith("r")] == ["r0", "r1"]


def test_text_that_is_too_long_for_a_line_is_cut_visibly() -> None:
    [_, line] = drawn(Table(("a", "b"), ((TableCell("key" * 40), TableCell("value" * 40)),)))
    assert len(line) <= 80 and line.count("…") == 2


def test_colours_are_asked_for_or_follow_the_terminal() -> None:
    assert wants_colour(Terminal(), "auto", {})
    assert not wants_colour(io.StringIO(), "auto", {})
    assert not wants_colour(Terminal(), "auto", {"NO_COLOR": "1"})
    assert not wants_colour(Terminal(), "auto", {"TERM": "dumb"})
    assert wants_colour(io.StringIO(), "auto", {"FORCE_COLOR": "1"})
    assert wants_colour(io.StringIO(), "yes", {"NO_COLOR": "1"})
    assert not wants_colour(Terminal(), "no", {"FORCE_COLOR": "1"})


def test_a_cell_has_the_colour_of_its_status() -> None:
    line = list(lines(Table(("a", "b"), ((TableCell("k"), TableCell("ok", "supported")),))))[1]
    assert painted(line, coloured=True) == "k  \x1b[32mok  \x1b[0m"
    assert painted(line, coloured=False) == "k  ok"


def test_keys_give_way_until_a_narrow_column_has_room() -> None:
    def widths(keys: list[int], width: int) -> list[int]:
        heads = tuple("abcde"[: len(keys) + 1])
        row = (*(TableCell("k" * key) for key in keys), TableCell("v" * 40))
        [_, line] = drawn(Table(heads, (row,), len(keys)), width)
        return [len(part) for part in line.split()]

    assert widths([30, 20], 60) == [24, 20, 12], "the longest key is cut, one character at a time"
    assert widths([20, 20], 56) == [20, 20, 12], "it just fits"
    assert widths([20, 20], 55) == [19, 20, 12]
    assert widths([14, 13], 20) == [12, 12, 12], "no key is cut below twelve characters"


def test_columns_that_just_fit_are_in_one_group() -> None:
    def groups(width: int) -> int:
        cells = tuple(TableCell(letter * 10) for letter in "kabc")
        return "\n".join(drawn(Table(("k", "a", "b", "c"), (cells,)), width)).count("\n\n") + 1

    assert (groups(46), groups(45), groups(34), groups(33)) == (1, 2, 2, 3)


def test_a_table_without_rows_or_words_in_its_head_is_drawn() -> None:
    assert drawn(Table(("a", "b"), ())) == ["a  b"]
    assert drawn(Table(("a", "", "bcd"), ((TableCell("x"), TableCell("y"), TableCell("")),))) == ["a     bcd", "x  y"]


def test_one_key_is_shown_also_where_it_is_the_same_as_above() -> None:
    rows = tuple((TableCell("k"), TableCell(text)) for text in ("one", "two"))
    assert drawn(Table(("a", "b"), rows)) == ["a  b", "k  one", "k  two"]
